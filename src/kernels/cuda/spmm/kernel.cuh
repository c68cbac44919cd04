// Sums of messages over equal shares of the edges.
//
// A group of threads covers a row of X and walks the edges of its task. Each lane holds some edges of the next chunk in
// registers (column, weight, row) while the group works on this one; shuffles hand them round. Batches of edges without
// a row's end, the common case, take a path without branches; several rows of X are in flight at any time.
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"
#include "kernels/cuda/spmm/finish.cuh"
#include "kernels/cuda/spmm/sum_args.hpp"

namespace weft::cuda {

/// A chunk of edges on its way, spread over the lanes of a group: edge k is lane k % Lanes' k / Lanes-th.
template <int Lanes, int Each, SumKind Kind>
struct EdgeChunk {
  static constexpr int size = Lanes * Each;
  NodeId col[Each];
  NodeId row[Each];
  NodeId behind;  // the row of the edge after the chunk, so that nothing here waits for the next one
  float weight[Each];

  /// Edges [first, first + size) of the task; those past its end become edges of source 0 with weight 0.
  template <class Args>
  __device__ __forceinline__ void load(const Args& args, const EdgeTask& task, int first, int lane) {
    const GraphView& g = args.split.graph;
    behind = first + size < task.length ? __ldg(g.rows + task.begin + first + size) : -1;
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      const int p = first + i * Lanes + lane;
      col[i] = 0;
      row[i] = -1;
      weight[i] = 0;
      if (p >= task.length) continue;
      const EdgeId k = task.begin + p;
      col[i] = __ldg(g.cols + k);
      row[i] = __ldg(g.rows + k);
      if constexpr (Kind == SumKind::weighted) weight[i] = __ldg(args.weight + k);
      if constexpr (Kind == SumKind::general) {
        weight[i] = 1;
        if (args.weight != nullptr)
          weight[i] = __ldg(args.weight + (g.edge_ids != nullptr ? __ldg(g.edge_ids + k) : k) * args.weight_pitch);
        if (args.col_scale != nullptr) weight[i] *= __ldg(args.col_scale + col[i]);
      }
    }
  }

  /// Bit k of this group's: a row ends with edge k of the chunk.
  __device__ __forceinline__ unsigned ends(const EdgeTask& task, int first, int lane, int shift) const {
    constexpr unsigned lanes = Lanes >= 32 ? ~0u : (1u << (Lanes & 31)) - 1;
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      NodeId follower = __shfl_down_sync(~0u, row[i], 1, Lanes);
      const NodeId wrapped = i + 1 < Each ? __shfl_sync(~0u, row[i + 1 < Each ? i + 1 : i], 0, Lanes) : behind;
      if (lane == Lanes - 1) follower = wrapped;
      const int p = first + i * Lanes + lane;
      const bool end = p < task.length - 1 ? row[i] != follower : p == task.length - 1 && !task.runs_on;
      bits |= (__ballot_sync(~0u, end) >> shift & lanes) << (i * Lanes & 31);
    }
    return bits;
  }
};

/// The running sum of one row in a lane's registers. Few additions in a row keep the error under the logarithm of the
/// degree: a batch is summed by itself, batches add up in `near`, and every 64 edges `near` moves into `far`.
template <int Count>
struct RowSum {
  float near[Count], far[Count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Count; ++i) near[i] = far[i] = 0;
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      far[i] += near[i];
      near[i] = 0;
    }
  }
};

