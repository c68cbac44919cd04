// Gradients of spmm. With respect to x: a sum over the transpose, with the degree norms folded in before
// the one rounding. With respect to edge values: one result an edge from both its ends. What a message's derivative
// says of the input itself is the same for all that is added up, and so it is applied to the sum.
#include "kernels/extremum_backward.hpp"
#include "kernels/semantics.hpp"
#include "ops/elementwise.hpp"
#include "ops/spmm_inputs.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

struct Problem {
  const Graph& graph;
  ConstTensorView x, edge, out_grad;
  const SpmmOptions& options;
  Features features;
  Dtype dtype;
};

Problem resolve_backward(const Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                         ConstTensorView out_grad, const SpmmOptions& options) {
  check_on_device(context, graph);
  const auto [desc, features] = resolve(context, graph, x, edge, options);
  check_tensor(context, out_grad, "out_grad", graph.num_rows(), "destination", features);
  check_dtype(out_grad, "out_grad", desc.dtype, "as the output of spmm has");
  WEFT_CHECK(
      !options.epilogue.bias.given, invalid_argument,
      "bias is given: spmm_backward covers the aggregation; the gradient of a bias is the column sum of out_grad");
  WEFT_CHECK(!options.epilogue.relu, invalid_argument,
             "relu is set: pass the gradient in front of the ReLU as out_grad, and relu = false");
  WEFT_CHECK(!options.epilogue.saturate, invalid_argument,
             "saturate is set: pass a gradient that is 0 where the output was cut off, and saturate = false");
  return {graph, x, edge, out_grad, options, features, desc.dtype};
}

/// What the gradient of destination v is multiplied by: row_scale[v], over the degree for a mean. Empty: 1.
Tensor destination_scale(const Context& context, const Problem& p) {
  const ConstTensorView scale = p.options.epilogue.row_scale;
  const bool mean = semantics::divides_by_edges(p.options.reduce);
  if (!mean && !scale.given) return {};
  return row_norms(context, p.graph, scale, mean, accumulator(p.dtype));
}

/// The message that takes gradients back along an edge, times edge^power.
SpmmOp times_edge(int power) { return power == 0 ? SpmmOp::copy_u : power > 0 ? SpmmOp::u_mul_e : SpmmOp::u_div_e; }

Tensor x_gradient(Context& context, const Problem& p, const Tensor& destinations) {
  const semantics::Slope slope = semantics::with_meaning(p.options.op, [](auto meaning) {
    constexpr semantics::Slope by_x = decltype(meaning)::by_left;
    static_assert(by_x.right >= -1 && by_x.right <= 1, "no message multiplies by other powers of the edge's value");
    return by_x;
  });
  SpmmOptions options;
  options.op = times_edge(slope.right);
  if (destinations) options.epilogue.col_scale = destinations;
  options.epilogue.row_scale = p.options.epilogue.col_scale;
  const ConstTensorView edge = options.op == SpmmOp::copy_u ? ConstTensorView{} : p.edge;
  const Features wanted = Features::of(p.x.shape);
  const Graph& reversed = p.graph.transpose();
  if (wanted.same_size(p.features) && slope.left == 0) {
    Tensor grad = spmm(context, reversed, p.out_grad, edge, options);
    times_power(context, grad, slope.sign, p.x, 0);
    return grad.shape() == p.x.shape ? std::move(grad) : reduce_to(context, grad, wanted, p.dtype);
  }
  const OpDesc desc{OpKind::spmm, p.dtype, p.features.heads, p.features.width, Reduce::sum, edge.given};
  const Plan plan = make_plan(context, reversed, desc);
  context.reserve(plan.workspace_bytes);
  Tensor wide = Tensor::empty(p.features.with_rows(p.graph.num_cols()), accumulator(p.dtype), "the gradient of x",
                              context.device(), context.stream());
  spmm(context, plan, reversed, p.out_grad, edge, wide, options);
  times_power(context, wide, slope.sign, p.x, slope.left);
  return reduce_to(context, wide, wanted, p.dtype);
}

/// x[u] * out_grad[v] summed over what the edge tensor broadcasts, in the accumulator type.
Tensor products(Context& context, const Problem& p, const Tensor& x, const Tensor& grad) {
  const Features wanted = Features::of(p.edge.shape);
  const Dtype acc = accumulator(p.dtype);
  if (wanted.width == 1) {
    SddmmOptions dot;
    return reduce_to(context, sddmm(context, p.graph, spelled(x), spelled(grad), dot), wanted, acc);
  }
  SddmmOptions mul;
  mul.op = SddmmOp::mul;
  if (wanted.heads == p.features.heads) return sddmm(context, p.graph, x, grad, mul);
  Tensor sum;
  for (std::int64_t h = 0; h < p.features.heads; ++h) {  // heads one by one: nothing of E x H x F is stored
    Tensor part = sddmm(context, p.graph, head_of(x.view(), h), head_of(grad.view(), h), mul);
    if (!sum) {
      sum = std::move(part);
    } else {
      add_in_place(context, sum, part);
    }
  }
  return sum;
}

