// The operators. Each comes twice: a short form that plans, allocates and returns its result, and a
// planned form that only runs: it allocates nothing and writes into memory the caller gives.
//
// Shapes: node tensors are [N], [N, F] or [N, H, F]; edge tensors [E], [E, F], [E, H, F], indexed by
// edge id; a trailing dimension of 1 broadcasts, as in NumPy (one scalar a head is [E, H, 1]).
// Rows without edges give 0 for every reducer; a softmax over nothing gives 0. max and min pass NaN on.
// Storage f16 and bf16 is accumulated in f32, f32 in f32, f64 in f64, and rounded once at the end.
// Results are bitwise the same from run to run: on a CPU for any number of threads and any plan, on a GPU for the same
// plan (flush=atomic, on request only, is the exception).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"
#include "weft/sample.hpp"
#include "weft/tensor.hpp"
#include "weft/types.hpp"

namespace weft {

// ---- SpMM ------------------------------------------------------------------------------------

/// out[v] = relu(row_scale[v] * reduce over u -> v of (col_scale[u] * op(x[u], edge)) + self_scale[v] * x[v] + bias),
/// all of it before the one rounding. A result past the range of out's type (65504 for f16) becomes infinity, or with
/// `saturate` the largest value there is; NaN stays NaN.
struct Epilogue {
  ConstTensorView row_scale = {};  // [num_rows], f32 (f64 for f64 storage)
  ConstTensorView col_scale = {};  // [num_cols], f32 (f64 for f64 storage)
  /// The diagonal of the matrix, [num_rows], f32 (f64 for f64 storage): self-loops without edges. Sums and means over
  /// square graphs, of an op that reads x, where x has all features of the output.
  ConstTensorView self_scale = {};
  ConstTensorView bias = {};  // [heads * width], any floating dtype
  bool relu = false;
  bool saturate = false;
};

struct SpmmOptions {
  SpmmOp op = SpmmOp::u_mul_e;
  Reduce reduce = Reduce::sum;
  Epilogue epilogue = {};
  /// For max and min, if given: which source node (i32) and which edge id (i64) won each output
  /// element; -1 in rows without edges. Of equal messages the first stored edge wins.
  TensorView arg_u = {}, arg_e = {};
  /// Rows reduce only the edges that this keeps, which the operator finds as it runs: a CPU a few at a time, a GPU in a
  /// pass before, into the workspace (4 bytes per kept edge, 12 for max, min and where edges have values, and one value
  /// a row). Edge values stay those of the whole graph; of equal messages the first in the order of the choice wins. A
  /// CUDA graph replays the step it was captured with. A plan's `sample_width` must be the sample's. Gradients do not
  /// take one: they are those over the graph that sample_edges() gives, which is also what to sum many times.
  std::optional<EdgeSample> sample = {};
};

Tensor spmm(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge = {},
            const SpmmOptions& options = {});
void spmm(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
          TensorView out, const SpmmOptions& options = {});
/// Sum of messages with one feature: y[v] = sum of edge * x[u]; without edge values, of x[u].
Tensor spmv(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge = {});
void spmv(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
          TensorView out);

/// Gradients of spmm (without epilogue; sum and mean may carry col_scale, row_scale, self_scale). Tensors that
/// are not wanted are left empty.
struct SpmmGradients {
  Tensor x, edge;
};
struct WantGradients {
  bool x = true, edge = true;
};
/// `out_grad` is the gradient of the output; max and min need the args the forward returned.
SpmmGradients spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                            ConstTensorView out_grad, const SpmmOptions& options, WantGradients want = {});

