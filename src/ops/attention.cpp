#include <cmath>

#include "core/expected_runs.hpp"
#include "core/operator_timer.hpp"
#include "ops/attention_inputs.hpp"
#include "ops/attention_widened.hpp"
#include "ops/finite.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

bool scores_fit_windows(const AttentionInputs& in, const Features& score) {
  const auto scale = static_cast<float>(in.scale);  // the tensor-core kernels use f32
  switch (in.score) {
    case Score::gat: return in.slope >= 0 && in.slope <= 1;
    case Score::dot: return score_depth_fits_windows(score.width) && scale > 0 && std::isfinite(scale);
    default: return false;
  }
}

}  // namespace

AttentionShape resolve(const Context& context, const Graph& graph, const AttentionInputs& in) {
  check_enum(in.score, Score::dot, "score");
  check_tensor(context, in.value, "value", graph.num_cols(), "source node");
  check_tensor(context, in.src, "src", graph.num_cols(), "source node");
  check_tensor(context, in.dst, "dst", graph.num_rows(), "destination node");
  const Dtype dtype = in.value.dtype;
  check_dtype(in.src, "src", dtype, "as value has");
  check_dtype(in.dst, "dst", dtype, "as value has");
  AttentionShape shape;
  shape.value = Features::of(in.value.shape);
  shape.score = Features::of(in.src.shape);
  WEFT_CHECK(shape.score.heads == shape.value.heads, invalid_argument,
             "src has shape {} and value {}: expected the same number of heads", to_string(in.src.shape),
             to_string(in.value.shape));
  WEFT_CHECK(Features::of(in.dst.shape).same_size(shape.score), invalid_argument,
             "dst has shape {}: expected the heads and width of src, {}", to_string(in.dst.shape),
             to_string(in.src.shape));
  WEFT_CHECK(in.score != Score::gat || shape.score.width == 1, invalid_argument,
             "src has shape {}: gat takes one value per head, [nodes, heads, 1] (per_head() makes it so)",
             to_string(in.src.shape));
  if (in.score == Score::gatv2) {
    check_tensor(context, in.attn, "attn", 1, "layer ([1, heads, width])", shape.score);
    check_dtype(in.attn, "attn", dtype, "as value has");
  } else {
    WEFT_CHECK(!in.attn.given, invalid_argument, "attn is given, but only gatv2 reads it: score is {}", name(in.score));
  }
  if (in.edge.given) {
    WEFT_CHECK(
        in.score != Score::dot, invalid_argument,
        "edge is given, but dot has no leaky_relu to add it in: leave it out, or give a term of the score as bias");
    check_tensor(context, in.edge, "edge", graph.num_edges(), "edge", shape.score);
    check_dtype(in.edge, "edge", dtype, "as value has");
  }
  if (in.bias.given) {
    check_tensor(context, in.bias, "bias", graph.num_edges(), "edge", Features{shape.value.heads, 1, 3});
    WEFT_CHECK(in.bias.dtype == dtype || in.bias.dtype == accumulator(dtype), invalid_argument,
               "bias has dtype {}: expected {} or {}", name(in.bias.dtype), name(dtype), name(accumulator(dtype)));
  }
  WEFT_CHECK(in.dropout >= 0 && in.dropout < 1, invalid_argument,
             "dropout is {}: expected a probability in [0, 1); 0 drops nothing", in.dropout);
  if (in.step.given) {
    WEFT_CHECK(in.step.dtype == Dtype::i64 && in.step.shape.size() == 1 && in.step.data != nullptr, invalid_argument,
               "step is {} {}: expected one number, i64 [1]", name(in.step.dtype), to_string(in.step.shape));
    WEFT_CHECK(in.step.device == context.device(), invalid_argument, "step is on {}: expected {}, where attention runs",
               to_string(in.step.device), to_string(context.device()));
  }
  shape.desc = {OpKind::attention, dtype, shape.value.heads, shape.value.width, Reduce::sum, true};
  shape.desc.widens = in.score == Score::gat;
  shape.desc.fits_windows = !in.edge.given && !in.bias.given && in.dropout == 0 && scores_fit_windows(in, shape.score);
  if (in.sample) {
    validate(*in.sample);
    shape.desc.sample_width = in.sample->width;
  }
  return shape;
}

AttentionArgs arguments(const Graph& graph, const AttentionInputs& in, const AttentionShape& shape) {
  AttentionArgs args;
  args.graph = graph.view();
  args.score = in.score;
  args.heads = shape.value.heads;
  args.width = shape.value.width;
  args.score_width = shape.score.width;
  args.value = operand(in.value, shape.value);
  args.src = operand(in.src, shape.score);
  args.dst = operand(in.dst, shape.score);
  args.attn = operand(in.attn, shape.score);
  args.attn.row_stride = 0;
  args.edge = operand(in.edge, shape.score);
  args.bias = operand(in.bias, Features{shape.value.heads, 1, 3});
  args.slope = in.slope;
  args.scale = in.scale;
  args.dropout = {in.dropout, in.seed, static_cast<const std::int64_t*>(in.step.data)};
  return args;
}

AttentionArgs arguments(const Graph& graph, const AttentionInputs& in, const AttentionShape& shape,
                        const AttentionResultViews& given) {
  const auto readable = [](ConstTensorView tensor) {
    return Result{const_cast<void*>(tensor.data), tensor.dtype, tensor.ld};
  };
  AttentionArgs args = arguments(graph, in, shape);
  args.out = readable(given.out);
  args.row_max = readable(given.row_max);
  args.row_sum = readable(given.row_sum);
  return args;
}