Tensor edge_gradient(Context& context, const Problem& p, const Tensor& destinations) {
  const semantics::Slope slope = semantics::with_meaning(p.options.op, [](auto meaning) {
    constexpr semantics::Slope by_edge = decltype(meaning)::by_right;
    static_assert(by_edge.left == 0 || by_edge.left == 1, "products() has no other powers of x");
    return by_edge;
  });
  const Features wanted = Features::of(p.edge.shape);
  const Tensor grad = widened(context, p.out_grad, destinations ? destinations.view() : ConstTensorView{});
  const ConstTensorView sources = p.options.epilogue.col_scale;
  Tensor result;
  if (slope.left == 1) {
    result = products(context, p, widened(context, p.x, sources), grad);
  } else {
    const Tensor narrow = reduce_to(context, grad, wanted, grad.dtype());
    SddmmOptions options;
    options.op = sources.given ? SddmmOp::mul : SddmmOp::copy_rhs;
    result = sddmm(context, p.graph, sources, narrow, options);
  }
  times_power(context, result, slope.sign, p.edge, slope.right);
  return reduce_to(context, result, wanted, p.edge.dtype);
}

void run_on_cpu(Context& context, const ExtremumBackwardArgs& args, const Graph& over, bool of_x) {
  const Plan plan = make_plan(context, over, extremum_backward_desc(args.heads, args.width));
  context.reserve(plan.workspace_bytes);
  (of_x ? cpu::extremum_x_gradient : cpu::extremum_edge_gradient)(args, plan, context.arena());
}

void run_on_cuda(Context& context, const ExtremumBackwardArgs& args, bool of_x) {
  if (!of_x) return cuda::extremum_edge_gradient(args, context.device(), context.stream());
  context.reserve(cuda::extremum_workspace(args));
  cuda::extremum_x_gradient(args, context.device(), context.arena(), context.stream());
}

/// The gradient of x, gathered over the transpose, or of edge, over the graph, of a max or min.
Tensor extremum_gradient(Context& context, const Problem& p, const Tensor& destinations, bool of_x) {
  const ConstTensorView input = of_x ? p.x : p.edge;
  const Graph over = of_x ? p.graph.transpose() : p.graph;
  Tensor gradient = Tensor::empty(input.shape, input.dtype, of_x ? "the gradient of x" : "the gradient of edge",
                                  context.device(), context.stream());
  ExtremumBackwardArgs args;
  args.graph = over.view();
  args.op = p.options.op;
  args.heads = p.features.heads;
  args.width = p.features.width;
  args.out_heads = input.shape.heads;
  args.out_width = input.shape.width;
  args.x = operand(p.x, p.features);
  args.edge = operand(p.edge, p.features);
  args.out_grad = operand(p.out_grad, p.features);
  args.row_scale = operand(destinations ? destinations.view() : ConstTensorView{});
  args.col_scale = operand(p.options.epilogue.col_scale);
  args.arg_e = p.options.arg_e.as<EdgeId>();
  args.out = result(gradient);
  if (context.device().kind == DeviceKind::cuda) {
    run_on_cuda(context, args, of_x);
  } else {
    run_on_cpu(context, args, over, of_x);
  }
  return gradient;
}

}  // namespace

SpmmGradients spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                            ConstTensorView out_grad, const SpmmOptions& options, WantGradients want) {
  const Problem p = resolve_backward(context, graph, x, edge, out_grad, options);
  const bool wants_x = want.x && uses_node(options.op), wants_edge = want.edge && uses_edge(options.op);
  const Tensor destinations = destination_scale(context, p);
  SpmmGradients gradients;
  if (is_extremum(options.reduce)) {
    WEFT_CHECK(options.arg_e.given, invalid_argument,
               "arg_e is missing: the backward of {} needs the winners the forward returned", name(options.reduce));
    if (wants_x) gradients.x = extremum_gradient(context, p, destinations, true);
    if (wants_edge) gradients.edge = extremum_gradient(context, p, destinations, false);
    return gradients;
  }
  if (wants_x) gradients.x = x_gradient(context, p, destinations);
  if (wants_edge) gradients.edge = edge_gradient(context, p, destinations);
  return gradients;
}

}  // namespace weft
