// Dot products along edges, over equal shares of them.
//
// As in SpMM a group of threads covers a row of features, holds the next chunk of edges in registers and keeps several
// rows in flight; the destination's features stay in registers while its row lasts. The partial products of a batch
// are summed across the group together.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"
#include "kernels/cuda/sddmm/sddmm_args.hpp"

namespace weft::cuda {

template <class Storage, class S>
struct DotWalk : BatchVisitor<S> {
  using Acc = AccumulatorOf<Storage>;
  using X = Pack<Storage, S::vector>;
  using Edges = HeldEdges<S::lanes, S::each>;
  static constexpr int loads = S::loads;
  static constexpr int kept = S::lanes >= loads ? 1 : loads / S::lanes;  // sums of a batch that a lane ends up with

  const DotArgs<Storage>& args;
  const EdgeShare share;  // a copy: by reference it spills (bench/records/h200/cells.json)
  std::int64_t head;
  // Lanes past the last feature read the first ones again, and their products do not count.
  const Storage* source[S::steps];
  const Storage* destination[S::steps];
  std::uint32_t held = ~0u;  // the destination whose features are in y
  Acc y[S::steps][S::vector];
  // The sums of a batch wait until the loads of the next one are on their way: adding them up across lanes then costs
  // no time of its own.
  Acc pending[loads];
  std::int32_t pending_id[kept];

  __device__ __forceinline__ DotWalk(const DotArgs<Storage>& all, const EdgeShare& of)
      : args(all), share(of), head(blockIdx.y) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int at = has(0, s) ? feature() + s * S::lanes * S::vector : 0;
      source[s] = args.source + head * args.source_head + at;
      destination[s] = args.destination + head * args.destination_head + at;
    }
  }
  // From the thread's index where they are needed: members would take registers throughout, and spill.
  static __device__ __forceinline__ int lane() { return threadIdx.x % S::lanes; }
  static __device__ __forceinline__ int feature() { return lane() * S::vector; }  // the lane's first
  /// Whether the lane has a sum of a batch that no lane before it has.
  static __device__ __forceinline__ bool writes() {
    return S::lanes <= loads || lane() % (S::lanes >= loads ? S::lanes / loads : 1) == 0;
  }
  /// Nothing is reduced by rows, and row 0 is one to load from.
  __device__ __forceinline__ NodeId row_past_end(const EdgeShare& = {}) const { return 0; }
  __device__ __forceinline__ bool has(int tile, int s) const {
    return tile + feature() + s * S::lanes * S::vector < args.features;
  }

  __device__ __forceinline__ void batch(const Edges& edges, int j) {
    // Whether every edge of the batch has the same destination; the warp takes one path.
    const bool changes = (edges.ends >> j & ((1u << (loads - 1)) - 1)) != 0;
    if (!__any_sync(~0u, changes)) {
      multiply_one_row(edges, j);
    } else {
      multiply_rows(edges, j);
    }
    if constexpr (S::widest) multiply_beyond_tile(edges, j);
    if (args.split.ids == nullptr) return;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const int p = edges.first + j + owned_sum<S::lanes, loads>(lane()) + i;
      pending_id[i] = p < share.length ? args.split.id_at(share.begin + p) : 0;
    }
  }
  /// Stores the sums of the batch at edge `at` of the share, which is negative before the first one.
  __device__ __forceinline__ void flush(int at) {
    if (at < 0) return;
    sum_over_lanes<S::lanes>(pending, lane());
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const int p = at + owned_sum<S::lanes, loads>(lane()) + i;
      if (!writes() || p >= share.length) continue;
      const EdgeId id = args.split.ids != nullptr ? pending_id[i] : args.split.id_of(share.begin + p);
      store_once(args.out, args.wide, id * args.out_pitch + head, pending[i]);
    }
  }

 private:
  __device__ __forceinline__ std::uint32_t row_of(const Edges& edges, int q) const {
    return static_cast<std::uint32_t>(Edges::from_lane(edges.row, q));
  }
  template <class Other>
  static __device__ __forceinline__ Acc times(const X& a, const Other& b) {
    Acc sum = widen(a.values[0]) * widen(b[0]);
#pragma unroll
    for (int i = 1; i < S::vector; ++i) sum = fma(widen(a.values[i]), widen(b[i]), sum);
    return sum;
  }
  __device__ __forceinline__ void multiply_one_row(const Edges& edges, int j) {
    X x[loads][S::steps];
    const std::uint32_t row = row_of(edges, j);
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const std::uint32_t col = edges.source(j + u);
#pragma unroll
      for (int s = 0; s < S::steps; ++s) x[u][s] = X::load(row_at(source[s], col, args.source_pitch_bytes));
    }
    flush(edges.first + j - loads);
    if (row != held) {
      held = row;
#pragma unroll
      for (int s = 0; s < S::steps; ++s) {
        const X loaded = X::load(row_at(destination[s], row, args.destination_pitch_bytes));
#pragma unroll
        for (int i = 0; i < S::vector; ++i) y[s][i] = widen(loaded.values[i]);
      }
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      pending[u] = if_counts(has(0, 0), times(x[u][0], y[0]));
#pragma unroll
      for (int s = 1; s < S::steps; ++s) pending[u] += if_counts(has(0, s), times(x[u][s], y[s]));
    }
  }
  /// Two rows per edge are in flight: by halves of the batch, unless a lane has one or two features of it.
  __device__ __forceinline__ void multiply_rows(const Edges& edges, int j) {
    held = ~0u;
#pragma unroll
    for (int s = 0; s < S::steps; ++s)
#pragma unroll
      for (int i = 0; i < S::vector; ++i) y[s][i] = 0;  // registers for what follows
    constexpr int together = S::count <= 2 ? loads : (loads + 1) / 2;
#pragma unroll
    for (int begin = 0; begin < loads; begin += together) {
      X x[together][S::steps], z[together][S::steps];
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const std::uint32_t col = edges.source(j + begin + u), row = row_of(edges, j + begin + u);
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          x[u][s] = X::load(row_at(source[s], col, args.source_pitch_bytes));
          z[u][s] = X::load(row_at(destination[s], row, args.destination_pitch_bytes));
        }
      }
      if (begin == 0) flush(edges.first + j - loads);
