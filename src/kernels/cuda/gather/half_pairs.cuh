// Batches of halves added up in pairs (HalfGNN's discretised reduction): half the conversions and additions of float32.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/gather/accumulator.cuh"

namespace weft::cuda {

/// Two neighbours, and their arithmetic.
template <class Storage>
struct PairOf;
template <>
struct PairOf<Half> {
  using type = __half2;
  static __device__ __forceinline__ __half2 of(float value) { return __float2half2_rn(value); }
  static __device__ __forceinline__ __half2 of(float first, float second) { return __floats2half2_rn(first, second); }
  static __device__ __forceinline__ float2 wide(__half2 pair) { return __half22float2(pair); }
};
template <>
struct PairOf<BFloat16> {
  using type = __nv_bfloat162;
  static __device__ __forceinline__ __nv_bfloat162 of(float value) { return __float2bfloat162_rn(value); }
  static __device__ __forceinline__ __nv_bfloat162 of(float first, float second) {
    return __floats2bfloat162_rn(first, second);
  }
  static __device__ __forceinline__ float2 wide(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
};

/// Adds a batch of `Loads` edges to a row's sum; weight(u) is the u-th edge's. Weights are divided by the number of
/// edges, a power of two: a batch of values that fit then fits as well.
template <int Loads, int Steps, class Storage, int Vector, class State, class WeightOf>
__device__ __forceinline__ void fold_pairs(State& state, const Pack<Storage, Vector> (&x)[Loads][Steps],
                                           const WeightOf& weight) {
  using Pair = PairOf<Storage>;
  typename Pair::type sum[Steps][Vector / 2];
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
    const typename Pair::type w = Pair::of(weight(u) * (1.0f / Loads));
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
      for (int i = 0; i < Vector / 2; ++i) {
        const auto pair = reinterpret_cast<const typename Pair::type*>(x[u][s].values)[i];
        sum[s][i] = u == 0 ? __hmul2(w, pair) : __hfma2(w, pair, sum[s][i]);
      }
  }
#pragma unroll
  for (int s = 0; s < Steps; ++s)
#pragma unroll
    for (int i = 0; i < Vector / 2; ++i) {
      const float2 wide = Pair::wide(sum[s][i]);
      state.near[s * Vector + 2 * i] = fmaf(wide.x, Loads, state.near[s * Vector + 2 * i]);
      state.near[s * Vector + 2 * i + 1] = fmaf(wide.y, Loads, state.near[s * Vector + 2 * i + 1]);
    }
}

}  // namespace weft::cuda
