// Softmax statistics of every row, over equal shares of the edges.
//
// A warp walks its share with its lanes along the edges, a run of neighbours each. A lane sees to the rows that lie
// within its run; one scan along the lanes unites those that do not, and what the warp has of a row that is not over
// is carried on. A row that a border cuts leaves its parts in slots, which finish_softmax_rows unites in the order of
// the tasks.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/attention/softmax_args.hpp"
#include "kernels/cuda/primitives/softmax_part.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"
#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// `Count` neighbours from `from` on, by as few loads as alignment allows, of what is read once.
template <int Count, class T>
__device__ __forceinline__ void load_run(const T* from, T (&to)[Count]) {
  using Run = Pack<T, Count>;
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(Run) == 0) {
    const Run run = Run::load_once(from);
#pragma unroll
    for (int i = 0; i < Count; ++i) to[i] = run.values[i];
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) to[i] = Pack<T, 1>::load_once(from + i).values[0];
  }
}

/// Values of `Count` edges in a row from the k-th on, `Heads` each from `head` on.
template <class Storage, int Heads, int Count>
struct RunOfEdges {
  Storage values[Count * Heads];

  __device__ __forceinline__ void load(const EdgeHeads<const Storage>& from, const EdgeSplit& split, EdgeId k, int head,
                                       int count) {
    if (count == Count && from.pitch == Heads && split.in_order()) return load_run(from.data + k * Heads, values);
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const EdgeId id = i < count ? split.id_of(k + i) : 0;
      const auto pack = Pack<Storage, Heads>::load(from.data + id * from.pitch + head);
#pragma unroll
      for (int h = 0; h < Heads; ++h) values[i * Heads + h] = pack.values[h];
    }
  }
};

/// The forward's parts: scores.
template <class Storage, int Heads, int Count>
struct ScoreParts {
  RunOfEdges<Storage, Heads, Count> scores;

  __device__ __forceinline__ void load(const SoftmaxKernelArgs<Storage>& args, EdgeId k, int head, int count) {
    scores.load(args.scores, args.split, k, head, count);
  }
  __device__ __forceinline__ auto part(int i, int h) const {
    return SoftmaxPart<AccumulatorOf<Storage>>::of_score(widen(scores.values[i * Heads + h]));
  }
};

/// The backward's: products of weights and their gradients, which only add up.
template <class Storage, int Heads, int Count>
struct ProductParts {
  RunOfEdges<Storage, Heads, Count> alpha, grad;

  __device__ __forceinline__ void load(const SoftmaxKernelArgs<Storage>& args, EdgeId k, int head, int count) {
    alpha.load(args.scores, args.split, k, head, count);
    grad.load(args.grad, args.split, k, head, count);
  }
  __device__ __forceinline__ auto part(int i, int h) const {
    using Acc = AccumulatorOf<Storage>;
    return SoftmaxPart<Acc>{Acc(0), widen(alpha.values[i * Heads + h]) * widen(grad.values[i * Heads + h])};
  }
};

inline constexpr int softmax_warps = block_threads / 32;

