// The operators. Each has two forms: a short form plans, allocates and returns its result; a planned form only runs,
// allocates nothing and writes to the caller's memory.
//
// Shapes: node tensors are [N], [N, F] or [N, H, F]; edge tensors are [E], [E, F] or [E, H, F], indexed by edge id. A
// trailing dimension of 1 broadcasts, as in NumPy (one scalar per head is [E, H, 1]).
// Rows without edges give 0 for every reducer; a softmax over nothing gives 0. max and min propagate NaN.
// f16, bf16 and f32 accumulate in f32, f64 in f64; results are rounded once at the end.
// Results are bitwise the same from run to run: on a CPU for any number of threads and any plan of one OpDesc, on a GPU
// for the same plan (except with flush=atomic, which is used only on request).
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
/// all of it before the single rounding. (A CPU may round col_scale * x of f32 and f64 first, see
/// OpDesc::scales_sources.) A result past the range of out's type (65504 for f16) becomes infinity, or the type's
/// largest value with `saturate`; NaN stays NaN.
struct Epilogue {
  ConstTensorView row_scale = {};  // [num_rows], f32 (f64 for f64 storage)
  ConstTensorView col_scale = {};  // [num_cols], f32 (f64 for f64 storage)
  /// The diagonal of the matrix, [num_rows], f32 (f64 for f64 storage): self-loops without edges. For sums and means
  /// over square graphs, with an op that reads x and an x that has all features of the output.
  ConstTensorView self_scale = {};
  ConstTensorView bias = {};  // [heads * width], any floating dtype
  bool relu = false;
  bool saturate = false;
};

struct SpmmOptions {
  SpmmOp op = SpmmOp::u_mul_e;
  Reduce reduce = Reduce::sum;
  Epilogue epilogue = {};
  /// Outputs for max and min, if given: the source node (i32) and the edge id (i64) that won each output element; -1 in
  /// rows without edges. Of equal messages the first stored edge wins.
  TensorView arg_u = {}, arg_e = {};
  /// Rows reduce only the edges that the sample keeps. A CPU finds them a few at a time during the run; a GPU writes
  /// them to the workspace in a pass before it (4 bytes per kept edge, or 12 for max, min and edge values, and one
  /// value per row). Edge values are still indexed by the whole graph's ids; of equal messages the first in the order
  /// of the choice wins. A CUDA graph replays the step that it was captured with. The plan's `sample_width` must equal
  /// the sample's. Gradients take no sample: compute them over the graph from sample_edges(), which is also better for
  /// many sums over the same sample.
  std::optional<EdgeSample> sample = {};
};

Tensor spmm(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge = {},
            const SpmmOptions& options = {});
void spmm(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
          TensorView out, const SpmmOptions& options = {});
/// The sum of messages with one feature: y[v] = sum of edge * x[u], or of x[u] without edge values.
Tensor spmv(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge = {});
void spmv(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
          TensorView out);

/// Gradients of spmm without an epilogue, except that sum and mean may have col_scale, row_scale and self_scale.
/// Gradients that are not wanted are empty tensors.
struct SpmmGradients {
  Tensor x, edge;
};
struct WantGradients {
  bool x = true, edge = true;
};
/// `out_grad` is the gradient of the output; max and min need `arg_e` from the forward.
SpmmGradients spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                            ConstTensorView out_grad, const SpmmOptions& options, WantGradients want = {});

/// A plan of spmm's backward on one graph.
struct SpmmBackwardPlan {
  Plan x;                       // over the transpose of the graph
  Plan edge;                    // over the graph
  SpmmOp op = SpmmOp::u_mul_e;  // the forward's
  Reduce reduce = Reduce::sum;
  WantGradients want;               // the gradients that it computes: those wanted of tensors that the op reads
  std::size_t workspace_bytes = 0;  // exact
};
/// Plans for `x`, `edge` and the scales in `options`, or other tensors of the same shapes and dtypes; their memory is
/// not read. `arg_e` is not needed yet.
SpmmBackwardPlan plan_spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                                    const SpmmOptions& options, WantGradients want = {});
/// Outputs with the shapes and dtypes of their inputs; gradients that the plan does not compute are left out.
struct SpmmGradientViews {
  TensorView x, edge;
};
/// Allocates nothing, so it can be captured in a CUDA graph. `x` is read only for max and min, and for edge gradients
/// with x as a factor: otherwise into.x may be the same memory. Likewise into.edge may be the memory of `edge` for sums
/// and means whose op does not multiply or divide by it.
void spmm_backward(Context& context, const SpmmBackwardPlan& plan, const Graph& graph, ConstTensorView x,
                   ConstTensorView edge, ConstTensorView out_grad, const SpmmOptions& options,
                   const SpmmGradientViews& into);

// ---- SDDMM -----------------------------------------------------------------------------------

