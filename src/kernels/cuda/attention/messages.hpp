// Attention's messages, as types: which arguments each has. What a lane does with them is in gat.cuh,
// vector_scores.cuh, backward.cuh and leaky_sum.cuh.
#pragma once

#include <cstdint>

#include "kernels/cuda/gather/args.hpp"
#include "kernels/dropout.hpp"

namespace weft::cuda {

/// Scores of edges, one per head: leaky_relu(src[u] + dst[v] + edge[e]) + bias[e], or where src and dst are vectors
/// what VectorScores says. The statistics of a row are the score its exponentials are relative to and their sum.
template <class Storage>
struct ScoreArgs : HeadLayout {
  using Acc = AccumulatorOf<Storage>;
  const Storage* src = nullptr;
  const Storage* dst = nullptr;
  std::uint32_t src_pitch_bytes = 0, dst_pitch_bytes = 0;
  std::int64_t src_head = 1, dst_head = 1;
  const Storage* edge = nullptr;  // by edge id: a term of leaky_relu's argument
  std::int64_t edge_pitch = 0, edge_head = 0;
  MaybeWide<Storage> bias;  // by edge id
  std::int64_t bias_pitch = 1, bias_head = 1;
  bool by_edge = false;  // there is an `edge` or a `bias`
  Acc slope = 0;
  Score score = Score::gat;
  const Storage* attn = nullptr;  // gatv2
  std::int64_t attn_head = 1;
  int score_width = 1;  // of the vectors
  Acc scale = 1;        // dot
  /// Weights are multiplied by this, so that they stay under 1 where a score is so much larger than the reference.
  Acc margin = 1, per_margin = 1;
  Acc* row_max = nullptr;  // the statistics' heads stand side by side
  Acc* row_sum = nullptr;
  std::int64_t max_pitch = 1, sum_pitch = 1;
  Dropout dropout;
  Acc kept = 1;  // weights that are not dropped are multiplied by this
};

/// x[u] times the edge's share in the softmax of its row, scores being sums of two scalars.
template <class StorageOf>
struct Gat {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::gat;
  using Args = ScoreArgs<Storage>;
};

/// The same with scores from vectors: dot products, or GATv2's. Only with EdgeVectors do edges have vectors of their
/// own, which take registers.
template <class StorageOf, bool EdgeVectors>
struct ScoredByVectors {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = EdgeVectors ? KernelMessage::vector_scored_edges : KernelMessage::vector_scored;
  static constexpr bool reads_edges = EdgeVectors;
  using Args = ScoreArgs<Storage>;
};
template <class Storage>
using VectorScored = ScoredByVectors<Storage, false>;
template <class Storage>
using VectorScoredEdges = ScoredByVectors<Storage, true>;

/// What an edge's gradient needs of its destination and one head.
template <class Acc>
struct alignas(4 * sizeof(Acc) > 16 ? 16 : 4 * sizeof(Acc)) DestinationTerms {
  Acc dst, reference;  // of the score
  Acc share;           // 1 / the sum of weights
  Acc mean;            // out_grad . out: the mean of the gradients of the row's weights
};

/// GAT's backward. The graph is the transpose: rows are sources u, columns destinations v, and x holds v's out_grad. An
/// edge sends its weight alpha times out_grad[v]; the gradient of its score (before leaky_relu), alpha * (out_grad[v] .
/// value[u] - mean[v]) times leaky_relu's slope there, goes to score_grad and adds up to the source's.
template <class StorageOf>
struct GatBackward {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::gat_backward;
  struct Args : HeadLayout {
    using Acc = AccumulatorOf<Storage>;
    const Storage* src = nullptr;  // of the scores, by row
    std::uint32_t src_pitch_bytes = 0;
    std::int64_t src_head = 1;
    Acc slope = 0;
    Dropout dropout;
    Acc kept = 1;
    const DestinationTerms<Acc>* destinations = nullptr;  // [columns, heads]
    const Storage* value = nullptr;                       // by row
    std::uint32_t value_pitch_bytes = 0;
    std::int64_t value_head = 0;
    Storage* src_grad = nullptr;  // [rows, heads]
    bool src_grad_wide = false;   // it holds accumulators instead
    std::int64_t src_grad_pitch = 1;
    Acc* score_grad = nullptr;  // [edges, heads]
    /// Where an edge's score_grad stands: by its id, or else at the k-th of `places` for the k-th edge of the work;
    /// null: at k.
    bool by_id = true;
    const std::int32_t* places = nullptr;
  };
};

/// One value per edge and head times leaky_relu of the sum of the edge's two ends, x[u] and row[v], and its own vector,
/// or times attn and leaky_relu's derivative there: GATv2's backward.
template <class StorageOf, bool EdgeVectors>
struct SumOfLeaky {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = EdgeVectors ? KernelMessage::leaky_sum_edges : KernelMessage::leaky_sum;
  static constexpr bool reads_edges = EdgeVectors;
  static constexpr RowResult result = RowResult::as_reduced;
  struct Args : HeadLayout {
    MaybeWide<Storage> factor;  // by edge id
    std::int64_t factor_pitch = 1, factor_head = 0;
    const Storage* edge = nullptr;  // by edge id
    std::int64_t edge_pitch = 0, edge_head = 0;
    const Storage* row = nullptr;
    std::uint32_t row_pitch_bytes = 0;
    std::int64_t row_head = 0;
    const Storage* attn = nullptr;  // null: leaky_relu itself, else attn times its derivative
    std::int64_t attn_head = 0;
    AccumulatorOf<Storage> slope = 0;
  };
};
template <class Storage>
using LeakySum = SumOfLeaky<Storage, false>;
template <class Storage>
using LeakySumEdges = SumOfLeaky<Storage, true>;

}  // namespace weft::cuda
