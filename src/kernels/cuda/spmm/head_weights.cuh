// What edges weigh in attention: exponentials of their scores, relative to one score for each row and head.
//
// Any score will do that is not far from the largest, as the sum of a row's weights divides it away. A row takes the
// score it would have for the largest of a few sources, and a margin: no pass over the row comes first, parts of a row
// add up as they are, and weights are at most 1, so that sums overflow no sooner than those of the sources. Where
// scores lie too far apart for that the row's sum shows it (`usable`), and whoever finishes the rows computes it anew
// (redo_row.cuh).
#pragma once

#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/primitives/softmax_part.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"
#include "kernels/cuda/spmm/spmm_args.hpp"

namespace weft::cuda {

/// A call, as what it takes of registers is then taken only where edges are dropped.
static __device__ __noinline__ bool is_dropped(Dropout dropout, EdgeId id, int head) { return dropout.drops(id, head); }

/// The scores of a graph's edges.
template <class Storage>
struct GatScores {
  using Acc = AccumulatorOf<Storage>;
  const AttendedArgs<Storage>& args;
  const EdgeSplit& split;

  __device__ __forceinline__ Acc leaky(Acc z) const { return z > 0 ? z : z * args.slope; }
  __device__ __forceinline__ Storage source(std::uint32_t col, int head) const {
    return __ldg(row_at(args.src + head * args.src_head, col, args.src_pitch_bytes));
  }
  __device__ __forceinline__ Storage destination(std::uint32_t row, int head) const {
    return __ldg(row_at(args.dst + head * args.dst_head, row, args.dst_pitch_bytes));
  }
  /// Of the k-th edge in the order of the work.
  __device__ __forceinline__ Acc score(Acc src, Acc dst, EdgeId k, int head) const {
    const Acc score = leaky(src + dst);
    if (args.bias.data == nullptr) return score;
    return score + args.bias[split.id_of(k) * args.bias_pitch + head * args.bias_head];
  }
  /// The largest of a few sources: one alone might be the odd one out.
  __device__ __forceinline__ Acc typical(int head) const {
    constexpr int few = 8;
    Acc best = -Acc(INFINITY);
#pragma unroll
    for (int i = 0; i < few; ++i) {
      const Acc value = widened(source(static_cast<std::uint32_t>(std::int64_t{split.graph.num_cols} * i / few), head));
      best = fabs(value) < Acc(INFINITY) && value > best ? value : best;
    }
    return best > -Acc(INFINITY) ? best : Acc(0);
  }
  /// What weights of a row are relative to.
  __device__ __forceinline__ Acc reference(Acc typical_source, Acc dst) const { return leaky(typical_source + dst); }
  /// 0 for a masked edge; NaN where the score is too large for the reference.
  __device__ __forceinline__ Acc weight(Acc score, Acc reference) const {
    const Acc w = exponential(score - reference) * args.margin;
    return w <= 1 ? w : Acc(NAN);
  }
};

/// Whether a row's sum of weights is what it should be: no weight was too large, and not all were too small.
template <class Acc>
__device__ __forceinline__ bool usable(Acc total) {
  return total > Acc(0x1p-70);
}

/// With one head, lanes that are at least as many as edges of a batch find a score gradient each. Sums of few features
/// leave the registers to add those up lane by lane, until the row ends.
template <class S>
inline constexpr bool owns_gradients = S::held == 1 && S::lanes >= S::loads;
template <class S>
inline constexpr bool shares_totals = owns_gradients<S>&& S::count <= 4;

/// What an edge's features are multiplied by in each step, and what is added up beside them.
template <class Acc, int Steps>
struct HeadMessage {
  Acc weight[Steps], total[Steps];

  /// Of a weight of attention. One that is dropped is negative and counts in the sum alone.
  template <bool Dropping>
  __device__ __forceinline__ void set(int step, Acc w) {
    weight[step] = Dropping ? fmax(w, Acc(0)) : w;
    total[step] = Dropping ? fabs(w) : w;
  }
};

/// Weights for the heads of a lane's steps that may differ in their head.
template <class Storage, class S>
struct LaneWeights {
  using Acc = AccumulatorOf<Storage>;
  GatScores<Storage> scores;
  int heads[S::head_steps];
  Acc typical[S::head_steps];  // what a typical source has for them

