// spmm's planned backward. The gradient of x is a sum over the transpose, with the degree norms applied before the
// single rounding. The gradient of edge values is one result per edge from both endpoints. The part of a message's
// derivative that depends on the input itself is the same for all terms, so it is applied to the sum. A run takes its
// scratch memory only from the workspace.
#include <algorithm>

#include "core/expected_runs.hpp"
#include "core/memory.hpp"
#include "core/operator_timer.hpp"
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
  WantGradients want;  // only of tensors that the op reads

  Dtype acc() const { return accumulator(dtype); }
  bool extremum() const { return is_extremum(options.reduce); }
  bool divides() const { return semantics::divides_by_edges(options.reduce); }
  bool scales_destinations() const { return divides() || options.epilogue.row_scale.given; }
  Features of_x() const { return Features::of(x.shape); }
  Features of_edge() const { return Features::of(edge.shape); }
  semantics::Slope by_x() const {
    return semantics::with_meaning(options.op, [](auto meaning) {
      constexpr semantics::Slope slope = decltype(meaning)::by_left;
      static_assert(slope.right >= -1 && slope.right <= 1, "no message multiplies by other powers of the edge's value");
      return slope;
    });
  }
  semantics::Slope by_edge() const {
    return semantics::with_meaning(options.op, [](auto meaning) {
      constexpr semantics::Slope slope = decltype(meaning)::by_right;
      static_assert(slope.left == 0 || slope.left == 1, "products() has no other powers of x");
      return slope;
    });
  }
  /// Whether the sum over the transpose is already x's gradient.
  bool sums_to_x() const { return of_x().same_size(features) && by_x().left == 0; }
  /// Whether x[u] * out_grad[v] is summed head by head, so that no E x H x F tensor is stored.
  bool by_heads() const { return by_edge().left == 1 && of_edge().width != 1 && of_edge().heads != features.heads; }
  /// Whether gradients depend on the values of x.
  bool reads_x() const { return extremum() || (want.x && by_x().left != 0) || (want.edge && by_edge().left != 0); }
  bool reads_edge() const { return extremum() || (want.x && by_x().right != 0) || (want.edge && by_edge().right != 0); }
};

Problem resolve_planned(const Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                        const SpmmOptions& options, WantGradients want) {
  check_on_device(context, graph);
  check_unsampled(options.sample, "spmm_backward");
  const auto [desc, features] = resolve(context, graph, x, edge, options);
  want.x = want.x && uses_node(options.op);
  want.edge = want.edge && uses_edge(options.op);
  return {graph, x, edge, {}, options, features, desc.dtype, want};
}

void check_epilogue(const Epilogue& epilogue) {
  WEFT_CHECK(
      !epilogue.bias.given, invalid_argument,
      "bias is given: spmm_backward covers the aggregation; the gradient of a bias is the column sum of out_grad");
  WEFT_CHECK(!epilogue.relu, invalid_argument,
             "relu is set: pass the gradient in front of the ReLU as out_grad, and relu = false");
  WEFT_CHECK(!epilogue.saturate, invalid_argument,
             "saturate is set: pass a gradient that is 0 where the output was cut off, and saturate = false");
}

Problem resolve_backward(const Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                         ConstTensorView out_grad, const SpmmOptions& options, WantGradients want) {
  Problem p = resolve_planned(context, graph, x, edge, options, want);
  p.out_grad = out_grad;
  check_tensor(context, out_grad, "out_grad", graph.num_rows(), "destination", p.features);
  check_dtype(out_grad, "out_grad", p.dtype, "as the output of spmm has");
  check_epilogue(options.epilogue);
  WEFT_CHECK(!p.extremum() || options.arg_e.given, invalid_argument,
             "arg_e is missing: the backward of {} needs the winners the forward returned", name(options.reduce));
  return p;
}

/// The message of a gradient against an edge: times edge^power.
SpmmOp times_edge(int power) { return power == 0 ? SpmmOp::copy_u : power > 0 ? SpmmOp::u_mul_e : SpmmOp::u_div_e; }

OpDesc desc_of_x(const Problem& p) {
  if (p.extremum()) return extremum_backward_desc(p.features.heads, p.features.width);
  const SpmmOp op = times_edge(p.by_x().right);
  OpDesc desc{OpKind::spmm, p.dtype, p.features.heads, p.features.width, Reduce::sum, op != SpmmOp::copy_u};
  desc.fits_windows = weighs_by_one_value(op, p.edge, p.dtype) && !p.scales_destinations();
  desc.scales_sources = p.scales_destinations() && op == SpmmOp::copy_u;
  return desc;
}

