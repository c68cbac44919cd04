// Gradients of spmm. With respect to x: a sum over the transpose, with the degree norms folded in before
// the one rounding. With respect to edge values: one result an edge from both its ends.
#include "kernels/cpu/extremum_backward.hpp"
#include "ops/elementwise.hpp"
#include "ops/spmm_inputs.hpp"

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
  const auto [desc, features] = resolve(context, graph, x, edge, options);
  check_tensor(context, out_grad, "out_grad", graph.num_rows(), "destination", features);
  check_dtype(out_grad, "out_grad", desc.dtype, "as the output of spmm has");
  WEFT_CHECK(
      !options.epilogue.bias.given, invalid_argument,
      "bias is given: spmm_backward covers the aggregation; the gradient of a bias is the column sum of out_grad");
  WEFT_CHECK(!options.epilogue.relu, invalid_argument,
             "relu is set: pass the gradient in front of the ReLU as out_grad, and relu = false");
  return {graph, x, edge, out_grad, options, features, desc.dtype};
}

/// What the gradient of destination v is multiplied by: row_scale[v], over the degree for a mean. Empty: 1.
Tensor destination_scale(const Problem& p) {
  const ConstTensorView scale = p.options.epilogue.row_scale;
  if (p.options.reduce != Reduce::mean && !scale.given) return {};
  Tensor out = Tensor::empty(Shape(p.graph.num_rows()), accumulator(p.dtype), "degree norms");
  with_floating(out.dtype(), "scale", [&](auto tag) {
    using Acc = AccumulatorOf<typename decltype(tag)::type>;
    Acc* to = out.view().as<Acc>();
    const auto offsets = p.graph.offsets();
    for (std::int64_t v = 0; v < p.graph.num_rows(); ++v) {
      const auto degree =
          static_cast<Acc>(offsets[static_cast<std::size_t>(v) + 1] - offsets[static_cast<std::size_t>(v)]);
      to[v] = (scale.given ? scale.as<Acc>()[v] : Acc{1}) /
              (p.options.reduce == Reduce::mean && degree > 0 ? degree : Acc{1});
    }
  });
  return out;
}

Tensor x_gradient(Context& context, const Problem& p, const Tensor& destinations) {
  SpmmOptions options;
  options.op = p.options.op == SpmmOp::u_mul_e || p.options.op == SpmmOp::u_div_e ? p.options.op : SpmmOp::copy_u;
  if (destinations) options.epilogue.col_scale = destinations;
  options.epilogue.row_scale = p.options.epilogue.col_scale;
  const ConstTensorView edge = options.op == SpmmOp::copy_u ? ConstTensorView{} : p.edge;
  const Features wanted = Features::of(p.x.shape);
  const Graph& reversed = p.graph.transpose();
  if (wanted.same_size(p.features)) {
    Tensor grad = spmm(context, reversed, p.out_grad, edge, options);
    return grad.shape() == p.x.shape ? std::move(grad) : reduce_to(context, grad, wanted, p.dtype);
  }
  const OpDesc desc{OpKind::spmm, p.dtype, p.features.heads, p.features.width, Reduce::sum, edge.given};
  const Plan plan = make_plan(context, reversed, desc);
  context.reserve(plan.workspace_bytes);
  Tensor wide = Tensor::empty(p.features.with_rows(p.graph.num_cols()), accumulator(p.dtype), "the gradient of x");
  spmm(context, plan, reversed, p.out_grad, edge, wide, options);
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
      with_floating(acc, "gradient", [&](auto tag) {
        using Acc = AccumulatorOf<typename decltype(tag)::type>;
        const auto add = part.span<Acc>();
        const auto to = sum.span<Acc>();
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += add[i];
      });
    }
  }
  return sum;
}

Tensor edge_gradient(Context& context, const Problem& p, const Tensor& destinations) {
  const Features wanted = Features::of(p.edge.shape);
  const Tensor grad = widened(context, p.out_grad, destinations ? destinations.view() : ConstTensorView{});
  const ConstTensorView sources = p.options.epilogue.col_scale;
  Tensor result;
  if (p.options.op == SpmmOp::u_mul_e || p.options.op == SpmmOp::u_div_e) {
    result = products(context, p, widened(context, p.x, sources), grad);
    if (p.options.op == SpmmOp::u_div_e) {  // d(x / e) / de = -x / e^2
      divide_in_place(context, result, p.edge);
      divide_in_place(context, result, p.edge);
      scale_in_place(context, result, -1);
    }
  } else {  // the edge's value enters as it is: its gradient is that of its destination
    const Tensor narrow = reduce_to(context, grad, wanted, grad.dtype());
    SddmmOptions options;
    options.op = sources.given ? SddmmOp::mul : SddmmOp::copy_rhs;
    result = sddmm(context, p.graph, sources, narrow, options);
    if (p.options.op == SpmmOp::u_sub_e) scale_in_place(context, result, -1);
  }
  return reduce_to(context, result, wanted, p.edge.dtype);
}

/// The gradient of `input`, x or edge, of a max or min; `over` is the graph whose rows `kernel` gathers.
Tensor extremum_gradient(Context& context, const Problem& p, const Tensor& destinations, const Graph& over,
                         ConstTensorView input, std::string_view what,
                         void (*kernel)(const ExtremumBackwardArgs&, const Plan&, Arena)) {
  const Plan plan = make_plan(context, over, extremum_backward_desc(p.features.heads, p.features.width));
  context.reserve(plan.workspace_bytes);
  Tensor gradient = Tensor::empty(input.shape, input.dtype, what);
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
  kernel(args, plan, context.arena());
  return gradient;
}

}  // namespace

SpmmGradients spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                            ConstTensorView out_grad, const SpmmOptions& options, WantGradients want) {
  check_cpu(context, "spmm_backward");
  const Problem p = resolve_backward(context, graph, x, edge, out_grad, options);
  const bool wants_x = want.x && uses_node(options.op), wants_edge = want.edge && uses_edge(options.op);
  const Tensor destinations = destination_scale(p);
  SpmmGradients gradients;
  if (options.reduce == Reduce::max || options.reduce == Reduce::min) {
    WEFT_CHECK(options.arg_e.given, invalid_argument,
               "arg_e is missing: the backward of {} needs the winners the forward returned", name(options.reduce));
    if (wants_x)
      gradients.x = extremum_gradient(context, p, destinations, graph.transpose(), x, "the gradient of x",
                                      &cpu::extremum_x_gradient);
    if (wants_edge)
      gradients.edge = extremum_gradient(context, p, destinations, graph, edge, "the gradient of edge",
                                         &cpu::extremum_edge_gradient);
    return gradients;
  }
  if (wants_x) gradients.x = x_gradient(context, p, destinations);
  if (wants_edge) gradients.edge = edge_gradient(context, p, destinations);
  return gradients;
}

}  // namespace weft