  template <class Lane>
  __device__ __forceinline__ LaneWeights(const SpmmKernelArgs<Storage>& args, const Lane& here)
      : scores{args.attended, args.split} {
#pragma unroll
    for (int s = 0; s < S::head_steps; ++s) {
      heads[s] = S::held != 1 && here.has(s) ? here.head(s) : 0;
      typical[s] = scores.typical(heads[s]);
    }
  }
  __device__ __forceinline__ Storage source(std::uint32_t col, int s) const { return scores.source(col, heads[s]); }
  __device__ __forceinline__ Storage destination(std::uint32_t row, int s) const {
    return scores.destination(row, heads[s]);
  }
  /// Of the k-th edge in the order of the work. One that is dropped counts in the sum of weights alone: it is negative.
  __device__ __forceinline__ Acc weight(Storage of_source, Storage of_destination, EdgeId k, int s) const {
    const Acc from = widened(of_source), to = widened(of_destination);
    const Acc w = scores.weight(scores.score(from, to, k, heads[s]), scores.reference(typical[s], to));
    const Dropout& dropout = scores.args.dropout;
    return dropout.given() && is_dropped(dropout, scores.split.id_of(k), heads[s]) ? -w : w;
  }
};

/// The weights of a chunk of edges.
///   S::held == 1: all features are of one head, and each lane has the weights of its own edges
///   S::held == 0: each lane computes what it needs, however heads lie
/// (S::held > 1: see PostedWeights.)
template <class Storage, class S, class Chunk>
struct HeadWeights {
  using Acc = AccumulatorOf<Storage>;
  using Message = HeadMessage<Acc, S::steps>;
  static constexpr int steps = S::head_steps;
  LaneWeights<Storage, S> of;
  int lane;  // of the group
  Storage src[S::each], dst[S::each];
  Acc held[S::each];
  Acc by_lane[S::held == 0 ? S::loads : 1][steps];

  template <class Lane>
  __device__ __forceinline__ HeadWeights(const SpmmKernelArgs<Storage>& args, const Lane& here, int of_group)
      : of(args, here), lane(of_group) {}
  /// Loads what the weights of a chunk are computed from, whose edges this lane holds in cols and rows. (To compute
  /// them is to wait, and better done when the first rows of X are on their way, too.)
  __device__ __forceinline__ void load(const NodeId (&cols)[S::each], const NodeId (&rows)[S::each]) {
    if constexpr (S::held == 1) {
#pragma unroll
      for (int i = 0; i < S::each; ++i) {
        src[i] = of.source(static_cast<std::uint32_t>(cols[i]), 0);
        dst[i] = of.destination(static_cast<std::uint32_t>(max(rows[i], 0)), 0);
      }
    }
  }
  /// Before batch j of the chunk at `at` of the share is added up, by the whole warp, while its rows of X are on their
  /// way: col(u) and row(u) are its edges'; `usual`: all edges of a group are of one row.
  template <class ColOf, class RowOf>
  __device__ __forceinline__ void begin_batch(const EdgeShare& share, int at, int j, bool, const ColOf& col,
                                              const RowOf& row) {
    if constexpr (S::held == 1) {
      if (j != 0) return;
#pragma unroll
      for (int i = 0; i < S::each; ++i) {
        const int q = i * S::lanes + lane;
        held[i] = at + q < share.length ? of.weight(src[i], dst[i], share.begin + at + q, 0) : Acc(0);
      }
    } else {
#pragma unroll
      for (int u = 0; u < S::loads; ++u) {
        const std::uint32_t c = col(u), r = row(u);
        const bool there = at + j + u < share.length;
#pragma unroll
        for (int s = 0; s < steps; ++s)
          by_lane[u][s] =
              there ? of.weight(of.source(c, s), of.destination(r, s), share.begin + at + j + u, s) : Acc(0);
      }
    }
  }
  /// That of edge j + u of the chunk, u being known when this is compiled; by the whole warp. `Dropping`: weights may
  /// be dropped ones.
  template <bool Dropping = true>
  __device__ __forceinline__ Message message(int j, int u) const {
    Message m;
    if constexpr (S::held == 1) {
      const Acc w = __shfl_sync(~0u, held[Chunk::place_of(j + u)], Chunk::lane_of(j + u), S::lanes);
#pragma unroll
      for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, w);
    } else {
#pragma unroll
      for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, by_lane[u][s]);
    }
    return m;
  }
};

}  // namespace weft::cuda