OpDesc desc_of_edge(const Problem& p) {
  if (p.extremum()) return extremum_backward_desc(p.features.heads, p.features.width);
  const Features both = p.by_edge().left == 1 ? p.features : p.of_edge();
  return {OpKind::sddmm, p.acc(), p.by_heads() ? 1 : both.heads, both.width, Reduce::sum, false};
}

/// Arguments for a max's or min's gradient of x, gathered over the transpose, or of edge, over the graph.
ExtremumBackwardArgs extremum_args(const Problem& p, const GraphView& over, bool of_x) {
  const ConstTensorView input = of_x ? p.x : p.edge;
  ExtremumBackwardArgs args;
  args.graph = over;
  args.op = p.options.op;
  args.heads = p.features.heads;
  args.width = p.features.width;
  args.out_heads = input.shape.heads;
  args.out_width = input.shape.width;
  return args;
}

/// A plan of that gradient. On a GPU the graph determines its tasks: the plan has only the graph, device, operator and
/// workspace.
Plan extremum_plan(const Context& context, const Problem& p, const Graph& over, bool of_x) {
  const OpDesc desc = of_x ? desc_of_x(p) : desc_of_edge(p);
  if (context.device().kind == DeviceKind::cpu) return make_plan(context, over, desc);
  Plan plan = planned_for(context, over, desc);
  const ExtremumBackwardArgs args = extremum_args(p, over.view(), of_x);  // also builds the graph data that runs read
  if (of_x) plan.workspace_bytes = cuda::extremum_workspace(args);
  return plan;
}

/// The scratch memory of a run, in the accumulator type. Over an arena without memory, take() only counts.
struct Scratch {
  TensorView norms;  // [rows]: for means, the row scale divided by the degree
  TensorView x_sum;  // [cols, features], if x's gradient is computed from it
  // The others are for edge's gradient.
  TensorView grad;    // [rows, features]: out_grad
  TensorView x;       // [cols, x's features]: x, if it is a factor
  TensorView narrow;  // [rows, edge's features]: grad, if x is not a factor
  TensorView dots;    // [E, heads, 1], if they are then summed over heads
  TensorView one;     // [E, width]: one head's products
  TensorView edge;    // [E, edge's features]

  /// The operators' scratch memory comes first and is shared: each uses it from the start of the workspace.
  static Scratch take(Arena& arena, const Problem& p, const SpmmBackwardPlan& plan, Device device) {
    arena.take<std::byte>(std::max(plan.x.workspace_bytes, plan.edge.workspace_bytes), "parts of cut rows");
    const auto taken = [&](bool needed, const Shape& of, const char* what) {
      if (!needed) return TensorView{};
      const std::size_t bytes = static_cast<std::size_t>(of.size()) * size_of(p.acc());
      return TensorView(arena.take<std::byte>(bytes, what).data(), p.acc(), of, device);
    };
    const std::int64_t rows = p.graph.num_rows(), cols = p.graph.num_cols(), edges = p.graph.num_edges();
    Scratch s;
    s.norms = taken(p.divides(), Shape(rows), "degree norms");
    if (p.extremum()) return s;
    s.x_sum = taken(p.want.x && !p.sums_to_x(), p.features.with_rows(cols), "the gradient of x");
    if (!p.want.edge) return s;
    const Features wanted = p.of_edge();
    const bool multiplies = p.by_edge().left == 1;
    s.grad = taken(true, p.features.with_rows(rows), "a widened copy");
    s.x = taken(multiplies, p.x.shape, "a widened copy");
    s.narrow = taken(!multiplies, wanted.with_rows(rows), "a gradient");
    const bool adds_heads = multiplies && wanted.width == 1 && wanted.heads != p.features.heads;
    s.dots = taken(adds_heads, Shape(edges, p.features.heads, 1), "products of both ends");
    s.one = taken(p.by_heads(), Shape(edges, p.features.width), "products of one head");
    s.edge = taken(true, wanted.with_rows(edges), "the gradient of edge");
    return s;
  }
  /// The factor per destination of output gradients; none if it is 1.
  ConstTensorView destinations(const Problem& p) const {
    return p.divides() ? ConstTensorView(norms) : p.options.epilogue.row_scale;
  }
};