/// How the backward will run on one graph.
struct SpmmBackwardPlan {
  Plan x;                       // over the transpose of the graph
  Plan edge;                    // over the graph
  SpmmOp op = SpmmOp::u_mul_e;  // that it is for
  Reduce reduce = Reduce::sum;
  WantGradients want;               // those it gives: of what was wanted, what the op reads
  std::size_t workspace_bytes = 0;  // exact
};
/// `x`, `edge` and the scales in `options` are those of the run or others of their kind: shapes and dtypes count,
/// values do not, and no memory is read. Winners are not needed yet.
SpmmBackwardPlan plan_spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                                    const SpmmOptions& options, WantGradients want = {});
/// Shaped and typed like the inputs they belong to; those that the plan does not give are left out.
struct SpmmGradientViews {
  TensorView x, edge;
};
/// Allocates nothing, so that it can be captured in a CUDA graph. Only max and min, and gradients of edge that x is a
/// factor of, read what `x` holds: for the others into.x may lie in its place. So may into.edge in that of `edge`,
/// where sums and means take nothing times or over it.
void spmm_backward(Context& context, const SpmmBackwardPlan& plan, const Graph& graph, ConstTensorView x,
                   ConstTensorView edge, ConstTensorView out_grad, const SpmmOptions& options,
                   const SpmmGradientViews& into);

// ---- SDDMM -----------------------------------------------------------------------------------

struct SddmmOptions {
  SddmmOp op = SddmmOp::dot;
  Target lhs = Target::u;
  Target rhs = Target::v;
};

/// One result per edge, by edge id: dot gives [E] or [E, H, 1], the others the broadcast shape.
Tensor sddmm(Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
             const SddmmOptions& options = {});
void sddmm(Context& context, const Plan& plan, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
           TensorView out, const SddmmOptions& options = {});

struct SddmmGradients {
  Tensor lhs, rhs;
};
SddmmGradients sddmm_backward(Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                              ConstTensorView out_grad, const SddmmOptions& options);

struct WantSddmmGradients {
  bool lhs = true, rhs = true;
};
/// How the backward will run on one graph.
struct SddmmBackwardPlan {
  struct OfOperand {
    Plan edges;  // of what the operand's gradient has for every edge, where the op's derivative reads an operand there
    Plan sums;   // of these over the graph or its transpose, where the operand is a node's
  };
  OfOperand lhs, rhs;
  SddmmOptions options;             // that it is for
  WantSddmmGradients want;          // those it gives: of what was wanted, what the op reads
  std::size_t workspace_bytes = 0;  // exact
};
/// `lhs` and `rhs` are those of the run or others of their kind: shapes and dtypes count, values do not, and no memory
/// is read.
SddmmBackwardPlan plan_sddmm_backward(const Context& context, const Graph& graph, ConstTensorView lhs,
                                      ConstTensorView rhs, const SddmmOptions& options, WantSddmmGradients want = {});
/// Shaped and typed like the operands they belong to; those that the plan does not give are left out.
struct SddmmGradientViews {
  TensorView lhs, rhs;
};
/// Allocates nothing, so that it can be captured in a CUDA graph.
void sddmm_backward(Context& context, const SddmmBackwardPlan& plan, const Graph& graph, ConstTensorView lhs,
                    ConstTensorView rhs, ConstTensorView out_grad, const SddmmGradientViews& into);

// ---- Softmax and attention -------------------------------------------------------------------

/// Softmax over the edges that arrive at each destination, a head at a time; scores [E] or [E, H, 1].
/// -inf masks an edge; where all are masked the result is 0.
Tensor edge_softmax(Context& context, const Graph& graph, ConstTensorView scores);
void edge_softmax(Context& context, const Plan& plan, const Graph& graph, ConstTensorView scores, TensorView out);
/// From the forward's result and its gradient; by a plan of the forward.
Tensor edge_softmax_backward(Context& context, const Graph& graph, ConstTensorView alpha, ConstTensorView alpha_grad);
void edge_softmax_backward(Context& context, const Plan& plan, const Graph& graph, ConstTensorView alpha,
                           ConstTensorView alpha_grad, TensorView into);