OpDesc score_sums(const AttentionShape& shape) {
  return {OpKind::spmm, accumulator(shape.desc.dtype), shape.value.heads, 1, Reduce::sum, true};
}

void check_results(const Context& context, const Graph& graph, const AttentionShape& shape, ConstTensorView out,
                   ConstTensorView row_max, ConstTensorView row_sum) {
  check_tensor(context, out, "out", graph.num_rows(), "destination node", shape.value);
  check_out_dtype(out, shape.desc.dtype);
  const Features heads{shape.value.heads, 1, 3};
  check_tensor(context, row_max, "row_max", graph.num_rows(), "destination node", heads);
  check_tensor(context, row_sum, "row_sum", graph.num_rows(), "destination node", heads);
  check_dtype(row_max, "row_max", accumulator(shape.desc.dtype), "the type scores are accumulated in");
  check_dtype(row_sum, "row_sum", accumulator(shape.desc.dtype), "the type scores are accumulated in");
}

void attention(Context& context, const Plan& plan, const Graph& graph, const AttentionInputs& in, TensorView out,
               TensorView row_max, TensorView row_sum) {
  const TimedOperator timed(context, "attention");
  const AttentionShape shape = resolve(context, graph, in);
  check_plan(context, plan, graph.identity(), shape.desc);
  check_results(context, graph, shape, out, row_max, row_sum);
  check_apart(
      {{out, "out"}, {row_max, "row_max"}, {row_sum, "row_sum"}},
      {{in.value, "value"}, {in.src, "src"}, {in.dst, "dst"}, {in.edge, "edge"}, {in.bias, "bias"}, {in.attn, "attn"}});
  AttentionArgs args = arguments(graph, in, shape);
  args.graph = view_by(plan, graph);
  args.sample = places_by(plan, graph, in.sample, in.edge.given || in.bias.given || in.dropout > 0);
  args.out = result(out);
  args.row_max = result(row_max);
  args.row_sum = result(row_sum);
  if (context.device().kind == DeviceKind::cpu) {
    cpu::attention_forward(args, plan, context.arena());
  } else if (plan.cuda().head_width > 0) {
    run_widened(context, plan, args, in.value, out);
  } else {
    cuda::attention_forward(args, plan, context.arena(), context.stream());
  }
  check_result(context, out, "attention");
}

AttentionResult attention(Context& context, const Graph& graph, const AttentionInputs& inputs) {
  const AttentionShape shape = resolve(context, graph, inputs);
  const ExpectedRuns once(context, 1);
  const Plan plan = make_plan(context, graph, shape.desc);
  context.reserve(plan.workspace_bytes);
  const Shape statistics(graph.num_rows(), shape.value.heads, 1);
  const Dtype acc = accumulator(shape.desc.dtype);
  AttentionResult r;
  const auto empty = [&](const Shape& of, Dtype dtype, const char* what) {
    return Tensor::empty(of, dtype, what, context.device(), context.stream());
  };
  r.out = empty(shape.value.with_rows(graph.num_rows()), shape.desc.dtype, "the output of attention");
  r.row_max = empty(statistics, acc, "the row maxima of attention");
  r.row_sum = empty(statistics, acc, "the row sums of attention");
  attention(context, plan, graph, inputs, r.out, r.row_max, r.row_sum);
  return r;
}

namespace {

/// Checks the inputs of attention_weights.
AttentionShape resolve_weights(const Context& context, const Graph& graph, const AttentionInputs& inputs,
                               const AttentionResultViews& given) {
  check_unsampled(inputs.sample, "attention_weights");
  const AttentionShape shape = resolve(context, graph, inputs);
  check_results(context, graph, shape, given.out, given.row_max, given.row_sum);
  return shape;
}

}  // namespace

void attention_weights(Context& context, const Plan& plan, const Graph& graph, const AttentionInputs& inputs,
                       const AttentionResultViews& given, TensorView into) {
  const TimedOperator timed(context, "attention weights");
  const AttentionShape shape = resolve_weights(context, graph, inputs, given);
  check_plan(context, plan, graph.identity(), shape.desc);
  check_tensor(context, into, "into", graph.num_edges(), "edge", Features{shape.value.heads, 1, 3});
  check_dtype(into, "into", shape.desc.dtype, "as value has");
  check_apart({{into, "into"}}, {{inputs.src, "src"},
                                 {inputs.dst, "dst"},
                                 {inputs.attn, "attn"},
                                 {inputs.edge, "edge"},
                                 {inputs.bias, "bias"},
                                 {given.row_max, "row_max"},
                                 {given.row_sum, "row_sum"}});
  AttentionEdgeArgs args;
  args.forward = arguments(graph, inputs, shape, given);
  args.alpha = result(into);
  if (context.device().kind == DeviceKind::cuda) {
    cuda::attention_weights(args, context.device(), context.stream());
  } else {
    cpu::attention_edges(args, plan, context.arena());
  }
  check_result(context, into, "attention_weights");
}

Tensor attention_weights(Context& context, const Graph& graph, const AttentionInputs& inputs,
                         const AttentionResultViews& given) {
  const AttentionShape shape = resolve_weights(context, graph, inputs, given);
  const ExpectedRuns once(context, 1);
  const Plan plan = make_plan(context, graph, shape.desc);
  context.reserve(plan.workspace_bytes);
  Tensor alpha = Tensor::empty(Shape(graph.num_edges(), shape.value.heads, 1), shape.desc.dtype, "attention weights",
                               context.device(), context.stream());
  attention_weights(context, plan, graph, inputs, given, alpha);
  return alpha;
}

}  // namespace weft