void x_gradient(Context& context, const Plan& plan, const Problem& p, const Scratch& scratch, TensorView into) {
  const semantics::Slope slope = p.by_x();
  SpmmOptions options;
  options.op = times_edge(slope.right);
  options.epilogue.col_scale = scratch.destinations(p);
  options.epilogue.row_scale = p.options.epilogue.col_scale;
  options.epilogue.self_scale = p.options.epilogue.self_scale;  // a diagonal is its own transpose
  const ConstTensorView edge = options.op == SpmmOp::copy_u ? ConstTensorView{} : p.edge;
  TensorView sum = p.sums_to_x() ? into : scratch.x_sum;
  sum.shape = p.features.with_rows(p.graph.num_cols());
  spmm(context, plan, p.graph.transpose(), p.out_grad, edge, sum, options);
  times_power(context, sum, slope.sign, p.x, slope.left);
  if (!p.sums_to_x()) reduce_to(context, sum, into);
}

/// Computes x[u] * out_grad[v], summed over the dimensions that the edge tensor broadcasts.
void products(Context& context, const Plan& plan, const Problem& p, const Scratch& scratch) {
  const Features wanted = p.of_edge();
  SddmmOptions options;
  if (wanted.width == 1) {
    TensorView dots = scratch.dots.given ? scratch.dots : scratch.edge;
    dots.shape = Shape(p.graph.num_edges(), p.features.heads, 1);
    sddmm(context, plan, p.graph, spelled(scratch.x), spelled(scratch.grad), dots, options);
    if (scratch.dots.given) reduce_to(context, dots, scratch.edge);
    return;
  }
  options.op = SddmmOp::mul;
  if (!p.by_heads()) return sddmm(context, plan, p.graph, scratch.x, scratch.grad, scratch.edge, options);
  TensorView sum = scratch.edge;
  sum.shape = scratch.one.shape;
  for (std::int64_t h = 0; h < p.features.heads; ++h) {
    const TensorView part = h == 0 ? sum : scratch.one;
    sddmm(context, plan, p.graph, head_of(scratch.x, h), head_of(scratch.grad, h), part, options);
    if (h > 0) add_in_place(context, sum, part);
  }
}

void edge_gradient(Context& context, const Plan& plan, const Problem& p, const Scratch& scratch, TensorView into) {
  const semantics::Slope slope = p.by_edge();
  widen(context, p.out_grad, scratch.destinations(p), scratch.grad);
  const ConstTensorView sources = p.options.epilogue.col_scale;
  if (slope.left == 1) {
    widen(context, p.x, sources, scratch.x);
    products(context, plan, p, scratch);
  } else {
    reduce_to(context, scratch.grad, scratch.narrow);
    SddmmOptions options;
    options.op = sources.given ? SddmmOp::mul : SddmmOp::copy_rhs;
    sddmm(context, plan, p.graph, sources, scratch.narrow, scratch.edge, options);
  }
  times_power(context, scratch.edge, slope.sign, p.edge, slope.right);
  reduce_to(context, scratch.edge, into);  // only rounds: the shapes are equal
}

void extremum_gradient(Context& context, const Plan& plan, const Problem& p, const Scratch& scratch, bool of_x,
                       TensorView into) {
  const Graph over = of_x ? p.graph.transpose() : p.graph;
  ExtremumBackwardArgs args = extremum_args(p, over.view(), of_x);
  args.x = operand(p.x, p.features);
  args.edge = operand(p.edge, p.features);
  args.out_grad = operand(p.out_grad, p.features);
  args.row_scale = operand(scratch.destinations(p));
  args.col_scale = operand(p.options.epilogue.col_scale);
  args.arg_e = p.options.arg_e.as<EdgeId>();
  args.out = result(into);
  if (context.device().kind == DeviceKind::cpu)
    return (of_x ? cpu::extremum_x_gradient : cpu::extremum_edge_gradient)(args, plan, context.arena());
  if (of_x) return cuda::extremum_x_gradient(args, context.device(), context.arena(), context.stream());
  cuda::extremum_edge_gradient(args, context.device(), context.stream());
}

