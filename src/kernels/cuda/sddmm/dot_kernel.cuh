// Dot products along edges, over equal shares of them.
//
// As in SpMM a group of threads covers a row of features, holds the next chunk of edges in registers and keeps several
// rows in flight; the destination's features stay in registers while its row lasts. The partial products of a batch
// are summed across the group together.
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"
#include "kernels/cuda/sddmm/sddmm_args.hpp"

namespace weft::cuda {

template <class Storage, class S>
__global__ void __launch_bounds__(block_threads, resident_blocks(sizeof(Storage), S::value))
    dot_edges(const DotArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  using Chunk = EdgeChunk<S::lanes, S::each, NoValues::Nothing>;
  using X = Pack<Storage, S::vector>;
  constexpr int loads = S::loads;
  const EdgeSplit& split = args.split;
  const int group = threadIdx.x / S::lanes, lane = threadIdx.x % S::lanes,
            shift = threadIdx.x % 32 / S::lanes * S::lanes;
  const EdgeShare share = EdgeShare::loose<S::groups>(split, group);
  const std::int64_t head = blockIdx.y;
  const int feature = lane * S::vector;
  const auto has = [&](int tile, int s) { return tile + feature + s * S::lanes * S::vector < args.features; };
  // Lanes past the last feature read the first ones again, and their products do not count.
  const Storage* source[S::steps];
  const Storage* destination[S::steps];
  bool counts[S::steps];
#pragma unroll
  for (int s = 0; s < S::steps; ++s) {
    counts[s] = has(0, s);
    const int at = counts[s] ? feature + s * S::lanes * S::vector : 0;
    source[s] = args.source + head * args.source_head + at;
    destination[s] = args.destination + head * args.destination_head + at;
  }
  const auto times = [](const X& a, const auto& b) __attribute__((always_inline)) {
    Acc sum = widened(a.values[0]) * widened(b[0]);
#pragma unroll
    for (int i = 1; i < S::vector; ++i) sum = fma(widened(a.values[i]), widened(b[i]), sum);
    return sum;
  };
  constexpr NoValues none;

  // The sums of a batch wait until the loads of the next one are on their way: adding them up across lanes then costs
  // no time of its own.
  constexpr int kept = S::lanes >= loads ? 1 : loads / S::lanes;
  const bool writes = S::lanes <= loads || lane % (S::lanes >= loads ? S::lanes / loads : 1) == 0;
  Acc pending[loads];
  std::int32_t pending_id[kept];
  /// Those of the batch at edge `at` of the share, which is negative before the first one.
  const auto flush = [&](int at) __attribute__((always_inline)) {
    if (at < 0) return;
    sum_over_lanes<S::lanes>(pending, lane);
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const int p = at + owned_sum<S::lanes, loads>(lane) + i;
      if (!writes || p >= share.length) continue;
      const EdgeId id = split.ids != nullptr ? pending_id[i] : split.id_of(share.begin + p);
      store_once(args.out, args.wide, id * args.out_pitch + head, pending[i]);
    }
  };

