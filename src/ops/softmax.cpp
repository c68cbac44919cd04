#include "core/operator_timer.hpp"
#include "ops/finite.hpp"
#include "ops/operands.hpp"

namespace weft {
namespace {

OpDesc describe(const Context& context, const Graph& graph, ConstTensorView tensor, std::string_view name) {
  check_tensor(context, tensor, name, graph.num_edges(), "edge");
  WEFT_CHECK(tensor.shape.width == 1, invalid_argument,
             "{} has shape {}: expected one value per edge, or [edges, heads, 1] (per_head() makes it so)", name,
             to_string(tensor.shape));
  WEFT_CHECK(context.device().kind != DeviceKind::cuda || tensor.shape.heads < (std::int64_t{1} << 16), unsupported,
             "{} has {} heads: expected fewer than 65536 on CUDA; use the cpu device", name, tensor.shape.heads);
  return {OpKind::softmax, tensor.dtype, tensor.shape.heads, 1, Reduce::sum, true};
}

SoftmaxArgs arguments(const Graph& graph, ConstTensorView scores, TensorView out) {
  const Features features = Features::of(scores.shape);
  SoftmaxArgs args;
  args.graph = graph.view();
  args.heads = features.heads;
  args.scores = operand(scores, features);
  args.out = result(out);
  return args;
}

void check_out(const Context& context, const Graph& graph, ConstTensorView scores, TensorView out) {
  check_tensor(context, out, "out", graph.num_edges(), "edge", Features::of(scores.shape));
  check_dtype(out, "out", scores.dtype, "as the input has");
}

OpDesc describe_backward(const Context& context, const Graph& graph, ConstTensorView alpha, ConstTensorView grad) {
  const OpDesc desc = describe(context, graph, alpha, "alpha");
  check_tensor(context, grad, "alpha_grad", graph.num_edges(), "edge", Features::of(alpha.shape));
  check_dtype(grad, "alpha_grad", alpha.dtype, "as alpha has");
  return desc;
}

}  // namespace

void edge_softmax(Context& context, const Plan& plan, const Graph& graph, ConstTensorView scores, TensorView out) {
  const TimedOperator timed(context, "edge softmax");
  const OpDesc desc = describe(context, graph, scores, "scores");
  check_plan(context, plan, graph.identity(), desc);
  check_out(context, graph, scores, out);
  if (out.data != scores.data || out.ld != scores.ld)
    check_apart({{out, "out"}}, {{scores, "scores"}});  // in place is allowed
  const SoftmaxArgs args = arguments(graph, scores, out);
  if (context.device().kind == DeviceKind::cuda) {
    cuda::softmax_forward(args, plan, context.arena(), context.stream());
  } else {
    cpu::softmax_forward(args, plan, context.arena());
  }
  check_result(context, out, "edge_softmax");
}

Tensor edge_softmax(Context& context, const Graph& graph, ConstTensorView scores) {
  const Plan plan = make_plan(context, graph, describe(context, graph, scores, "scores"));
  context.reserve(plan.workspace_bytes);
  Tensor out =
      Tensor::empty(scores.shape, scores.dtype, "the output of edge_softmax", context.device(), context.stream());
  edge_softmax(context, plan, graph, scores, out);
  return out;
}

Tensor edge_softmax_backward(Context& context, const Graph& graph, ConstTensorView alpha, ConstTensorView alpha_grad) {
  const Plan plan = make_plan(context, graph, describe_backward(context, graph, alpha, alpha_grad));
  context.reserve(plan.workspace_bytes);
  Tensor out =
      Tensor::empty(alpha.shape, alpha.dtype, "the gradient of edge_softmax", context.device(), context.stream());
  edge_softmax_backward(context, plan, graph, alpha, alpha_grad, out);
  return out;
}

void edge_softmax_backward(Context& context, const Plan& plan, const Graph& graph, ConstTensorView alpha,
                           ConstTensorView alpha_grad, TensorView into) {
  const TimedOperator timed(context, "edge softmax backward");
  check_plan(context, plan, graph.identity(), describe_backward(context, graph, alpha, alpha_grad));
  check_tensor(context, into, "into", graph.num_edges(), "edge", Features::of(alpha.shape));
  check_dtype(into, "into", alpha.dtype, "as alpha has");
  check_apart({{into, "into"}}, {{alpha, "alpha"}, {alpha_grad, "alpha_grad"}});
  SoftmaxArgs args = arguments(graph, alpha, into);
  args.grad = operand(alpha_grad, Features::of(alpha.shape));
  if (context.device().kind == DeviceKind::cuda) {
    cuda::softmax_backward(args, plan, context.arena(), context.stream());
  } else {
    cpu::softmax_backward(args, plan, context.arena());
  }
  check_result(context, into, "edge_softmax_backward");
}

}  // namespace weft