/// out[v] = sum over u -> v of softmax(score(u, v)) * value[u], a head at a time.
///   gat:   leaky_relu(src[u] + dst[v] + edge)          src, dst [N, H, 1]
///   gatv2: attn . leaky_relu(src[u] + dst[v] + edge)   src, dst [N, H, D], attn [H, D]
///   dot:   scale * (src[u] . dst[v])                   src (keys), dst (queries) [N, H, D]
struct AttentionInputs {
  Score score = Score::gat;
  ConstTensorView value = {};  // [num_cols, H, F]
  ConstTensorView src = {};    // at the source
  ConstTensorView dst = {};    // at the destination
  ConstTensorView attn = {};   // gatv2 only: [1, H, D]
  ConstTensorView edge = {};   // optional, gat [E, H, 1] and gatv2 [E, H, D] only: a term of leaky_relu's argument
  ConstTensorView bias = {};   // optional, added to the score: [E, H, 1]
  double slope = 0.2;          // of leaky_relu
  double scale = 1.0;          // dot only
  /// Weights are dropped with this probability, in [0, 1), after the softmax, and the others grow by 1 / (1 - dropout).
  /// Which ones follows from `seed`, `step`, edge id and head alone: the backward must be given all as they were.
  float dropout = 0.0f;
  std::uint64_t seed = 0;
  /// i64 [1], read when the kernel runs: a CUDA graph that changes it drops other edges at every replay. None: 0.
  ConstTensorView step = {};
  /// As in SpmmOptions, 12 bytes per kept edge: the softmax is over the kept edges, and `norm` means nothing.
  std::optional<EdgeSample> sample = {};
};

struct AttentionResult {
  Tensor out;      // [num_rows, H, F]; by a plan, f16 and bf16 may give f32
  Tensor row_max;  // [num_rows, H, 1]: the largest score (on a GPU one not far from it), and
  Tensor row_sum;  //   the sum of exp(score - row_max); what the backward recomputes from
};
/// The same in memory of the caller's, as gradients read it.
struct AttentionResultViews {
  ConstTensorView out, row_max, row_sum;

  AttentionResultViews() = default;
  AttentionResultViews(ConstTensorView result, ConstTensorView maxima, ConstTensorView sums)
      : out(result), row_max(maxima), row_sum(sums) {}
  AttentionResultViews(const AttentionResult& result)  // NOLINT: implicit by design
      : out(result.out), row_max(result.row_max), row_sum(result.row_sum) {}
};
AttentionResult attention(Context& context, const Graph& graph, const AttentionInputs& inputs);
void attention(Context& context, const Plan& plan, const Graph& graph, const AttentionInputs& inputs, TensorView out,
               TensorView row_max, TensorView row_sum);
/// The attention weights [E, H, 1] themselves, before dropout, for those who want to look.
Tensor attention_weights(Context& context, const Graph& graph, const AttentionInputs& inputs,
                         const AttentionResultViews& result);
/// By a plan of attention's forward.
void attention_weights(Context& context, const Plan& plan, const Graph& graph, const AttentionInputs& inputs,
                       const AttentionResultViews& result, TensorView into);

struct AttentionGradients {
  Tensor value, src, dst;
  Tensor attn;  // gatv2
  Tensor bias;  // where a bias was given
  Tensor edge;  // where a term of the edge was given
};
/// On a GPU, where one visit of the edges gives all gradients (see AttentionBackwardPlan), those of scores take the
/// mean over a row from `result.out`: of f16 and bf16 they are off by its rounding, 2^-11 or 2^-9 of |out . out_grad|,
/// unless that is f32.
AttentionGradients attention_backward(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                      const AttentionResultViews& result, ConstTensorView out_grad);

struct ComposedAttention;  // src/ops: plans of the operators that gradients are composed of
class EdgePlaces;          // src/graph: where values stand that edges hand on from one order to another

