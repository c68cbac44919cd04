// Attention's backward: the weights are recomputed (on a CPU from the forward's row statistics, on a GPU from the
// scores alone), and with them the gradients of the scores, [E, H] each; every other gradient is a row sum over the
// graph or its transpose.
#include "ops/attention_composed.hpp"

#include <algorithm>

#include "graph/graph_internals.hpp"
#include "ops/elementwise.hpp"
#include "ops/segments.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

OpDesc sum_of(Dtype dtype, const Features& features) {
  return {OpKind::spmm, dtype, features.heads, features.width, Reduce::sum, true};
}

/// Describes the sums for the gradients of src and dst.
OpDesc scores_desc(const AttentionInputs& in, const AttentionShape& shape) {
  return in.score == Score::gat ? score_sums(shape) : sum_of(shape.desc.dtype, shape.score);
}

/// The scratch memory of a run. Over an arena without memory, take() only counts.
struct Scratch {
  // [E, H, 1] accumulators, not read after the gradients of scores and value are computed.
  TensorView alpha, alpha_grad;  // the second on a GPU only
  TensorView leaky;              // gatv2: [rows, H, D] accumulators, in the same memory
  TensorView score_grad;         // [E, H, 1] accumulators
  TensorView sums;               // gat: [rows or columns, H, 1] accumulators, if gradients are rounded from them
  TensorView attn;               // gatv2: [1, H, D] accumulators, likewise

  /// The operators' scratch memory comes first and is shared: each uses it from the start of the workspace.
  static Scratch take(Arena& arena, const Graph& graph, const AttentionInputs& in, const AttentionShape& shape,
                      const ComposedAttention& plan) {
    std::size_t most = 0;
    for (const Plan* each : {&plan.edges, &plan.dots, &plan.softmax, &plan.value, &plan.src, &plan.dst, &plan.attn})
      most = std::max(most, each->workspace_bytes);
    arena.take<std::byte>(most, "parts of cut rows");
    const Dtype acc = accumulator(shape.desc.dtype);
    const std::int64_t heads = shape.value.heads;
    const bool rounds = acc != shape.desc.dtype;
    const auto bytes = [&](const Shape& of) { return static_cast<std::size_t>(of.size()) * size_of(acc); };
    const auto tensor = [&](std::byte* data, const Shape& of) { return TensorView(data, acc, of, plan.value.device); };
    const auto taken = [&](const Shape& of, bool needed, const char* what) {
      return tensor(arena.take<std::byte>(needed ? bytes(of) : 0, what).data(), of);
    };
    const Shape by_edge(graph.num_edges(), heads, 1);
    const Shape by_row(graph.num_rows(), heads, shape.score.width);
    const bool leans = in.score == Score::gatv2, sums = in.score == Score::gat && rounds;
    Scratch s;
    // Rounded up to a multiple of 16 bytes, so that alpha_grad is aligned.
    const std::size_t apart = (bytes(by_edge) + 15) / 16 * 16;
    const bool both = plan.value.device.kind == DeviceKind::cuda;
    const auto weights =
        arena.take<std::byte>(std::max((both ? 2 : 1) * apart, leans ? bytes(by_row) : 0), "attention weights");
    s.alpha = s.alpha_grad = tensor(weights.data(), by_edge);
    if (both && !weights.empty()) s.alpha_grad = tensor(weights.data() + apart, by_edge);
    s.leaky = tensor(weights.data(), by_row);
    s.score_grad = taken(by_edge, true, "score gradients");
    s.sums = taken(Shape(std::max(graph.num_rows(), graph.num_cols()), heads, 1), sums, "sums of score gradients");
    s.attn = taken(Shape(1, heads, shape.score.width), leans && rounds, "the gradient of attn");
    return s;
  }
};