#pragma unroll
      for (int u = 0; u < together; ++u) {
        pending[begin + u] = if_counts(has(0, 0), times(x[u][0], z[u][0].values));
#pragma unroll
        for (int s = 1; s < S::steps; ++s) pending[begin + u] += if_counts(has(0, s), times(x[u][s], z[u][s].values));
      }
    }
  }
  /// What lies beyond the features a group covers at once.
  __device__ __forceinline__ void multiply_beyond_tile(const Edges& edges, int j) {
    for (int tile = S::tile; tile < args.features; tile += S::tile) {
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const Storage* const x = row_at(source[0], edges.source(j + u), args.source_pitch_bytes) + tile;
        const Storage* const z = row_at(destination[0], row_of(edges, j + u), args.destination_pitch_bytes) + tile;
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          const int at = s * S::lanes * S::vector;
          if (has(tile, s)) pending[u] += times(X::load(x + at), X::load(z + at).values);
        }
      }
    }
  }
};

template <class Storage, class S>
__global__ void __launch_bounds__(block_threads, bounded_blocks(StorageTraits<Storage>::bytes, S::value))
    dot_edges(const DotArgs<Storage> args) {
  const EdgeShare share = EdgeShare::loose<S::groups>(args.split, threadIdx.x / S::lanes);
  DotWalk<Storage, S> walk(args, share);
  for_each_batch<S>(args.split, walk.share, walk.lane(), NoValues{}, walk);
  constexpr int step = S::each == 1 ? S::loads : S::lanes * S::each;
  walk.flush((share.most + step - 1) / step * step - S::loads);
}

}  // namespace weft::cuda
