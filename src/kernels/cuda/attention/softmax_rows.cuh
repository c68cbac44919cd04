// Softmax statistics of every row, over equal shares of the edges.
//
// A warp walks its share with its lanes along the edges, several slabs of 32 in flight. Slabs in which no row ends stay
// in the lanes; where rows end, scans along the lanes give each its largest score and its sum. A row that a border cuts
// leaves its parts in slots, which finish_softmax_rows unites in the order of the tasks.
#pragma once

#include "kernels/cuda/attention/softmax_args.hpp"
#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/primitives/softmax_part.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// Scores as they are loaded, `Heads` of an edge from `head` on, and the parts they are.
template <class Storage, int Heads>
struct ScoreParts {
  using Acc = AccumulatorOf<Storage>;
  using Loaded = Pack<Storage, Heads>;
  const SoftmaxKernelArgs<Storage>& args;
  int head;

  __device__ __forceinline__ Loaded load(EdgeId k, std::int32_t, NodeId) const {
    return Loaded::load(args.scores.data + args.split.id_of(k) * args.scores.pitch + head);
  }
  static __device__ __forceinline__ SoftmaxPart<Acc> part(const Loaded& loaded, int h) {
    return SoftmaxPart<Acc>::of_score(widened(loaded.values[h]));
  }
};

/// The backward's: products of weights and their gradients, which only add up.
template <class Storage, int Heads>
struct ProductParts {
  using Acc = AccumulatorOf<Storage>;
  struct Loaded {
    Pack<Storage, Heads> alpha, grad;
  };
  const SoftmaxKernelArgs<Storage>& args;
  int head;

  __device__ __forceinline__ Loaded load(EdgeId k, std::int32_t, NodeId) const {
    const EdgeId id = args.split.id_of(k);
    return {Pack<Storage, Heads>::load(args.scores.data + id * args.scores.pitch + head),
            Pack<Storage, Heads>::load(args.grad.data + id * args.grad.pitch + head)};
  }
  static __device__ __forceinline__ SoftmaxPart<Acc> part(const Loaded& loaded, int h) {
    return {Acc(0), widened(loaded.alpha.values[h]) * widened(loaded.grad.values[h])};
  }
};

/// Of the rows a warp walks through, the one that is not over yet: `lanes` are what slabs without an end brought.
template <class Acc>
struct OpenSoftmax {
  SoftmaxPart<Acc> lanes, carry;

  __device__ __forceinline__ void clear() { lanes = carry = SoftmaxPart<Acc>::none(); }
  /// Several edges of this lane: one exponential each, and one for what was there.
  template <int Count>
  __device__ __forceinline__ void fold(const SoftmaxPart<Acc> (&parts)[Count]) {
    Acc top = lanes.top;
#pragma unroll
    for (int i = 0; i < Count; ++i) top = larger(top, parts[i].top);
    Acc total = 0;
#pragma unroll
    for (int i = 0; i < Count; ++i) total += parts[i].total * rescale(parts[i].top, top);
    lanes = {top, lanes.total * rescale(lanes.top, top) + total};
  }
  /// Afterwards all of it is in `carry`, the same in every lane.
  __device__ __forceinline__ void collect(int lane) {
    carry = carry.with(united_over_warp(lanes, lane));
    lanes = SoftmaxPart<Acc>::none();
  }
};

inline constexpr int softmax_warps = block_threads / 32;