/// Computes the weights in `alpha` (after dropout, if any) and the gradients of scores in `score_grad`.
void edge_gradients(Context& context, const ComposedAttention& plan, const Graph& graph, const AttentionInputs& in,
                    const AttentionShape& shape, const AttentionResultViews& given, ConstTensorView out_grad,
                    const Scratch& scratch, TensorView bias_grad) {
  AttentionEdgeArgs args;
  args.forward = arguments(graph, in, shape, given);
  args.out_grad = operand(out_grad, shape.value);
  args.alpha = result(scratch.alpha);
  args.score_grad = result(scratch.score_grad);
  if (bias_grad.given) args.bias_grad = result(bias_grad);
  if (context.device().kind == DeviceKind::cpu) return cpu::attention_edges(args, plan.edges, context.arena());
  // On a GPU: weights, products of gradients and values, and the softmax's own backward. The weights are normalised
  // anew and not by the forward's statistics: scores are summed here in another order, so with the forward's sums the
  // weights of a row with scores around 20 would miss a total of 1 by some 1e-6, and that error would fully appear in
  // the difference of a product and the row's mean.
  cuda::attention_scores(args.forward, args.alpha, context.device(), context.stream());
  edge_softmax(context, plan.softmax, graph, scratch.alpha, scratch.alpha);
  sddmm(context, plan.dots, graph, spelled(in.value), spelled(out_grad), scratch.alpha_grad, {});
  const bool drops = args.forward.dropout.given();
  const auto drop = [&](TensorView values) {
    if (drops) cuda::attention_drop(args.forward, result(values), context.device(), context.stream());
  };
  drop(scratch.alpha_grad);
  edge_softmax_backward(context, plan.softmax, graph, scratch.alpha, scratch.alpha_grad, scratch.score_grad);
  drop(scratch.alpha);
  cuda::attention_through_leaky(args, context.device(), context.stream());
}

/// Sums the score gradients over each row of `graph`.
void sum_scores(Context& context, const Plan& plan, const Graph& graph, const Scratch& scratch, TensorView out) {
  SpmmOptions options;
  options.op = SpmmOp::copy_e;
  if (out.dtype == scratch.score_grad.dtype) return spmm(context, plan, graph, {}, scratch.score_grad, out, options);
  TensorView sums = scratch.sums;
  sums.shape.rows = graph.num_rows();
  spmm(context, plan, graph, {}, scratch.score_grad, sums, options);
  reduce_to(context, sums, out);  // only rounds: the shapes are equal
}

/// sum of factor * f(col[u] + row[v] + edge) over each row of `graph`; see LeakyArgs.
void leaky_sum(Context& context, const Plan& plan, const Graph& graph, ConstTensorView row, ConstTensorView col,
               const AttentionInputs& in, ConstTensorView factor, bool derivative, TensorView out) {
  const Features features = Features::of(row.shape);
  LeakyArgs args;
  args.graph = view_by(plan, graph);
  args.heads = features.heads;
  args.width = features.width;
  args.row = operand(row, features);
  args.col = operand(col, features);
  args.edge = operand(in.edge, features);
  args.attn = operand(in.attn, features);
  args.attn.row_stride = 0;
  args.factor = operand(factor, features);
  args.slope = in.slope;
  args.derivative = derivative;
  args.out = result(out);
  if (context.device().kind == DeviceKind::cuda) {
    cuda::leaky_sum(args, plan, context.arena(), context.stream());
  } else {
    cpu::leaky_sum(args, plan, context.arena());
  }
}

/// Gatv2's gradient of the edge term inside leaky_relu.
void term_gradients(Context& context, const Plan& plan, const Graph& graph, const AttentionInputs& in,
                    const AttentionShape& shape, ConstTensorView score_grad, TensorView into) {
  AttentionTermArgs args;
  args.forward = arguments(graph, in, shape);
  args.score_grad = operand(score_grad, Features{shape.value.heads, 1, 3});
  args.edge_grad = result(into);
  if (context.device().kind == DeviceKind::cuda) {
    cuda::attention_terms(args, context.device(), context.stream());
  } else {
    cpu::attention_terms(args, plan, context.arena());
  }
}

/// A graph of one row with `edges` edges, to sum all rows of a tensor like one long row.
Graph row_of_all(const Context& context, std::int64_t edges) {
  Tensor ends = Tensor::zeros(Shape(2), Dtype::i64);
  ends.span<EdgeId>()[1] = edges;
  Tensor offsets = ends.to(context.device(), context.stream());
  Tensor cols =
      Tensor::zeros(Shape(edges), Dtype::i32, "the sources of a sum over all rows", context.device(), context.stream());
  return GraphInternals::adopt_rows(1, std::move(offsets), std::move(cols), context.stream());
}

}  // namespace