/// How the backward will run on one graph. `at_once`: by one visit of the edges, which gat without `edge` and `bias`
/// has: on a CPU in f32 and f64, on a GPU where its heads lie evenly in the lanes of `gather`. Where `gather` is by row
/// windows, tensor cores visit the edges of their tiles, which leave dst's gradients column by column, and the rest is
/// visited as without them. All other arguments take a composition of operators.
struct AttentionBackwardPlan {
  Plan gather;  // over the transpose of the graph; unless at_once, only whom the plan is for
  Plan sum;  // of score gradients over the graph, of windows over their residual, for that of dst; only where at_once
  /// Of score gradients, between the two; null: by edge id, to the same bits. Kept by the graph, made in the stream the
  /// graph was made in, and ready in that of the context which planned: contexts of other streams must wait for that.
  std::shared_ptr<const EdgePlaces> places;
  bool at_once = false;
  Score score = Score::gat;     // that it is for
  std::int64_t head_width = 0;  // as CudaPlan's; then only for heads of `width`
  std::int64_t width = 0;
  std::shared_ptr<const ComposedAttention> composed;  // unless at_once
  std::size_t workspace_bytes = 0;                    // exact
};
/// `inputs` are those of the run or others of their kind: shapes, strides, alignment and whether there is dropout
/// count, values do not. The policy is for `gather` where the backward runs at once, and for nothing otherwise. A plan
/// by row windows refuses dropout and rows that are not aligned (16 bytes, the gradient of value 4).
AttentionBackwardPlan plan_attention_backward(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                              const Policy& policy = {});
/// Shaped and typed like the inputs they belong to: attn for gatv2 only, bias and edge where they were given.
struct AttentionGradientViews {
  TensorView value, src, dst, attn, bias, edge;
};
/// Allocates nothing, so that it can be captured in a CUDA graph.
void attention_backward(Context& context, const AttentionBackwardPlan& plan, const Graph& graph,
                        const AttentionInputs& inputs, const AttentionResultViews& result, ConstTensorView out_grad,
                        const AttentionGradientViews& into);

// ---- Segments --------------------------------------------------------------------------------

/// Rows offsets[i] ... offsets[i + 1] - 1 of x reduced to row i. Under a context on a GPU the offsets are copied there.
Tensor segment_reduce(Context& context, std::span<const EdgeId> offsets, ConstTensorView x, Reduce reduce);
Tensor segment_reduce_backward(Context& context, std::span<const EdgeId> offsets, ConstTensorView x,
                               ConstTensorView out_grad, Reduce reduce);
/// The same with offsets (i64) where the context runs. On a GPU checking them waits for the device; offsets that are
/// `trusted` must run from 0 to the rows of x and never fall.
Tensor segment_reduce(Context& context, ConstTensorView offsets, ConstTensorView x, Reduce reduce,
                      Validate validate = Validate::full);
Tensor segment_reduce_backward(Context& context, ConstTensorView offsets, ConstTensorView x, ConstTensorView out_grad,
                               Reduce reduce, Validate validate = Validate::full);
/// Into memory of the caller's, [segments, ..] and as x is; what else they need they allocate for the call.
void segment_reduce(Context& context, ConstTensorView offsets, ConstTensorView x, Reduce reduce, TensorView into,
                    Validate validate = Validate::full);
void segment_reduce_backward(Context& context, ConstTensorView offsets, ConstTensorView x, ConstTensorView out_grad,
                             Reduce reduce, TensorView into, Validate validate = Validate::full);

// ---- Checks ----------------------------------------------------------------------------------

/// For whoever looks for the sum that became infinite: waits for the context, and is an Error that names the first
/// element of `tensor` which is infinite or NaN, its row first. With WEFT_CHECK_FINITE=1 in the environment spmm, spmv,
/// sddmm, edge_softmax, attention and segment_reduce check what they write in this way, except while a CUDA graph is
/// captured, which cannot be waited for.
void check_finite(const Context& context, ConstTensorView tensor, std::string_view name = "tensor");

}  // namespace weft
