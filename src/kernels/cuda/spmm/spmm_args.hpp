// What the kernels of one SpMM read and write: plain views, passed by value.
#pragma once

#include <cstdint>

#include "core/accumulator.hpp"
#include "kernels/cuda/half.hpp"
#include "kernels/cuda/schedule/edge_split.hpp"
#include "kernels/dropout.hpp"
#include "weft/types.hpp"

namespace weft::cuda {

/// What an edge sends. The first three are for the usual calls and their rows are written as they are reduced; the next
/// two know scales, edge values however they stand, and the whole epilogue.
///   source:   x[u]
///   averaged: the same, and rows are written as means
///   weighted: x[u] times one value an edge, which stand in the order of the work or are found by `ids`
///   scaled:   x[u] times what is given of one value an edge and one a source
///   edgewise: op(x[u], e), where e is one value an edge, a head or a feature, times one a source if given
///   attended: x[u] times an edge's share in the softmax of its row, see AttendedArgs
///   scored:   the same where scores come from vectors
///   returned: attention's gradients on their way back over the transpose, see ReturnedArgs
///   leaned:   one value an edge and head times leaky_relu of a sum, or its derivative, see LeanedArgs
enum class Message { source, averaged, weighted, scaled, edgewise, attended, scored, returned, leaned };

/// Whether rows are weighted means whose weights add up beside them.
template <Message Sent>
inline constexpr bool attends = Sent == Message::attended || Sent == Message::scored;
/// Whether each head has what a provider (head_weights.cuh and others) computes for its edges.
template <Message Sent>
inline constexpr bool by_head = attends<Sent> || Sent == Message::returned || Sent == Message::leaned;

/// Sum also serves the mean; extremum serves max and, with messages negated, min; winner also says which edge it was.
enum class Reduction { sum, extremum, winner };

/// What the pass over left rows writes besides reduced rows: attention's statistics, or what its gradients add up to
/// beside the features.
enum class FinishKind { plain, attended, returned };

/// What becomes of a row's result: mean, row scale, bias and ReLU in the accumulator, then the one rounding.
template <class Storage>
struct RowFinish {
  using Acc = AccumulatorOf<Storage>;
  Storage* out = nullptr;
  std::uint32_t pitch_bytes = 0;
  bool wide = false;  // out holds accumulators instead
  bool mean = false, relu = false, negated = false;
  const Acc* row_scale = nullptr;
  MaybeWide<Storage> bias;
  NodeId* arg_u = nullptr;  // [rows, features]
  EdgeId* arg_e = nullptr;

  Acc most = 0;           // saturating: what out can hold; 0: not
  bool as_it_is = false;  // what plain() says, for kernels
  bool light = false;     // the same but for a mean, which is a factor a row

  bool plain(bool but_for_mean = false) const {
    return (but_for_mean || !mean) && !relu && row_scale == nullptr && !bias.given() && most == 0;
  }
};

/// Parts of rows that tasks have cut: two slots a task, see edge_split.hpp.
template <class Storage>
struct Staging {
  AccumulatorOf<Storage>* values = nullptr;  // [2 * tasks, pitch]
  std::int32_t* places = nullptr;            // winner: the edge, counted from the task's nominal begin
  std::int64_t pitch = 0;
};

/// Scores of edges, one a head: leaky_relu(src[u] + dst[v]) + bias[e], or where src and dst are vectors what
/// VectorScores says. The statistics of a row are the score its exponentials are relative to and their sum.
template <class Storage>
struct AttendedArgs {
  using Acc = AccumulatorOf<Storage>;
  const Storage* src = nullptr;
  const Storage* dst = nullptr;
  std::uint32_t src_pitch_bytes = 0, dst_pitch_bytes = 0;
  std::int64_t src_head = 1, dst_head = 1;
  MaybeWide<Storage> bias;  // by edge id
  std::int64_t bias_pitch = 1, bias_head = 1;
  Acc slope = 0;
  Score score = Score::gat;
  const Storage* attn = nullptr;  // gatv2
  std::int64_t attn_head = 1;
  int score_width = 1;  // of the vectors
  Acc scale = 1;        // dot
  /// What weights are multiplied by, so that they stay under 1 where a score is so much larger than the reference.
  Acc margin = 1, per_margin = 1;
  Acc* row_max = nullptr;  // the statistics' heads stand side by side
  Acc* row_sum = nullptr;
  std::int64_t max_pitch = 1, sum_pitch = 1;
  Dropout dropout;
  Acc kept = 1;  // what weights that are not dropped are multiplied by
  int heads = 1;
  /// Of one head in a step, where lanes share weights (PostedWeights, HeadReturns): all of it, or its share of the
  /// steps where those of a lane stand in one head.
  int head_lanes = 1;
};

/// What an edge's gradient needs of its destination and one head.
template <class Acc>
struct alignas(4 * sizeof(Acc) > 16 ? 16 : 4 * sizeof(Acc)) Returning {
  Acc dst, reference;  // of the score
  Acc share;           // 1 / the sum of weights
  Acc mean;            // out_grad . out: the mean of the gradients of the row's weights
};

/// The graph is the transpose: rows are sources u, columns destinations v, and x holds v's out_grad. An edge sends its
/// weight alpha times out_grad[v]; the gradient of its score (before leaky_relu), alpha * (out_grad[v] . value[u] -
/// mean[v]) times leaky_relu's slope there, goes to score_grad and adds up to the source's.
template <class Storage>
struct ReturnedArgs {
  using Acc = AccumulatorOf<Storage>;
  const Returning<Acc>* destinations = nullptr;  // [columns, heads]
  const Storage* value = nullptr;                // by row
  std::uint32_t value_pitch_bytes = 0;
  std::int64_t value_head = 0;
  Storage* src_grad = nullptr;  // [rows, heads]
  std::int64_t src_grad_pitch = 1;
  Acc* score_grad = nullptr;  // [edges, heads]
  /// Where an edge's stand: by its id, or else at the k-th of `places` for the k-th edge of the work; null: at k.
  bool by_id = true;
  const std::int32_t* places = nullptr;
};

/// x and `row` are the two ends of an edge, whose value is by edge id and head. Without attn, leaky_relu of their sum
/// is sent, else attn times its derivative.
template <class Storage>
struct LeanedArgs {
  const Storage* row = nullptr;
  std::uint32_t row_pitch_bytes = 0;
  std::int64_t row_head = 0;
  const Storage* attn = nullptr;
  std::int64_t attn_head = 0;
  AccumulatorOf<Storage> slope = 0;
};

template <class Storage>
struct SpmmKernelArgs {
  using Acc = AccumulatorOf<Storage>;
  EdgeSplit split;
  Staging<Storage> staging;
  RowFinish<Storage> finish;
  int features = 0;  // of all heads

  const Storage* x = nullptr;  // null: messages do not read it
  std::uint32_t x_pitch_bytes = 0;
  MaybeWide<Storage> edge;  // by edge id
  std::int64_t edge_pitch = 1;
  const Acc* col_scale = nullptr;

  // edgewise
  SpmmOp op = SpmmOp::u_mul_e;
  int width = 1;  // of a head
  std::int64_t x_head = 0, edge_head = 0;
  bool x_vector = true, edge_vector = false;  // one value a feature, else one a head

  AttendedArgs<Storage> attended;  // attended, scored and returned; width and x_head count as well
  ReturnedArgs<Storage> returned;
  LeanedArgs<Storage> leaned;
};

}  // namespace weft::cuda