ComposedAttention plan_composed_attention(Context& context, const Graph& graph, const AttentionInputs& in,
                                          const AttentionShape& shape) {
  const Dtype dtype = shape.desc.dtype, acc = accumulator(dtype);
  const std::int64_t heads = shape.value.heads;
  const Graph reversed = graph.transpose();
  ComposedAttention plan;
  if (context.device().kind == DeviceKind::cpu) {
    plan.edges = make_plan(context, graph, shape.desc);
  } else {
    OpDesc dots{OpKind::sddmm, dtype, heads, shape.value.width, Reduce::sum, false};
    dots.fits_windows = true;
    plan.dots = make_plan(context, graph, dots);
    plan.softmax = make_plan(context, graph, {OpKind::softmax, acc, heads, 1, Reduce::sum, true});
  }
  plan.value = make_plan(context, reversed, sum_of(dtype, shape.value));
  plan.src = make_plan(context, reversed, scores_desc(in, shape));
  plan.dst = make_plan(context, graph, scores_desc(in, shape));
  if (in.score == Score::gatv2) {
    plan.all_rows = row_of_all(context, graph.num_rows());
    plan.attn = make_plan(context, plan.all_rows, sum_of(acc, shape.score), policy_of_segments(context));
  }
  Arena counting;
  Scratch::take(counting, graph, in, shape, plan);
  plan.workspace_bytes = counting.used();
  return plan;
}

void check_composed(const Context& context, const ComposedAttention& plan, const Graph& graph,
                    const AttentionInputs& in, const AttentionShape& shape) {
  check_plan(context, plan.value, graph.transpose().identity(), sum_of(shape.desc.dtype, shape.value));
  check_plan(context, plan.src, graph.transpose().identity(), scores_desc(in, shape));
  check_plan(context, plan.dst, graph.identity(), scores_desc(in, shape));
}

void composed_attention_backward(Context& context, const ComposedAttention& plan, const Graph& graph,
                                 const AttentionInputs& in, const AttentionShape& shape,
                                 const AttentionResultViews& given, ConstTensorView out_grad,
                                 const AttentionGradientViews& into) {
  const Graph reversed = graph.transpose();
  Arena arena = context.arena();
  const Scratch scratch = Scratch::take(arena, graph, in, shape, plan);
  edge_gradients(context, plan, graph, in, shape, given, out_grad, scratch, into.bias);
  spmm(context, plan.value, reversed, out_grad, scratch.alpha, into.value, {});
  const ConstTensorView scores = scratch.score_grad;
  switch (in.score) {
    case Score::gat:
      sum_scores(context, plan.src, reversed, scratch, into.src);
      sum_scores(context, plan.dst, graph, scratch, into.dst);
      if (in.edge.given) reduce_to(context, scores, into.edge);  // only rounds
      break;
    case Score::dot:
      scale_in_place(context, scratch.score_grad, in.scale);
      spmm(context, plan.src, reversed, in.dst, scores, into.src, {});
      spmm(context, plan.dst, graph, in.src, scores, into.dst, {});
      break;
    case Score::gatv2: {
      leaky_sum(context, plan.src, reversed, in.src, in.dst, in, scores, true, into.src);
      leaky_sum(context, plan.dst, graph, in.dst, in.src, in, scores, true, into.dst);
      leaky_sum(context, plan.dst, graph, in.dst, in.src, in, scores, false, scratch.leaky);
      const bool rounds = into.attn.dtype != scratch.leaky.dtype;
      const TensorView sum = rounds ? scratch.attn : into.attn;
      SpmmOptions all;
      all.op = SpmmOp::copy_e;
      spmm(context, plan.attn, plan.all_rows, {}, scratch.leaky, sum, all);
      if (rounds) reduce_to(context, sum, into.attn);
      if (in.edge.given) term_gradients(context, plan.edges, graph, in, shape, scores, into.edge);
      break;
    }
  }
}

}  // namespace weft