template <class Storage, int Heads, template <class, int> class Parts>
__global__ void __launch_bounds__(block_threads) softmax_rows(const SoftmaxKernelArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  using Part = SoftmaxPart<Acc>;
  using Of = Parts<Storage, Heads>;
  constexpr int slabs = narrow_slabs;
  using Chunk = EdgeChunk<32, slabs, typename Of::Loaded>;
  const EdgeSplit& split = args.split;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = static_cast<int>(blockIdx.y) * Heads;
  const EdgeShare share = EdgeShare::of<softmax_warps>(split, warp);
  if (share.length == 0) return;  // the whole warp
  const Of parts{args, head};
  const auto slot = [&](int which) { return args.slots + (2 * share.task + which) * args.heads + head; };

  OpenSoftmax<Acc> open[Heads];
#pragma unroll
  for (int h = 0; h < Heads; ++h) open[h].clear();
  bool in_lanes = false;
  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, parts);
  for (int first = 0; first < share.length; first += Chunk::size) {
    typename Of::Loaded loaded[slabs];
    NodeId rows[slabs];
    unsigned ends[slabs], any = 0;
#pragma unroll
    for (int i = 0; i < slabs; ++i) {
      loaded[i] = next.value[i];
      rows[i] = next.row[i];
      ends[i] = next.ends_of(i, share, first, lane);
      any |= ends[i];
    }
    if (first + Chunk::size < share.length) next.load(split, share, first + Chunk::size, lane, parts);
    const auto part_of = [&](int i, int h) {
      return first + i * 32 + lane < share.length ? Of::part(loaded[i], h) : Part::none();
    };
    if (any == 0) {
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        Part of_lane[slabs];
#pragma unroll
        for (int i = 0; i < slabs; ++i) of_lane[i] = part_of(i, h);
        open[h].fold(of_lane);
      }
      in_lanes = true;
      continue;
    }
#pragma unroll
    for (int i = 0; i < slabs; ++i) {
      if (ends[i] == 0) {
#pragma unroll
        for (int h = 0; h < Heads; ++h) {
          const Part of_lane[1] = {part_of(i, h)};
          open[h].fold(of_lane);
        }
        in_lanes = true;
        continue;
      }
      const unsigned before = ends[i] & ((1u << lane) - 1), after = ends[i] >> lane;
      const int start = before == 0 ? 0 : 32 - __clz(before);
      const int end = after == 0 ? 31 : lane + __ffs(after) - 1;
      const bool over = after & 1u, runs_on = ends[i] >> 31 == 0;
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        if (in_lanes) open[h].collect(lane);
        const Part mine = part_of(i, h);
        const Acc top = largest_of_segment(mine.top, lane, start, end);
        Acc total[1] = {mine.total * rescale(mine.top, top)};
        sum_segments(total, lane, start);
        const Part segment{top, total[0]};
        if (over)
          *((rows[i] == share.head ? slot(0) : args.rows + rows[i] * std::int64_t{args.heads} + head) + h) =
              before == 0 ? open[h].carry.with(segment) : segment;
        const Part rest = segment.from_lane(31);
        open[h].carry = runs_on ? rest : Part::none();
      }
      in_lanes = false;
    }
  }
  if (!share.runs_on) return;
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    open[h].collect(lane);
    if (lane == 0) slot(share.last == share.head ? 0 : 1)[h] = open[h].carry;
  }
}

/// Rows that tasks have cut, a warp each.
template <class Storage>
__global__ void __launch_bounds__(block_threads) finish_softmax_rows(const SoftmaxKernelArgs<Storage> args) {
  using Part = SoftmaxPart<AccumulatorOf<Storage>>;
  const EdgeSplit& split = args.split;
  const GraphView& g = split.graph;
  const int lane = threadIdx.x % 32;
  const std::int64_t row = blockIdx.x * std::int64_t{block_threads} + threadIdx.x;
  std::int64_t first = 0, tasks = 0;  // of this lane's row
  if (row < g.num_rows) {
    const EdgeId degree = __ldg(g.offsets + row + 1) - __ldg(g.offsets + row);
    if (degree > 0) {
      const EdgeId begin = __ldg(split.starts + row);
      first = split.task_of(begin);
      tasks = split.task_of(begin + degree - 1) - first + 1;
    }
  }
  for (unsigned cut = __ballot_sync(~0u, tasks > 1); cut != 0; cut &= cut - 1) {
    const int at = __ffs(cut) - 1;
    const std::int64_t from = __shfl_sync(~0u, first, at), count = __shfl_sync(~0u, tasks, at);
    for (int h = 0; h < args.heads; ++h) {
      // The row's first task kept it as the one that runs on, the others as the one that began before.
      const Part part = united_in_order(count, lane, [&](std::int64_t t) {
        return args.slots[(2 * (from + t) + (t == 0 ? 1 : 0)) * args.heads + h];
      });
      if (lane == at) args.rows[row * args.heads + h] = part;
    }
  }
}

}  // namespace weft::cuda
