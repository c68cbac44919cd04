// Sums over rows on a GPU: blocks add up chunks of rows, and a second launch adds those up in a fixed order.
#pragma once

#include "core/loops/cuda/teams.cuh"

namespace weft::loops {

/// A block adds up a chunk of rows of `Lanes` strips: threads stand side by side along the columns, and what several of
/// them have of one is added up in order.
template <int Lanes, class Strip, class Args>
__global__ void __launch_bounds__(team_threads)
    fold_chunk(std::int64_t columns, std::int64_t chunks, const Args args, double* partial) {
  constexpr int along = team_threads / Lanes, together = Lanes * Strip::width;
  const int x = threadIdx.x % Lanes, y = threadIdx.x / Lanes;
  const std::int64_t first = blockIdx.y * std::int64_t{together}, chunk = blockIdx.x;
  const std::int64_t column = first + x * Strip::width;
  const std::int64_t begin = args.rows * chunk / chunks, end = args.rows * (chunk + 1) / chunks;
  const bool there = column < columns;
  Strip strip(args, there ? column : 0);
  if (there && begin + y < end) {
    auto now = strip.load(begin + y);
    for (std::int64_t row = begin + y; row < end; row += along) {
      const auto next = strip.load(row + along < end ? row + along : row);
      strip.take(row, now);
      now = next;
    }
  }
  if (partial == nullptr) return;
  __shared__ double shared[along][together];
#pragma unroll
  for (int k = 0; k < Strip::sums; ++k) {
    __syncthreads();
#pragma unroll
    for (int n = 0; n < Strip::width; ++n) shared[y][x * Strip::width + n] = strip.sum[k][n];
    __syncthreads();
    for (int c = threadIdx.x; c < together && first + c < columns; c += team_threads) {
      double sum = 0;
#pragma unroll 8
      for (int row = 0; row < along; ++row) sum += shared[row][c];
      partial[(chunk * Strip::sums + k) * columns + first + c] = sum;
    }
  }
}

/// A block adds up the chunks' parts of 32 sums that stand side by side: threads along y take chunks in turns.
template <class Acc>
__global__ void __launch_bounds__(1024) finish_columns(const double* partial, std::int64_t chunks, std::int64_t columns,
                                                       std::int64_t sums, Acc* first, Acc* second) {
  const std::int64_t i = blockIdx.x * std::int64_t{32} + threadIdx.x;
  double sum = 0;
  if (i < sums * columns)
#pragma unroll 8
    for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += 32) sum += partial[chunk * sums * columns + i];
  __shared__ double shared[32][33];
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || i >= sums * columns) return;
  Acc* const out = i < columns ? first : second;
  if (out == nullptr) return;
  sum = 0;
#pragma unroll
  for (int y = 0; y < 32; ++y) sum += shared[y][threadIdx.x];
  out[i < columns ? i : i - columns] = static_cast<Acc>(sum);
}

/// One block: its threads take the parts in turns.
template <class Acc>
__global__ void __launch_bounds__(1024) finish_all(const double* partial, std::int64_t count, Acc* out) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < count; i += 1024) sum += partial[i];
  __shared__ double of_warps[32];
  const WarpTeam<32> team = WarpTeam<32>::here();
  sum = team.sum(sum);
  if (team.lane() == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = team.sum(of_warps[threadIdx.x]);
  if (threadIdx.x == 0) *out = static_cast<Acc>(sum);
}

template <int Lanes, class Body>
__global__ void __launch_bounds__(team_threads)
    fold_group_chunk(std::int64_t rows, std::int64_t chunks, Body body, typename Body::Sums* partial) {
  using Sums = typename Body::Sums;
  constexpr int teams = team_threads / Lanes;
  const WarpTeam<Lanes> team = WarpTeam<Lanes>::here();
  const int number = threadIdx.x / Lanes;
  const std::int64_t chunk = blockIdx.x, begin = rows * chunk / chunks, end = rows * (chunk + 1) / chunks;
  // In shared memory: registers for sums of every group would leave room for fewer rows.
  __shared__ Sums of_teams[teams][Body::groups];
  if (team.lane() == 0) {
#pragma unroll
    for (int g = 0; g < Body::groups; ++g) of_teams[number][g] = Sums{};
  }
  for (std::int64_t row = begin + number; row < end; row += teams) {
    const Sums of_row = body(team, row);
    const int at = body.group_of(row);
    if (team.lane() == 0 && at > 0) of_teams[number][at - 1].add(of_row);
  }
  __syncthreads();
  if (threadIdx.x >= Body::groups) return;
  Sums sum;
  for (int t = 0; t < teams; ++t) sum.add(of_teams[t][threadIdx.x]);
  partial[chunk * Body::groups + threadIdx.x] = sum;
}

/// One warp a sum: `Count` of them side by side.
template <int Count>
struct FinishGroups {
  const double* partial;  // [chunks][Count]
  std::int64_t chunks;
  double* sums;
  __device__ void operator()(const WarpTeam<32>& team, std::int64_t i) const {
    double sum = 0;
    for (std::int64_t chunk = team.lane(); chunk < chunks; chunk += 32) sum += partial[chunk * Count + i];
    sum = team.sum(sum);
    if (team.lane() == 0) sums[i] = sum;
  }
};

}  // namespace weft::loops