template <class Storage, int Heads, template <class, int, int> class Parts>
__global__ void __launch_bounds__(block_threads) softmax_rows(const SoftmaxKernelArgs<Storage> args) {
  using Part = SoftmaxPart<AccumulatorOf<Storage>>;
  // Edges of a lane and of the warp.
  constexpr int each = Heads * StorageTraits<Storage>::bytes > 4 ? 4 : 8, chunk = 32 * each;
  const EdgeSplit& split = args.split;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = static_cast<int>(blockIdx.y) * Heads;
  const EdgeShare share = EdgeShare::of<softmax_warps>(split, warp);
  if (share.length == 0) return;  // the whole warp
  const auto slot = [&](int which) { return args.slots + (2 * share.task + which) * args.heads + head; };
  const auto of_row = [&](NodeId row) { return args.rows + row * std::int64_t{args.heads} + head; };

  Part carry[Heads];  // of the row that is not over yet, the same in every lane
#pragma unroll
  for (int h = 0; h < Heads; ++h) carry[h] = Part::none();
  for (int first = 0; first < share.length; first += chunk) {
    const int at = first + lane * each, count = min(max(share.length - at, 0), each);
    NodeId rows[each];
    Parts<Storage, Heads, each> parts;
    if (count == each) {
      load_run(split.graph.rows + share.begin + at, rows);
    } else {
#pragma unroll
      for (int i = 0; i < each; ++i) rows[i] = i < count ? __ldg(split.graph.rows + share.begin + at + i) : -1;
    }
    if (count > 0) parts.load(args, share.begin + at, head, count);
    // Bit i: a row ends with this lane's i-th edge. Past the share's last one there is nothing.
    NodeId behind = __shfl_down_sync(~0u, rows[0], 1);
    if (lane == 31) behind = first + chunk < share.length ? __ldg(split.graph.rows + share.begin + first + chunk) : -1;
    unsigned ends = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const bool last = at + i == share.length - 1;
      const bool over = last ? !share.runs_on : rows[i] != (i + 1 < each ? rows[i + 1 < each ? i + 1 : i] : behind);
      ends |= static_cast<unsigned>(i < count && over) << i;
    }
    const bool any = ends != 0;
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      Part open = Part::none(), begun = Part::none();  // begun: what the lane has of a row that began before its run
      NodeId begun_row = -1;
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i < count) open = open.with(parts.part(i, h));
        if (!(ends >> i & 1u)) continue;
        if ((ends & ((1u << i) - 1)) == 0) {
          begun = open;
          begun_row = rows[i];
        } else {
          of_row(rows[i])[h] = open;
        }
        open = Part::none();
      }
      // Up to each lane's last edge, what there is of the row that is open there.
      Part up_to = any ? open : (lane == 0 ? carry[h].with(open) : open);
      bool closed = any || lane == 0;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const Part before = up_to.from_lane(lane >= step ? lane - step : lane);
        const bool before_closed = __shfl_up_sync(~0u, static_cast<int>(closed), step) != 0;
        if (lane < step || closed) continue;
        up_to = before.with(up_to);
        closed = before_closed;
      }
      Part from = up_to.from_lane(lane > 0 ? lane - 1 : 0);
      if (lane == 0) from = carry[h];
      if (any) *((begun_row == share.carried ? slot(0) : of_row(begun_row)) + h) = from.with(begun);
      carry[h] = up_to.from_lane(31);
    }
  }
  if (!share.runs_on || lane != 0) return;
#pragma unroll
  for (int h = 0; h < Heads; ++h) slot(share.last == share.carried ? 0 : 1)[h] = carry[h];
}

/// Rows that tasks have cut, a warp each.
template <class Storage>
__global__ void __launch_bounds__(block_threads) finish_softmax_rows(const SoftmaxKernelArgs<Storage> args) {
  using Part = SoftmaxPart<AccumulatorOf<Storage>>;
  const EdgeSplit& split = args.split;
  const GraphView& g = split.graph;
  const int lane = threadIdx.x % 32;
  const std::int64_t row = blockIdx.x * std::int64_t{block_threads} + threadIdx.x;
  CutRow cut{0, 0};  // this lane's
  if (row < g.num_rows) cut = CutRow::of(split, row, __ldg(g.offsets + row + 1) - __ldg(g.offsets + row));
  for (unsigned rows = __ballot_sync(~0u, cut.parts > 0); rows != 0; rows &= rows - 1) {
    const int at = __ffs(rows) - 1;
    const CutRow of_lane{__shfl_sync(~0u, cut.first, at), __shfl_sync(~0u, cut.parts, at)};
    for (int h = 0; h < args.heads; ++h) {
      const Part part = united_in_order(of_lane.parts, lane,
                                        [&](std::int64_t t) { return args.slots[of_lane.slot(t) * args.heads + h]; });
      if (lane == at) args.rows[row * args.heads + h] = part;
    }
  }
}

}  // namespace weft::cuda
