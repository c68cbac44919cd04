// GAT: what edges weigh in attention, exponentials of their scores, relative to one score for each row and head.
//
// Any score will do that is not far from the largest, as the sum of a row's weights divides it away. A row takes the
// score it would have for the largest of a few sources, and a margin: no pass over the row comes first, parts of a row
// add up as they are, and weights are at most 1, so that sums overflow no sooner than those of the sources. Where
// scores lie too far apart for that the row's sum shows it (`usable`), and whoever finishes the rows computes it anew
// (redo_row.cuh).
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "kernels/cuda/gather/sender.cuh"
#include "kernels/cuda/primitives/softmax_part.cuh"

namespace weft::cuda {

/// A call, as what it takes of registers is then taken only where edges are dropped.
static __device__ __noinline__ bool is_dropped(Dropout dropout, EdgeId id, int head) { return dropout.drops(id, head); }

/// The scores of a graph's edges.
template <class Storage>
struct GatScores {
  using Acc = AccumulatorOf<Storage>;
  const ScoreArgs<Storage>& args;
  const EdgeSplit& split;

  __device__ __forceinline__ Acc leaky(Acc z) const { return z > 0 ? z : z * args.slope; }
  __device__ __forceinline__ Storage source(std::uint32_t col, int head) const {
    return load_element(row_at(args.src + head * args.src_head, col, args.src_pitch_bytes));
  }
  __device__ __forceinline__ Storage destination(std::uint32_t row, int head) const {
    return load_element(row_at(args.dst + head * args.dst_head, row, args.dst_pitch_bytes));
  }
  /// Of the k-th edge in the order of the work.
  __device__ __forceinline__ Acc score(Acc src, Acc dst, EdgeId k, int head) const {
    if (!args.by_edge) return leaky(src + dst);
    const EdgeId id = split.id_of(k);
    Acc z = src + dst;
    if (args.edge != nullptr) z += widen(load_element(args.edge + id * args.edge_pitch + head * args.edge_head));
    const Acc score = leaky(z);
    return args.bias.data == nullptr ? score : score + args.bias[id * args.bias_pitch + head * args.bias_head];
  }
  /// The largest of a few sources: one alone might be the odd one out.
  __device__ __forceinline__ Acc typical(int head) const {
    constexpr int few = 8;
    Acc best = -Acc(INFINITY);
#pragma unroll
    for (int i = 0; i < few; ++i) {
      const Acc value = widen(source(static_cast<std::uint32_t>(std::int64_t{split.graph.num_cols} * i / few), head));
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

/// What an edge's features are multiplied by in each step, and what is added up beside them.
template <class Acc, int Steps>
struct HeadWeight {
  Acc weight[Steps], total[Steps];

  /// Of a weight of attention. One that is dropped is negative and counts in the sum alone.
  template <bool Dropping>
  __device__ __forceinline__ void set(int step, Acc w) {
    weight[step] = Dropping ? fmax(w, Acc(0)) : w;
    total[step] = Dropping ? fabs(w) : w;
  }
};

/// Rows of attention are divided by the sum of their weights, which is accumulated beside the features.
template <class Message, class S>
struct AttentionRow {
  static constexpr int totals = S::head_steps;
  static constexpr bool total_in_parts = false, averages = false;

  /// `lead`: the head whose first feature this is, or -1.
  template <int Count, class Acc>
  static __device__ __forceinline__ void write(const GatherArgs<Message>& args, NodeId row, int feature,
                                               Acc (&value)[Count], Acc total, int lead) {
    const auto& scores = args.message;
    const Acc share = reciprocal(total) * scores.kept;
#pragma unroll
    for (int i = 0; i < Count; ++i) value[i] *= share;
    store_row<Count>(args.epilogue, row, feature, value);
    if (lead >= 0) scores.row_sum[row * scores.sum_pitch + lead] = total * scores.per_margin;
  }
};
template <class Storage, class S, Reduction Kind>
struct RowOf<Gat<Storage>, S, Kind> : AttentionRow<Gat<Storage>, S> {};

/// What the senders of attention have in common: messages are rows of x times the weight of their head. `Weights` has
/// weight<Dropping>(batch, u), which spares an instruction of nine an edge where nothing is dropped.
template <class Weights, class S>
struct AttentionSender : Weights {
  using typename Weights::Acc, typename Weights::Edges;
  using Weights::Weights;

  template <class BatchOf>
  __device__ __forceinline__ auto weight(const BatchOf& batch, int u) const {
    return Weights::template weight_of<true>(batch, u);
  }
  template <class BatchOf, class Weight>
  __device__ __forceinline__ Acc message(const BatchOf& batch, int u, const Weight& weight, int n) const {
    return weight.weight[n / S::vector] * widen(batch.x[u][n / S::vector].values[n % S::vector]);
  }
  template <class State, class BatchOf>
  __device__ __forceinline__ void fold(State& state, const BatchOf& batch, int place, const EdgeShare&, const Edges&,
                                       int) const {
    if (this->args.message.dropout.given()) {
      fold_batch<S, S::head_steps>(
          *this, state, batch,
          place, [&](int u) __attribute__((always_inline)) { return Weights::template weight_of<true>(batch, u); });
    } else {
      fold_batch<S, S::head_steps>(
          *this, state, batch,
          place, [&](int u) __attribute__((always_inline)) { return Weights::template weight_of<false>(batch, u); });
    }
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
  __device__ __forceinline__ LaneWeights(const GatherArgs<Gat<Storage>>& args, const Lane& here)
      : scores{args.message, args.split} {
#pragma unroll
    for (int s = 0; s < S::head_steps; ++s) {
      heads[s] = S::head_map != HeadMap::one && here.has(s) ? here.head(s) : 0;
      typical[s] = scores.typical(heads[s]);
    }
  }
  __device__ __forceinline__ Storage source(std::uint32_t col, int s) const { return scores.source(col, heads[s]); }
  __device__ __forceinline__ Storage destination(std::uint32_t row, int s) const {
    return scores.destination(row, heads[s]);
  }
  /// Of the k-th edge in the order of the work. One that is dropped counts in the sum of weights alone: it is negative.
  __device__ __forceinline__ Acc weight(Storage of_source, Storage of_destination, EdgeId k, int s) const {
    const Acc from = widen(of_source), to = widen(of_destination);
    const Acc w = scores.weight(scores.score(from, to, k, heads[s]), scores.reference(typical[s], to));
    const Dropout& dropout = scores.args.dropout;
    return dropout.given() && is_dropped(dropout, scores.split.id_of(k), heads[s]) ? -w : w;
  }
};

/// The weights of a chunk of edges in registers. One head: each lane has those of its own edges, and shuffles hand them
/// round. Any heads: each lane computes what it needs. (Shared heads: see shared_weights.cuh.)
template <class Storage, class S>
struct HeldWeights : SenderBase<Gat<Storage>, S> {
  using Base = SenderBase<Gat<Storage>, S>;
  using typename Base::Acc, typename Base::Edges;
  using Weight = HeadWeight<Acc, S::steps>;
  static constexpr bool one_head = S::head_map == HeadMap::one;
  static constexpr int steps = S::head_steps;
  LaneWeights<Storage, S> of;
  int lane;  // of the group
  Storage src[S::each], dst[S::each];
  Acc held[S::each];

  struct Batch : Base::Batch {
    Acc by_lane[one_head ? 1 : S::loads][steps];
    int j;
  };

  template <class Lane>
  __device__ __forceinline__ HeldWeights(const GatherArgs<Gat<Storage>>& all, const Lane& here, int of_group)
      : Base(all, here, of_group), of(all, here), lane(of_group) {}

  /// Loads what the weights of this lane's edges are computed from. (To compute them is to wait, and better done when
  /// the first rows of x are on their way, too.)
  template <class Loaded>
  __device__ __forceinline__ void begin_chunk(const Edges& edges, const Loaded (&)[S::each]) {
    if constexpr (one_head) {
#pragma unroll
      for (int i = 0; i < S::each; ++i) {
        src[i] = of.source(static_cast<std::uint32_t>(edges.col[i]), 0);
        dst[i] = of.destination(static_cast<std::uint32_t>(max(edges.row[i], 0)), 0);
      }
    }
  }
  template <class BatchOf>
  __device__ __forceinline__ void weigh(BatchOf& batch, const EdgeShare& share, const Edges& edges, int j, bool) {
    batch.j = j;
    const int at = edges.first;
    if constexpr (one_head) {
      if (j != 0) return;
#pragma unroll
      for (int i = 0; i < S::each; ++i) {
        const int q = i * S::lanes + lane;
        held[i] = at + q < share.length ? of.weight(src[i], dst[i], share.begin + at + q, 0) : Acc(0);
      }
    } else {
#pragma unroll
      for (int u = 0; u < S::loads; ++u) {
        const std::uint32_t c = edges.source(j + u), r = edges.destination(j + u);
        const bool there = at + j + u < share.length;
#pragma unroll
        for (int s = 0; s < steps; ++s)
          batch.by_lane[u][s] =
              there ? of.weight(of.source(c, s), of.destination(r, s), share.begin + at + j + u, s) : Acc(0);
      }
    }
  }
  /// `Dropping`: weights may be dropped ones.
  template <bool Dropping, class BatchOf>
  __device__ __forceinline__ Weight weight_of(const BatchOf& batch, int u) const {
    Weight m;
    if constexpr (one_head) {
      const Acc w = Edges::from_lane(held, batch.j + u);
#pragma unroll
      for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, w);
    } else {
#pragma unroll
      for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, batch.by_lane[u][s]);
    }
    return m;
  }
};

}  // namespace weft::cuda