template <class Storage, int Vector, int Lanes, int Steps, int Loads, SumKind Kind>
__global__ void __launch_bounds__(block_threads, Steps < 4 ? 3 : 2) sum_edges(const SumArgs<Storage> args) {
  constexpr int each = Lanes >= Loads ? 1 : Loads / Lanes;
  constexpr int groups = block_threads / Lanes, count = Steps * Vector;
  using Chunk = EdgeChunk<Lanes, each, Kind>;
  constexpr bool weighted = Kind != SumKind::plain;
  using X = Pack<Storage, Vector>;
  const int lane = threadIdx.x % Lanes, shift = threadIdx.x % 32 / Lanes * Lanes;
  const int feature = blockIdx.y * (Lanes * count) + lane * Vector;
  const EdgeTask task = EdgeTask::of(args.split, blockIdx.x * std::int64_t{groups} + threadIdx.x / Lanes);
  // Only the last tasks are shorter than the others: a warp of whole ones needs no look at what is there.
  const bool whole = __all_sync(~0u, task.length == args.split.size);
  // Lanes past the last feature load the first ones again, and write nothing.
  const Storage* x_lane[Steps];
#pragma unroll
  for (int s = 0; s < Steps; ++s) {
    const int f = feature + s * Lanes * Vector;
    x_lane[s] = args.x + (f < args.features ? f : 0);
  }
  const auto x_pitch = static_cast<std::uint32_t>(args.x_pitch);

  RowSum<count> sum;
  sum.clear();
  const auto stash = [&](int which) {
    float* to = args.split.staged + (2 * task.index + which) * args.split.pitch + feature;
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      if (feature + s * Lanes * Vector >= args.features) continue;
      Pack<float, Vector> pack;
#pragma unroll
      for (int i = 0; i < Vector; ++i) pack.values[i] = sum.far[s * Vector + i];
      pack.store(to + s * Lanes * Vector);
    }
  };
  const auto write = [&](NodeId row) {
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      const int f = feature + s * Lanes * Vector;
      if (f >= args.features) continue;
      if constexpr (Kind == SumKind::general) {
        write_row<Vector>(args.finish, args.split.graph, row, f, sum.far + s * Vector);
      } else {
        write_plain<Vector>(args.finish, row, f, sum.far + s * Vector);
      }
    }
  };

  Chunk next;
  next.load(args, task, 0, lane);
  // Every group of a warp makes the same steps, so that shuffles meet.
  for (int first = 0; first < args.split.size; first += Chunk::size) {
    NodeId cols[each];
    float weights[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      cols[i] = next.col[i];
      weights[i] = next.weight[i];
    }
    const unsigned ends = next.ends(task, first, lane, shift);
    if (first + Chunk::size < args.split.size) next.load(args, task, first + Chunk::size, lane);
    const auto batch = [&](int j) __attribute__((always_inline)) {
      X x[Loads][Steps];
      float w[Loads];
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        const int owner = each == 1 ? j + u : (j + u) % Lanes, i = each == 1 ? 0 : (j + u) / Lanes;
        const auto col = static_cast<std::uint32_t>(__shfl_sync(~0u, cols[i], owner, Lanes));
        if constexpr (weighted) w[u] = __shfl_sync(~0u, weights[i], owner, Lanes);
#pragma unroll
        for (int s = 0; s < Steps; ++s) x[u][s] = X::load(x_lane[s] + static_cast<std::uint64_t>(col) * x_pitch);
      }
      const unsigned mine = ends >> j & ((1u << Loads) - 1);
      // The warp takes one path: no row of any of its groups ends here, and no edge is missing.
      if (whole && !__any_sync(~0u, mine != 0)) {
#pragma unroll
        for (int n = 0; n < count; ++n) {
          float chain[2] = {0, 0};
#pragma unroll
          for (int u = 0; u < Loads; ++u) {
            const float value = static_cast<float>(x[u][n / Vector].values[n % Vector]);
            float& to = chain[u * 2 / Loads];
            to = weighted ? fmaf(w[u], value, to) : to + value;
          }
          sum.near[n] += chain[0] + chain[1];
        }
        return;
      }
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        if (first + j + u >= task.length) break;
#pragma unroll
        for (int n = 0; n < count; ++n) {
          const float value = static_cast<float>(x[u][n / Vector].values[n % Vector]);
          sum.near[n] = weighted ? fmaf(w[u], value, sum.near[n]) : sum.near[n] + value;
        }
        if (!(mine >> u & 1u)) continue;
        const NodeId row = __ldg(args.split.graph.rows + task.begin + first + j + u);  // in cache: it was just loaded
        sum.settle();
        if (row == task.head) {
          stash(0);
        } else {
          write(row);
        }
        sum.clear();
      }
    };
    if constexpr (each == 1) {
#pragma unroll 1
      for (int j = 0; j < Chunk::size; j += Loads) batch(j);
    } else {  // which register holds an edge must be known when this is compiled
#pragma unroll
      for (int j = 0; j < Chunk::size; j += Loads) batch(j);
    }
    if ((first + Chunk::size) % 64 == 0) sum.settle();
  }
  if (task.length == 0 || !task.runs_on) return;
  sum.settle();
  stash(task.last == task.head ? 0 : 1);
}

}  // namespace weft::cuda
