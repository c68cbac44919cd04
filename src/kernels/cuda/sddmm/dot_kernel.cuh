// Dot products along edges, over equal shares of them.
//
// As in SpMM a group of threads covers a row of features, holds the next chunk of edges in registers and keeps several
// rows in flight; the destination's features stay in registers while its row lasts. The partial products of a batch
// are summed across the group together.
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"
#include "kernels/cuda/sddmm/sddmm_args.hpp"

namespace weft::cuda {

template <class Storage, class S>
__global__ void __launch_bounds__(block_threads, sizeof(Storage) > 4 || S::steps > 2 ? 2 : 3)
    dot_edges(const DotArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  using Chunk = EdgeChunk<S::lanes, S::each, std::int32_t>;
  using X = Pack<Storage, S::vector>;
  constexpr int loads = S::loads;
  const EdgeSplit& split = args.split;
  const int group = threadIdx.x / S::lanes, lane = threadIdx.x % S::lanes,
            shift = threadIdx.x % 32 / S::lanes * S::lanes;
  const EdgeShare share = EdgeShare::of<S::groups>(split, group);
  const std::int64_t head = blockIdx.y;
  const bool one_tile = args.features <= S::tile;
  const auto source_pitch = static_cast<std::uint32_t>(args.source_pitch);
  const auto destination_pitch = static_cast<std::uint32_t>(args.destination_pitch);
  const int feature = lane * S::vector;
  const auto has = [&](int tile, int s) { return tile + feature + s * S::lanes * S::vector < args.features; };
  const auto offset = [](std::uint32_t row, std::uint32_t pitch) { return static_cast<std::uint64_t>(row) * pitch; };
  // In the first tile lanes past the last feature read the first ones again, and their products do not count.
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
  // In the others they read nothing.
  const auto load = [&](const Storage* row, int tile, int s) __attribute__((always_inline)) {
    return tile == 0 || has(tile, s) ? X::load(row + tile) : X::all(Storage(0));
  };
  const auto times = [](const X& a, const X& b) __attribute__((always_inline)) {
    Acc sum = static_cast<Acc>(a.values[0]) * static_cast<Acc>(b.values[0]);
#pragma unroll
    for (int i = 1; i < S::vector; ++i) sum = fma(static_cast<Acc>(a.values[i]), static_cast<Acc>(b.values[i]), sum);
    return sum;
  };
  const auto value_of = [&](EdgeId, std::int32_t id, NodeId) { return split.ids != nullptr ? id : 0; };

  // The sums of a batch wait until the loads of the next one are on their way: adding them up across lanes then costs
  // no time of its own.
  constexpr int kept = S::lanes >= loads ? 1 : loads / S::lanes;
  const bool writes = S::lanes <= loads || lane % (S::lanes >= loads ? S::lanes / loads : 1) == 0;
  Acc pending[loads];
  std::int32_t pending_id[kept];
  int pending_at = -1;  // the place in the share of the batch's first edge
  const auto flush = [&]() __attribute__((always_inline)) {
    if (pending_at < 0) return;
    sum_over_lanes<S::lanes>(pending, lane);
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const int p = pending_at + owned_sum<S::lanes, loads>(lane) + i;
      if (!writes || p >= share.length) continue;
      const EdgeId id = split.ids != nullptr ? pending_id[i] : split.id_of(share.begin + p);
      __stcs(args.out + id * args.out_pitch + head, static_cast<Storage>(pending[i]));
    }
  };

  NodeId held = -1;  // the destination whose features are in y
  X y[S::steps];
  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, value_of);
  for (int first = 0; first < share.most; first += Chunk::size) {
    NodeId cols[S::each], rows[S::each];
    std::int32_t ids[S::each];
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      cols[i] = next.col[i];
      rows[i] = next.row[i] < 0 ? 0 : next.row[i];
      ids[i] = next.value[i];
    }
    const unsigned ends = next.ends(share, first, lane, shift);
    if (first + Chunk::size < share.most) next.load(split, share, first + Chunk::size, lane, value_of);
    const auto batch = [&](int j) __attribute__((always_inline)) {
      const auto from_lane = [&](const NodeId(&held_by)[S::each], int u) __attribute__((always_inline)) {
        return static_cast<std::uint32_t>(
            __shfl_sync(~0u, held_by[Chunk::place_of(j + u)], Chunk::lane_of(j + u), S::lanes));
      };
      // Whether every edge of the batch has the same destination; the warp takes one path.
      const bool changes = (ends >> j & ((1u << (loads - 1)) - 1)) != 0;
      if (one_tile && !__any_sync(~0u, changes)) {
        X x[loads][S::steps];
        const auto row = static_cast<NodeId>(from_lane(rows, 0));
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          const std::uint64_t at = offset(from_lane(cols, u), source_pitch);
#pragma unroll
          for (int s = 0; s < S::steps; ++s) x[u][s] = X::load(source[s] + at);
        }
        flush();
        if (row != held) {
          held = row;
#pragma unroll
          for (int s = 0; s < S::steps; ++s) y[s] = X::load(destination[s] + offset(row, destination_pitch));
        }
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          pending[u] = counts[0] ? times(x[u][0], y[0]) : Acc(0);
#pragma unroll
          for (int s = 1; s < S::steps; ++s) pending[u] += counts[s] ? times(x[u][s], y[s]) : Acc(0);
        }
      } else {
        flush();
#pragma unroll
        for (int u = 0; u < loads; ++u) pending[u] = 0;
        for (int tile = 0; tile < args.features; tile += S::tile) {
          // By halves: two rows an edge are in flight.
          constexpr int half = (loads + 1) / 2;
#pragma unroll
          for (int begin = 0; begin < loads; begin += half) {
            X x[half][S::steps], z[half][S::steps];
#pragma unroll
            for (int u = 0; u < half; ++u) {
              const std::uint64_t at = offset(from_lane(cols, begin + u), source_pitch);
              const std::uint64_t to = offset(from_lane(rows, begin + u), destination_pitch);
#pragma unroll
              for (int s = 0; s < S::steps; ++s) {
                x[u][s] = load(source[s] + at, tile, s);
                z[u][s] = load(destination[s] + to, tile, s);
              }
            }
#pragma unroll
            for (int u = 0; u < half; ++u)
#pragma unroll
              for (int s = 0; s < S::steps; ++s)
                pending[begin + u] += tile > 0 || counts[s] ? times(x[u][s], z[u][s]) : Acc(0);
          }
        }
      }
      pending_at = first + j;
      if (split.ids == nullptr) return;
#pragma unroll
      for (int i = 0; i < kept; ++i) {
        // Which register of which lane holds the edge whose sum this lane will own.
        const int edge = j + owned_sum<S::lanes, loads>(lane) + i;
#pragma unroll
        for (int r = 0; r < S::each; ++r) {
          const std::int32_t id = __shfl_sync(~0u, ids[r], Chunk::lane_of(edge), S::lanes);
          if (Chunk::place_of(edge) == r) pending_id[i] = id;
        }
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
  flush();
}

}  // namespace weft::cuda