struct SddmmOptions {
  SddmmOp op = SddmmOp::dot;
  Target lhs = Target::u;
  Target rhs = Target::v;
};

/// One result per edge, by edge id: [E] or [E, H, 1] for dot, the broadcast shape for the others.
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
/// A plan of sddmm's backward on one graph.
struct SddmmBackwardPlan {
  struct OfOperand {
    Plan edges;  // of the operand's gradient per edge, if the op's derivative reads an operand
    Plan sums;   // of these gradients over the graph or its transpose, if the operand is a node tensor
  };
  OfOperand lhs, rhs;
  SddmmOptions options;             // the forward's
  WantSddmmGradients want;          // the gradients that it computes: those wanted of operands that the op reads
  std::size_t workspace_bytes = 0;  // exact
};
/// Plans for `lhs` and `rhs`, or other tensors of the same shapes and dtypes; their memory is not read.
SddmmBackwardPlan plan_sddmm_backward(const Context& context, const Graph& graph, ConstTensorView lhs,
                                      ConstTensorView rhs, const SddmmOptions& options, WantSddmmGradients want = {});
/// Outputs with the shapes and dtypes of their operands; gradients that the plan does not compute are left out.
struct SddmmGradientViews {
  TensorView lhs, rhs;
};
/// Allocates nothing, so it can be captured in a CUDA graph.
void sddmm_backward(Context& context, const SddmmBackwardPlan& plan, const Graph& graph, ConstTensorView lhs,
                    ConstTensorView rhs, ConstTensorView out_grad, const SddmmGradientViews& into);

// ---- Softmax and attention -------------------------------------------------------------------

/// Softmax over the incoming edges of each destination, per head; scores [E] or [E, H, 1]. A score of -inf masks an
/// edge; if all of a row's edges are masked, the result is 0.
Tensor edge_softmax(Context& context, const Graph& graph, ConstTensorView scores);
void edge_softmax(Context& context, const Plan& plan, const Graph& graph, ConstTensorView scores, TensorView out);
/// The gradient of scores, from the forward's result and its gradient; the planned form takes the forward's plan.
Tensor edge_softmax_backward(Context& context, const Graph& graph, ConstTensorView alpha, ConstTensorView alpha_grad);
void edge_softmax_backward(Context& context, const Plan& plan, const Graph& graph, ConstTensorView alpha,
                           ConstTensorView alpha_grad, TensorView into);

/// Per head, out[v] = sum over u -> v of softmax(score(u, v)) * value[u].
///   gat:   leaky_relu(src[u] + dst[v] + edge)          src, dst [N, H, 1]
///   gatv2: attn . leaky_relu(src[u] + dst[v] + edge)   src, dst [N, H, D], attn [H, D]
///   dot:   scale * (src[u] . dst[v])                   src (keys), dst (queries) [N, H, D]
struct AttentionInputs {
  Score score = Score::gat;
  ConstTensorView value = {};  // [num_cols, H, F]
  ConstTensorView src = {};    // at the source
  ConstTensorView dst = {};    // at the destination
  ConstTensorView attn = {};   // gatv2 only: [1, H, D]
  ConstTensorView edge = {};   // optional, gat [E, H, 1] and gatv2 [E, H, D] only: added inside leaky_relu
  ConstTensorView bias = {};   // optional, added to the score: [E, H, 1]
  double slope = 0.2;          // of leaky_relu
  double scale = 1.0;          // dot only
  /// The probability, in [0, 1), with which a weight is dropped after the softmax; the others are multiplied by
  /// 1 / (1 - dropout). `seed`, `step`, edge id and head alone decide which: the backward needs the same values.
  float dropout = 0.0f;
  std::uint64_t seed = 0;
  /// i64 [1], read when the kernel runs: a CUDA graph that changes it drops other edges in every replay. None: 0.
  ConstTensorView step = {};
  /// As in SpmmOptions, with 12 bytes per kept edge: the softmax is over the kept edges, and `norm` is ignored.
  std::optional<EdgeSample> sample = {};
};

struct AttentionResult {
  Tensor out;      // [num_rows, H, F]; in the planned form, f16 and bf16 inputs may have an f32 out
  Tensor row_max;  // [num_rows, H, 1]: the largest score (on a GPU, a value near it), and
  Tensor row_sum;  //   the sum of exp(score - row_max): statistics for the backward
};
/// The same in the caller's memory, as an input of the backward.
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
/// The attention weights [E, H, 1] before dropout, for inspection.
Tensor attention_weights(Context& context, const Graph& graph, const AttentionInputs& inputs,
                         const AttentionResultViews& result);
/// The planned form; it takes a plan of attention's forward.
void attention_weights(Context& context, const Plan& plan, const Graph& graph, const AttentionInputs& inputs,
                       const AttentionResultViews& result, TensorView into);

