// Attention's backward from the row statistics of the forward: one pass over the edges recomputes the
// weights and gives the gradients of the scores, [E, H] each; every other gradient is a row sum over the
// graph or its transpose.
#include "ops/attention_backward.hpp"

#include "ops/elementwise.hpp"

namespace weft {
namespace {

struct EdgeGradients {
  Tensor alpha, score, bias;
};

/// On a GPU: weights, products of gradients and values, and the softmax's own backward, [E, H] each.
void on_cuda(Context& context, const Graph& graph, const AttentionInputs& inputs, ConstTensorView out_grad,
             const AttentionEdgeArgs& args, EdgeGradients& g) {
  cuda::attention_weights(args, context.device(), context.stream());
  const Features heads = Features::of(g.alpha.shape());
  const Plan plan = make_plan(
      context, graph, {OpKind::sddmm, inputs.value.dtype, heads.heads, inputs.value.shape.width, Reduce::sum, false});
  context.reserve(plan.workspace_bytes);
  sddmm(context, plan, graph, spelled(inputs.value), spelled(out_grad), g.score);
  const bool drops = args.forward.dropout.given();
  if (drops) cuda::attention_drop(args.forward, result(g.score), context.device(), context.stream());
  g.score = edge_softmax_backward(context, graph, g.alpha, g.score);
  if (drops) cuda::attention_drop(args.forward, result(g.alpha), context.device(), context.stream());
  AttentionEdgeArgs through = args;
  through.score_grad = result(g.score);
  cuda::attention_through_leaky(through, context.device(), context.stream());
}

EdgeGradients edge_gradients(Context& context, const Graph& graph, const AttentionInputs& inputs,
                             const AttentionShape& shape, const AttentionResult& given, ConstTensorView out_grad) {
  const Shape per_edge(graph.num_edges(), shape.value.heads, 1);
  const Dtype acc = accumulator(shape.desc.dtype);
  const auto empty = [&](const Shape& of, Dtype dtype, const char* what) {
    return Tensor::empty(of, dtype, what, context.device(), context.stream());
  };
  EdgeGradients g;
  g.alpha = empty(per_edge, acc, "attention weights");
  g.score = empty(per_edge, acc, "score gradients");
  if (inputs.bias.given) g.bias = empty(inputs.bias.shape, inputs.bias.dtype, "the gradient of bias");
  AttentionEdgeArgs args;
  args.forward = arguments(graph, inputs, shape);
  args.forward.out = readable(given.out.view());
  args.forward.row_max = readable(given.row_max.view());
  args.forward.row_sum = readable(given.row_sum.view());
  args.out_grad = operand(out_grad, shape.value);
  args.alpha = result(g.alpha);
  args.score_grad = result(g.score);
  if (g.bias) args.bias_grad = result(g.bias);
  if (context.device().kind == DeviceKind::cuda) {
    on_cuda(context, graph, inputs, out_grad, args, g);
    return g;
  }
  const Plan plan = make_plan(context, graph, shape.desc);
  context.reserve(plan.workspace_bytes);
  cpu::attention_edges(args, plan, context.arena());
  return g;
}

/// Sums over each row of `graph`, of `x` times an edge's value or of that alone, with heads and width of `as`.
Tensor row_sums(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge, const Shape& as) {
  SpmmOptions options;
  if (!x.given) options.op = SpmmOp::copy_e;
  const Dtype dtype = x.given ? x.dtype : edge.dtype;
  const Features features = Features::of(as);
  const Plan plan = make_plan(context, graph, {OpKind::spmm, dtype, features.heads, features.width, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor sums = Tensor::empty(features.with_rows(graph.num_rows()), dtype, "a gradient of attention", context.device(),
                              context.stream());
  spmm(context, plan, graph, x, edge, sums, options);
  return sums;
}

Tensor edge_sum(Context& context, const Graph& graph, ConstTensorView edge, const Shape& as, Dtype dtype) {
  Tensor sum = row_sums(context, graph, {}, edge, as);
  if (sum.dtype() == dtype) return sum;
  return reduce_to(context, sum, Features::of(as), dtype);  // rounds, as nothing is missing
}

/// sum of edge * f(col[u] + row[v]) over each row of `graph`; see LeakyArgs.
Tensor leaky_sum(Context& context, const Graph& graph, ConstTensorView row, ConstTensorView col, ConstTensorView attn,
                 ConstTensorView edge, float slope, bool derivative) {
  const Features features = Features::of(row.shape);
  const Plan plan =
      make_plan(context, graph, {OpKind::spmm, col.dtype, features.heads, features.width, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor out = Tensor::empty(features.with_rows(graph.num_rows()), derivative ? col.dtype : accumulator(col.dtype),
                             "a gradient of gatv2", context.device(), context.stream());
  LeakyArgs args;
  args.graph = graph.view();
  args.heads = features.heads;
  args.width = features.width;
  args.row = operand(row, features);
  args.col = operand(col, features);
  args.attn = operand(attn, features);
  args.attn.row_stride = 0;
  args.edge = operand(edge, features);
  args.slope = slope;
  args.derivative = derivative;
  args.out = result(out);
  if (context.device().kind == DeviceKind::cuda) {
    cuda::leaky_sum(args, plan, context.arena(), context.stream());
  } else {
    cpu::leaky_sum(args, plan, context.arena());
  }
  return out;
}

/// The sum over all rows, [1, heads, width]: one segment, so it is summed like any long row.
Tensor sum_over_rows(Context& context, const Tensor& x, Dtype dtype) {
  const EdgeId offsets[2] = {0, x.shape().rows};
  Tensor sum = segment_reduce(context, offsets, x, Reduce::sum);
  if (sum.dtype() == dtype) return sum;
  return reduce_to(context, sum, Features::of(sum.shape()), dtype);  // rounds, as nothing is missing
}

}  // namespace

AttentionGradients composed_attention_backward(Context& context, const Graph& graph, const AttentionInputs& in,
                                               const AttentionShape& shape, const AttentionResult& given,
                                               ConstTensorView out_grad) {
  const Dtype dtype = shape.desc.dtype;
  const Graph& reversed = graph.transpose();
  EdgeGradients edges = edge_gradients(context, graph, in, shape, given, out_grad);

  AttentionGradients g;
  g.value = row_sums(context, reversed, out_grad, edges.alpha, in.value.shape);
  edges.alpha = {};
  switch (in.score) {
    case Score::gat:
      g.src = edge_sum(context, reversed, edges.score, in.src.shape, dtype);
      g.dst = edge_sum(context, graph, edges.score, in.dst.shape, dtype);
      break;
    case Score::dot:
      scale_in_place(context, edges.score, in.scale);
      g.src = row_sums(context, reversed, in.dst, edges.score, in.src.shape);
      g.dst = row_sums(context, graph, in.src, edges.score, in.dst.shape);
      break;
    case Score::gatv2:
      g.src = leaky_sum(context, reversed, in.src, in.dst, in.attn, edges.score, in.slope, true);
      g.dst = leaky_sum(context, graph, in.dst, in.src, in.attn, edges.score, in.slope, true);
      g.attn = sum_over_rows(context, leaky_sum(context, graph, in.dst, in.src, in.attn, edges.score, in.slope, false),
                             dtype);
      break;
  }
  g.bias = std::move(edges.bias);
  return g;
}

}  // namespace weft