  std::uint32_t held = ~0u;  // the destination whose features are in y
  Acc y[S::steps][S::vector];
  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, none);
  for (int first = 0; first < share.most; first += Chunk::size) {
    NodeId cols[S::each], rows[S::each];
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      cols[i] = next.col[i];
      rows[i] = next.row[i] < 0 ? 0 : next.row[i];
    }
    const unsigned ends = next.ends(share, first, lane, shift);
    if (first + Chunk::size < share.most) next.load(split, share, first + Chunk::size, lane, none);
    const auto batch = [&](int j) __attribute__((always_inline)) {
      const auto from_lane = [&](const NodeId(&held_by)[S::each], int u) __attribute__((always_inline)) {
        return static_cast<std::uint32_t>(
            __shfl_sync(~0u, held_by[Chunk::place_of(j + u)], Chunk::lane_of(j + u), S::lanes));
      };
      // Whether every edge of the batch has the same destination; the warp takes one path.
      const bool changes = (ends >> j & ((1u << (loads - 1)) - 1)) != 0;
      if (!__any_sync(~0u, changes)) {
        X x[loads][S::steps];
        const std::uint32_t row = from_lane(rows, 0);
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          const std::uint32_t col = from_lane(cols, u);
#pragma unroll
          for (int s = 0; s < S::steps; ++s) x[u][s] = X::load(row_at(source[s], col, args.source_pitch_bytes));
        }
        flush(first + j - loads);
        if (row != held) {
          held = row;
#pragma unroll
          for (int s = 0; s < S::steps; ++s) {
            const X loaded = X::load(row_at(destination[s], row, args.destination_pitch_bytes));
#pragma unroll
            for (int i = 0; i < S::vector; ++i) y[s][i] = widened(loaded.values[i]);
          }
        }
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          pending[u] = if_counts(counts[0], times(x[u][0], y[0]));
#pragma unroll
          for (int s = 1; s < S::steps; ++s) pending[u] += if_counts(counts[s], times(x[u][s], y[s]));
        }
      } else {
        held = ~0u;
#pragma unroll
        for (int s = 0; s < S::steps; ++s)
#pragma unroll
          for (int i = 0; i < S::vector; ++i) y[s][i] = 0;  // registers for what follows
        // By halves: two rows an edge are in flight.
        constexpr int half = (loads + 1) / 2;
#pragma unroll
        for (int begin = 0; begin < loads; begin += half) {
          X x[half][S::steps], z[half][S::steps];
#pragma unroll
          for (int u = 0; u < half; ++u) {
            const std::uint32_t col = from_lane(cols, begin + u), row = from_lane(rows, begin + u);
#pragma unroll
            for (int s = 0; s < S::steps; ++s) {
              x[u][s] = X::load(row_at(source[s], col, args.source_pitch_bytes));
              z[u][s] = X::load(row_at(destination[s], row, args.destination_pitch_bytes));
            }
          }
          if (begin == 0) flush(first + j - loads);
#pragma unroll
          for (int u = 0; u < half; ++u) {
            pending[begin + u] = if_counts(counts[0], times(x[u][0], z[u][0].values));
#pragma unroll
            for (int s = 1; s < S::steps; ++s)
              pending[begin + u] += if_counts(counts[s], times(x[u][s], z[u][s].values));
          }
        }
      }
      // What lies beyond the features a group covers at once.
      if constexpr (S::widest) {
        for (int tile = S::tile; tile < args.features; tile += S::tile) {
#pragma unroll
          for (int u = 0; u < loads; ++u) {
            const Storage* const x = row_at(source[0], from_lane(cols, u), args.source_pitch_bytes) + tile;
            const Storage* const z = row_at(destination[0], from_lane(rows, u), args.destination_pitch_bytes) + tile;
#pragma unroll
            for (int s = 0; s < S::steps; ++s) {
              const int at = s * S::lanes * S::vector;
              if (has(tile, s)) pending[u] += times(X::load(x + at), X::load(z + at).values);
            }
          }
        }
      }
      if (split.ids == nullptr) return;
#pragma unroll
      for (int i = 0; i < kept; ++i) {
        const int p = first + j + owned_sum<S::lanes, loads>(lane) + i;
        pending_id[i] = p < share.length ? split.id_at(share.begin + p) : 0;
      }
    };
    if constexpr (S::each == 1) {
#pragma unroll 1
      for (int j = 0; j < Chunk::size && first + j < share.most; j += loads) batch(j);
    } else {
#pragma unroll
      for (int j = 0; j < Chunk::size; j += loads) batch(j);
    }
  }
  constexpr int step = S::each == 1 ? loads : Chunk::size;
  flush((share.most + step - 1) / step * step - loads);
}

}  // namespace weft::cuda