struct AttentionGradients {
  Tensor value, src, dst;
  Tensor attn;  // gatv2
  Tensor bias;  // if a bias was given
  Tensor edge;  // if an edge term was given
};
/// On a GPU, if one kernel computes all gradients (see AttentionBackwardPlan), the gradients of scores take a row's
/// mean from `result.out`: for f16 and bf16 they have the error of its rounding, 2^-11 or 2^-9 of |out . out_grad|,
/// unless `result.out` is f32.
AttentionGradients attention_backward(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                      const AttentionResultViews& result, ConstTensorView out_grad);

struct ComposedAttention;  // src/ops: the plans of the operators that the gradients are composed of
class EdgePlaces;          // src/graph: positions of edge values between two edge orders

/// A plan of attention's backward on one graph. With `at_once` one kernel reads each edge once for all gradients. gat
/// without `edge` and `bias` has it: on a CPU in f32 and f64, on a GPU if its heads divide evenly among the lanes of
/// `gather`. If `gather` is by row windows, tensor cores process the edges of their tiles, with dst's gradients as
/// partial sums per column, and `gather`'s residual plan the other edges. All other arguments take a composition of
/// operators.
struct AttentionBackwardPlan {
  Plan gather;  // over the transpose of the graph; unless at_once, only the graph, device and operator
  Plan sum;     // at_once only: for dst's gradient, sums score gradients over the graph, or the windows' residual
  /// Where score gradients are stored between the two plans; null: by edge id, with bitwise the same results. The graph
  /// caches it. It is computed in the graph's stream and ready in the stream of the planning context: contexts with
  /// other streams must wait for that.
  std::shared_ptr<const EdgePlaces> places;
  bool at_once = false;
  Score score = Score::gat;     // the forward's
  std::int64_t head_width = 0;  // as in CudaPlan; if set, the plan is only for heads of `width`
  std::int64_t width = 0;
  std::shared_ptr<const ComposedAttention> composed;  // unless at_once
  std::size_t workspace_bytes = 0;                    // exact
};
/// Plans for `inputs`, or others with the same shapes, strides, alignment and use of dropout; values do not matter. The
/// policy applies to `gather` if the backward runs at once, and is not used otherwise. A plan by row windows refuses
/// dropout and rows that are not aligned (to 16 bytes, value's gradient to 4).
AttentionBackwardPlan plan_attention_backward(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                              const Policy& policy = {});
/// Outputs with the shapes and dtypes of their inputs: attn for gatv2 only, bias and edge if they were given.
struct AttentionGradientViews {
  TensorView value, src, dst, attn, bias, edge;
};
/// Allocates nothing, so it can be captured in a CUDA graph.
void attention_backward(Context& context, const AttentionBackwardPlan& plan, const Graph& graph,
                        const AttentionInputs& inputs, const AttentionResultViews& result, ConstTensorView out_grad,
                        const AttentionGradientViews& into);

// ---- Segments --------------------------------------------------------------------------------

/// Reduces rows offsets[i] ... offsets[i + 1] - 1 of x to row i. With a GPU context the offsets are copied to the GPU.
Tensor segment_reduce(Context& context, std::span<const EdgeId> offsets, ConstTensorView x, Reduce reduce);
Tensor segment_reduce_backward(Context& context, std::span<const EdgeId> offsets, ConstTensorView x,
                               ConstTensorView out_grad, Reduce reduce);
/// The same with offsets (i64) on the context's device. On a GPU checking them waits for the device; `trusted` offsets
/// must ascend from 0 to the number of rows of x.
Tensor segment_reduce(Context& context, ConstTensorView offsets, ConstTensorView x, Reduce reduce,
                      Validate validate = Validate::full);
Tensor segment_reduce_backward(Context& context, ConstTensorView offsets, ConstTensorView x, ConstTensorView out_grad,
                               Reduce reduce, Validate validate = Validate::full);
/// The same into the caller's memory, [segments, ..] and shaped like x; other memory is allocated for the call.
void segment_reduce(Context& context, ConstTensorView offsets, ConstTensorView x, Reduce reduce, TensorView into,
                    Validate validate = Validate::full);
void segment_reduce_backward(Context& context, ConstTensorView offsets, ConstTensorView x, ConstTensorView out_grad,
                             Reduce reduce, TensorView into, Validate validate = Validate::full);

// ---- Checks ----------------------------------------------------------------------------------

/// Helps to find the sum that became infinite: waits for the context and throws an Error that names the first element
/// of `tensor` that is infinite or NaN, by row and position. With WEFT_CHECK_FINITE=1 in the environment, spmm, spmv,
/// sddmm, edge_softmax, attention, attention_weights and segment_reduce check their outputs this way, and the backward
/// of sddmm, edge_softmax and attention (value, src, dst) their gradients, except during the capture of a CUDA graph,
/// which cannot be waited for.
void check_finite(const Context& context, ConstTensorView tensor, std::string_view name = "tensor");

}  // namespace weft
