// The ends of rows: from a sum to the output, and the second kernel that unites cut rows and writes the empty ones.
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/spmm/sum_args.hpp"
#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// `Count` features of a row from `feature` on.
template <int Count, class Storage>
__device__ __forceinline__ void write_plain(const RowFinish<Storage>& finish, std::int64_t row, std::int64_t feature,
                                            const float* sum) {
  Pack<Storage, Count> pack;
#pragma unroll
  for (int i = 0; i < Count; ++i) pack.values[i] = static_cast<Storage>(sum[i]);
  pack.store(finish.out + row * finish.pitch + feature);
}

/// The same with mean, scale, bias and ReLU where they are asked for.
template <int Count, class Storage>
__device__ __forceinline__ void write_row(const RowFinish<Storage>& finish, const GraphView& graph, std::int64_t row,
                                          std::int64_t feature, const float* sum) {
  float degree = 1;
  if (finish.mean) {
    const EdgeId edges = __ldg(graph.offsets + row + 1) - __ldg(graph.offsets + row);
    if (edges > 0) degree = static_cast<float>(edges);
  }
  const float scale = finish.row_scale != nullptr ? __ldg(finish.row_scale + row) : 1.0f;
  Pack<Storage, Count> pack;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    float v = sum[i];
    if (finish.mean) v /= degree;
    if (finish.row_scale != nullptr) v *= scale;
    if (finish.bias != nullptr) v += __ldg(finish.bias + feature + i);
    if (finish.relu && v < 0) v = 0;  // NaN stays NaN
    pack.values[i] = static_cast<Storage>(v);
  }
  pack.store(finish.out + row * finish.pitch + feature);
}

/// Adds the staged parts of the row that starts in task `first` and has `parts` of them, `Count` features a lane. Few
/// additions follow one another, as in RowSum.
template <int Count>
__device__ __forceinline__ void unite_parts(const EdgeSplit& split, std::int64_t first, std::int64_t parts, int feature,
                                            float (&sum)[Count]) {
  using Part = Pack<float, Count>;
  constexpr int flight = 8;
  // The row's first task staged it as the one that runs on, the others as the one that began before.
  const auto load = [&](std::int64_t part) {
    return Part::load(split.staged + (2 * (first + part) + (part == 0)) * split.pitch + feature);
  };
  float far[Count] = {};
#pragma unroll
  for (int i = 0; i < Count; ++i) sum[i] = 0;
  std::int64_t part = 0;
  for (; part + flight <= parts; part += flight) {
    Part p[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) p[u] = load(part + u);
#pragma unroll
    for (int i = 0; i < Count; ++i)
      sum[i] += ((p[0].values[i] + p[1].values[i]) + (p[2].values[i] + p[3].values[i])) +
                ((p[4].values[i] + p[5].values[i]) + (p[6].values[i] + p[7].values[i]));
    if (part / flight % 8 != 7) continue;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      far[i] += sum[i];
      sum[i] = 0;
    }
  }
  float rest[Count] = {};
  for (; part < parts; ++part) {
    const Part p = load(part);
#pragma unroll
    for (int i = 0; i < Count; ++i) rest[i] += p.values[i];
  }
#pragma unroll
  for (int i = 0; i < Count; ++i) sum[i] = (far[i] + sum[i]) + rest[i];
}

/// Where the GPU lets a kernel start before the one in front of it has ended (Hopper and later), waits for that one.
__device__ __forceinline__ void wait_for_sums() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Rows a block of finish_rows may look through.
inline constexpr int most_finished_rows = 1024;

/// What the tasks left: rows without edges, and rows that task borders cut. A block looks through its rows, lists
/// those, and its groups of `Lanes` threads then take them one by one; which group takes which changes nothing.
template <class Storage, int Count, int Lanes>
__global__ void __launch_bounds__(block_threads, 4)
    finish_rows(EdgeSplit split, RowFinish<Storage> finish, int features, int rows_a_block) {
  __shared__ int listed, list[most_finished_rows];
  const GraphView& g = split.graph;
  const std::int64_t base = std::int64_t{blockIdx.x} * rows_a_block;
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < rows_a_block; i += block_threads) {
    if (base + i >= g.num_rows) break;
    const EdgeId begin = __ldg(g.offsets + base + i), end = __ldg(g.offsets + base + i + 1);
    if (begin == end || begin / split.size != (end - 1) / split.size) list[atomicAdd(&listed, 1)] = i;
  }
  __syncthreads();
  wait_for_sums();
  for (int i = threadIdx.x / Lanes; i < listed; i += block_threads / Lanes) {
    const std::int64_t row = base + list[i];
    const EdgeId begin = __ldg(g.offsets + row), end = __ldg(g.offsets + row + 1);
    const std::int64_t first = begin / split.size, parts = begin == end ? 0 : (end - 1) / split.size - first + 1;
    for (int feature = threadIdx.x % Lanes * Count; feature < features; feature += Lanes * Count) {
      float sum[Count];
      unite_parts<Count>(split, first, parts, feature, sum);
      write_row<Count>(finish, g, row, feature, sum);
    }
  }
}

}  // namespace weft::cuda