void check_into(const Context& context, const SpmmBackwardPlan& plan, const Problem& p, const SpmmGradientViews& into) {
  check_gradient_view(context, plan.want.x, into.x, "into.x", p.x, "x");
  check_gradient_view(context, plan.want.edge, into.edge, "into.edge", p.edge, "edge");
  check_apart({{into.x, "into.x"}, {into.edge, "into.edge"}}, {{p.reads_x() ? p.x : ConstTensorView{}, "x"},
                                                               {p.reads_edge() ? p.edge : ConstTensorView{}, "edge"},
                                                               {p.out_grad, "out_grad"},
                                                               {p.options.epilogue.row_scale, "row_scale"},
                                                               {p.options.epilogue.col_scale, "col_scale"},
                                                               {p.options.epilogue.self_scale, "self_scale"},
                                                               {p.options.arg_e, "arg_e"}});
}

void check_planned(const Context& context, const SpmmBackwardPlan& plan, const Problem& p) {
  WEFT_CHECK(plan.op == p.options.op && plan.reduce == p.options.reduce, invalid_argument,
             "plan was made for op {} and reduce {}, but they are {} and {}: make a plan with plan_spmm_backward",
             name(plan.op), name(plan.reduce), name(p.options.op), name(p.options.reduce));
  // On a GPU the plan of a max or min has only the graph, device and operator.
  const auto check = p.extremum() && context.device().kind == DeviceKind::cuda ? check_planned_for : check_plan;
  if (plan.want.x) check(context, plan.x, p.graph.transpose().identity(), desc_of_x(p));
  if (plan.want.edge) check(context, plan.edge, p.graph.identity(), desc_of_edge(p));
}

SpmmBackwardPlan plan_for(Context& context, const Problem& p) {
  SpmmBackwardPlan plan;
  plan.op = p.options.op;
  plan.reduce = p.options.reduce;
  plan.want = p.want;
  const auto planned = [&](const Graph& over, bool of_x) {
    if (p.extremum()) return extremum_plan(context, p, over, of_x);
    // Row windows on tensor cores cannot scale sources.
    const ExpectedRuns runs(context, p.scales_destinations() ? 1 : context.expected_runs());
    return make_plan(context, over, of_x ? desc_of_x(p) : desc_of_edge(p));
  };
  if (p.want.x) plan.x = planned(p.graph.transpose(), true);
  if (p.want.edge) plan.edge = planned(p.graph, false);
  Arena counting;
  Scratch::take(counting, p, plan, context.device());
  plan.workspace_bytes = counting.used();
  return plan;
}

}  // namespace

SpmmBackwardPlan plan_spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                                    const SpmmOptions& options, WantGradients want) {
  const Problem p = resolve_planned(context, graph, x, edge, options, want);
  check_epilogue(options.epilogue);
  return plan_for(context, p);
}

void spmm_backward(Context& context, const SpmmBackwardPlan& plan, const Graph& graph, ConstTensorView x,
                   ConstTensorView edge, ConstTensorView out_grad, const SpmmOptions& options,
                   const SpmmGradientViews& into) {
  const TimedOperator timed(context, "spmm backward");
  const Problem p = resolve_backward(context, graph, x, edge, out_grad, options, plan.want);
  check_planned(context, plan, p);
  check_into(context, plan, p, into);
  Arena arena = context.arena();
  const Scratch scratch = Scratch::take(arena, p, plan, context.device());
  if (p.divides()) row_norms(context, graph, options.epilogue.row_scale, scratch.norms);
  const auto each = [&](bool of_x, const Plan& how, TensorView to) {
    if (p.extremum()) return extremum_gradient(context, how, p, scratch, of_x, to);
    (of_x ? x_gradient : edge_gradient)(context, how, p, scratch, to);
  };
  if (plan.want.x) each(true, plan.x, into.x);
  if (plan.want.edge) each(false, plan.edge, into.edge);
}

SpmmGradients spmm_backward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                            ConstTensorView out_grad, const SpmmOptions& options, WantGradients want) {
  const Problem p = resolve_backward(context, graph, x, edge, out_grad, options, want);
  const ExpectedRuns one(context, 1);
  const SpmmBackwardPlan plan = plan_for(context, p);
  Context once = with_own_workspace(context, plan.workspace_bytes);
  const auto empty = [&](bool wanted, ConstTensorView of, const char* what) {
    return wanted ? Tensor::empty(of.shape, of.dtype, what, context.device(), context.stream()) : Tensor{};
  };
  SpmmGradients gradients{empty(p.want.x, x, "the gradient of x"), empty(p.want.edge, edge, "the gradient of edge")};
  spmm_backward(once, plan, graph, x, edge, out_grad, options, {gradients.x, gradients.edge});
  return gradients;
}

}  // namespace weft
