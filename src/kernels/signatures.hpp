// One declaration an operator, shared by every backend: plain views in, results written to memory the
// caller gave. Shapes are checked and broadcasting is resolved before a kernel sees its arguments.
#pragma once

#include <cstdint>

#include "core/cuda/launcher.hpp"
#include "graph/sample/choice.hpp"
#include "kernels/dropout.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"
#include "weft/types.hpp"

namespace weft {

/// A dense input with broadcasting resolved to strides, in elements: the element of row r, head h,
/// feature f stands at r * row_stride + h * head_stride + f * feature_stride.
struct Operand {
  const void* data = nullptr;  // null: not given
  Dtype dtype = Dtype::f32;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;     // 0: the same for every head
  std::int64_t feature_stride = 0;  // 0: one value for all features, else 1

  bool given() const { return data != nullptr; }
};

/// A dense output [rows, heads, width]; heads and features are contiguous within a row.
struct Result {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t row_stride = 0;
};

struct SpmmArgs {
  GraphView graph;
  SampledPlaces sample;        // where given, `graph` is the sample's index space
  bool unbiased_sums = false;  // of a sample: times degree / kept
  SpmmOp op = SpmmOp::u_mul_e;
  Reduce reduce = Reduce::sum;
  std::int64_t heads = 1, width = 1;  // of the output
  Operand x;                          // by column
  Operand edge;                       // by edge id
  /// CUDA: where the edges' values stand instead, in the order of the plan's work.
  const std::int32_t* edge_places = nullptr;
  Operand row_scale, col_scale;  // one value per row, one per column
  Operand self_scale;            // one value per row, of x's own row
  Operand bias;                  // row_stride 0: one value per head and feature
  bool relu = false;
  bool saturate = false;  // past the range of out's type: its largest value instead of infinity
  Result out;
  NodeId* arg_u = nullptr;  // [rows, heads, width], contiguous; null: not wanted
  EdgeId* arg_e = nullptr;
};

struct SddmmArgs {
  GraphView graph;
  SddmmOp op = SddmmOp::dot;
  Target lhs_target = Target::u, rhs_target = Target::v;
  std::int64_t heads = 1, width = 1;  // of the operands together; dot reduces width to 1
  Operand lhs, rhs;
  Result out;  // by edge id
};

/// Softmax of `scores` over each row, by edge id; `backward` instead computes
/// alpha * (grad - sum over the row of alpha * grad).
struct SoftmaxArgs {
  GraphView graph;
  std::int64_t heads = 1;
  Operand scores;  // forward: the scores; backward: alpha
  Operand grad;    // backward only
  Result out;
};

struct AttentionArgs {
  GraphView graph;
  SampledPlaces sample;  // where given, `graph` is the sample's index space
  Score score = Score::gat;
  std::int64_t heads = 1;
  std::int64_t width = 1;           // features of a value head
  std::int64_t score_width = 1;     // features src and dst are compared over
  Operand value, src;               // by column
  Operand dst;                      // by row
  Operand attn;                     // row_stride 0
  Operand edge;                     // by edge id: a term of what leaky_relu is applied to; not dot
  Operand bias;                     // by edge id
  double slope = 0.2, scale = 1.0;  // rounded to the accumulator type where they are used
  Dropout dropout;                  // of weights, after the softmax
  Result out, row_max, row_sum;
};

/// The edge part of attention's backward, from the statistics the forward kept: the weights alpha and
/// the gradients of the scores, [E, H] by edge id. `score_grad` is that of the value before leaky_relu
/// for gat, of the score itself otherwise.
struct AttentionEdgeArgs {
  AttentionArgs forward;  // out, row_max, row_sum are read here
  Operand out_grad;       // by row
  Result alpha;
  Result score_grad;  // may be absent: then only alpha is written
  Result bias_grad;   // may be absent
};

/// Attention's gradients in one visit of the edges of the transpose.
struct AttentionBackwardArgs {
  AttentionArgs forward;  // out, row_max, row_sum are read here
  GraphView reversed;
  Operand out_grad;             // by row
  Result destinations;          // scratch, four accumulators a row and head
  Result value_grad, src_grad;  // by column
  Result score_grad;            // accumulators, of what gat's leaky_relu is applied to: by edge id, or else where
  bool by_id = true;            // `places` says in the order of the plan's work
  const std::int32_t* places = nullptr;  // null: in that order
  /// By a plan with core=tensor: the edges that score_grad and places are of are the residual's, and the others' score
  /// gradients are added up by column of a tile, f32 [heads, tiles, 64].
  Result column_sums;
};

/// out[v] = sum over u -> v of factor * f(col[u] + row[v] + edge), a head at a time: f is leaky_relu itself, or
/// attn times its derivative. GATv2's gradients.
struct LeakyArgs {
  GraphView graph;
  std::int64_t heads = 1, width = 1;
  Operand row, col;  // by row, by column
  Operand edge;      // by edge id; may be absent
  Operand attn;      // row_stride 0; derivative only
  Operand factor;    // one value per head, by edge id
  double slope = 0.2;
  bool derivative = false;
  Result out;
};

/// GATv2's gradient of what an edge adds to leaky_relu's argument, by edge id: the gradient of its score times attn
/// times leaky_relu's derivative.
struct AttentionTermArgs {
  AttentionArgs forward;
  Operand score_grad;  // [edges, heads], by edge id
  Result edge_grad;    // [edges, heads, score_width]
};

namespace cpu {

// The fast kernels. Each carves its scratch from `arena`, exactly as src/plan/scratch.hpp sized it.
void spmm(const SpmmArgs& args, const Plan& plan, Arena arena);
void leaky_sum(const LeakyArgs& args, const Plan& plan, Arena arena);
void sddmm(const SddmmArgs& args, const Plan& plan, Arena arena);
void softmax_forward(const SoftmaxArgs& args, const Plan& plan, Arena arena);
void softmax_backward(const SoftmaxArgs& args, const Plan& plan, Arena arena);
void attention_forward(const AttentionArgs& args, const Plan& plan, Arena arena);
void attention_edges(const AttentionEdgeArgs& args, const Plan& plan, Arena arena);
/// Of gat without terms of edges in f32 and f64: the plan is of the transpose, score gradients stand by edge id.
void attention_backward(const AttentionBackwardArgs& args, const Plan& plan, Arena arena);
void attention_terms(const AttentionTermArgs& args, const Plan& plan, Arena arena);

}  // namespace cpu

namespace cuda {

// The kernels of a GPU, put into the context's stream; nothing here allocates or waits. Arguments without a kernel are
// an Error that names what is missing.
WEFT_LAUNCHER(void spmm(const SpmmArgs& args, const Plan& plan, Arena arena, CUstream_st* stream));
WEFT_LAUNCHER(void sddmm(const SddmmArgs& args, const Plan& plan, CUstream_st* stream));
WEFT_LAUNCHER(void softmax_forward(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream));
WEFT_LAUNCHER(void softmax_backward(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream));
WEFT_LAUNCHER(void attention_forward(const AttentionArgs& args, const Plan& plan, Arena arena, CUstream_st* stream));
/// Whether the gradients of these arguments have a kernel that visits each edge once. (gat without terms of edges,
/// whose heads lie evenly in the lanes of the plan's groups; by windows also what keeps_from_windows says.)
WEFT_LAUNCHER(bool has_attention_backward(const AttentionBackwardArgs& args, const Plan& plan));
/// What of these arguments has no kernel by row windows; null: nothing.
WEFT_LAUNCHER(const char* keeps_from_windows(const AttentionBackwardArgs& args));
WEFT_LAUNCHER(void attention_backward(const AttentionBackwardArgs& args, const Plan& plan, Arena arena,
                                      CUstream_st* stream));
/// Behind it, by a plan with core=tensor: dst's gradient from column_sums and the residual's, f32 [rows, heads] (no
/// data: it has no edges).
WEFT_LAUNCHER(void attention_column_gradients(const AttentionBackwardArgs& args, const Plan& plan,
                                              const Operand& residual, const Result& dst_grad, CUstream_st* stream));
/// The weights alone, from the statistics.
WEFT_LAUNCHER(void attention_weights(const AttentionEdgeArgs& args, Device device, CUstream_st* stream));
/// The scores, [edges, heads] by edge id.
WEFT_LAUNCHER(void attention_scores(const AttentionArgs& args, const Result& scores, Device device,
                                    CUstream_st* stream));
/// Multiplies values, [edges, heads], by what dropout makes of them.
WEFT_LAUNCHER(void attention_drop(const AttentionArgs& args, const Result& values, Device device, CUstream_st* stream));
/// score_grad, the gradient of the scores, goes to bias_grad, if that is there, and in gat becomes that of what
/// leaky_relu is applied to.
WEFT_LAUNCHER(void attention_through_leaky(const AttentionEdgeArgs& args, Device device, CUstream_st* stream));
WEFT_LAUNCHER(void leaky_sum(const LeakyArgs& args, const Plan& plan, Arena arena, CUstream_st* stream));
WEFT_LAUNCHER(void attention_terms(const AttentionTermArgs& args, Device device, CUstream_st* stream));

}  // namespace cuda

namespace reference {

// The oracle: plain loops, float64 accumulation, any output dtype. `absolute`, if given, receives
// (f64, shaped like the output) the sum of the absolute values of the terms: what the error bound is
// stated in.
void spmm(const SpmmArgs& args, double* absolute = nullptr);
void leaky_sum(const LeakyArgs& args, double* absolute = nullptr);
void sddmm(const SddmmArgs& args, double* absolute = nullptr);
void softmax_forward(const SoftmaxArgs& args);
void softmax_backward(const SoftmaxArgs& args);
void attention_forward(const AttentionArgs& args, double* absolute = nullptr);
void attention_edges(const AttentionEdgeArgs& args);
void attention_terms(const AttentionTermArgs& args);

}  // namespace reference

}  // namespace weft
