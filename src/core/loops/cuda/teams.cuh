// Lanes of a warp that share an item.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace weft::loops {

inline constexpr int team_threads = 256;  // a block's

/// Lanes of a warp that share a row; several teams stand in a warp, each on its own.
template <int Lanes>
struct WarpTeam {
  static constexpr int held = 8;  // values a lane can keep in registers
  unsigned mask;
  int at;
  __device__ static WarpTeam here() {
    const int first = threadIdx.x % 32 / Lanes * Lanes;
    return {(Lanes == 32 ? ~0u : (1u << (Lanes % 32)) - 1) << first, static_cast<int>(threadIdx.x % Lanes)};
  }
  __device__ std::int64_t lane() const { return at; }
  __device__ std::int64_t lanes() const { return Lanes; }
  template <class V>
  __device__ V sum(V value) const {
    for (int step = Lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(mask, value, step);
    return value;
  }
  template <class V>
  __device__ V max(V value) const {
    for (int step = Lanes / 2; step > 0; step /= 2) {
      const V other = __shfl_xor_sync(mask, value, step);
      value = other > value ? other : value;
    }
    return value;
  }
  template <class V>
  __device__ V min(V value) const {
    for (int step = Lanes / 2; step > 0; step /= 2) {
      const V other = __shfl_xor_sync(mask, value, step);
      value = other < value ? other : value;
    }
    return value;
  }
  /// How many lanes before this one are `in`, and in all.
  __device__ int rank(bool in) const { return __popc(__ballot_sync(mask, in) & mask & ((1u << threadIdx.x % 32) - 1)); }
  __device__ int count(bool in) const { return __popc(__ballot_sync(mask, in) & mask); }
};

template <int Lanes, class Body>
__global__ void __launch_bounds__(team_threads) over_teams(std::int64_t count, Body body) {
  const WarpTeam<Lanes> team = WarpTeam<Lanes>::here();
  const std::int64_t teams = gridDim.x * std::int64_t{team_threads / Lanes};
  for (std::int64_t i = blockIdx.x * std::int64_t{team_threads / Lanes} + threadIdx.x / Lanes; i < count; i += teams)
    body(team, i);
}

}  // namespace weft::loops
