// sddmm's planned backward. Each operand's gradient is the result's gradient times the operator's derivative per edge,
// for node operands summed over the edges of the node. A run takes its scratch memory only from the workspace.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/expected_runs.hpp"
#include "core/operator_timer.hpp"
#include "kernels/semantics.hpp"
#include "ops/elementwise.hpp"
#include "ops/finite.hpp"
#include "ops/sddmm_inputs.hpp"

namespace weft {
namespace {

struct Side {
  ConstTensorView tensor;
  Target target = Target::u;
  bool at_node() const { return target != Target::e; }
};

/// How one operand's gradient is computed. `at_nodes`: for a dot whose operands are at the same endpoint, so the other
/// operand is a factor outside the sum. `by_sum`: for a dot of both endpoints, by a weighted sum over the graph.
/// `by_edges`: for all others, from the derivative per edge.
enum class Way { at_nodes, by_sum, by_edges };

/// The gradient of one operand.
struct Wanted {
  const Graph& graph;
  SddmmOp op;
  Side own, other;
  bool own_is_left;
  Features out;     // of the result
  Features inputs;  // of both operands, broadcast
  Dtype dtype;

  Dtype acc() const { return accumulator(dtype); }
  Way way() const {
    if (op != SddmmOp::dot || !own.at_node() || !other.at_node()) return Way::by_edges;
    return own.target == other.target ? Way::at_nodes : Way::by_sum;
  }
  semantics::Slope slope() const {
    return semantics::with_meaning(op, [&](auto meaning) {
      using Meaning = decltype(meaning);
      return own_is_left ? Meaning::by_left : Meaning::by_right;
    });
  }
  int power_of_other() const { return own_is_left ? slope().right : slope().left; }
  int power_of_own() const { return own_is_left ? slope().left : slope().right; }
  int factors() const { return std::abs(power_of_other()) + std::abs(power_of_own()); }
  Graph over() const { return own.target == Target::u ? graph.transpose() : graph; }
  Features of_own() const { return Features::of(own.tensor.shape); }

  Features of_result() const { return {out.heads, out.width, 3}; }
  /// The features of the derivative per edge.
  Features of_edges() const {
    Features f = of_result();
    const auto also = [&](const Side& side, int power) {
      if (power == 0) return;
      f.heads = std::max(f.heads, side.tensor.shape.heads);
      f.width = std::max(f.width, side.tensor.shape.width);
    };
    also(other, power_of_other());
    also(own, power_of_own());
    return f;
  }
  /// The features of the sums over edges.
  Features of_sums() const {
    switch (way()) {
      case Way::at_nodes: return of_result();
      case Way::by_sum: return {std::max(out.heads, other.tensor.shape.heads), other.tensor.shape.width, 3};
      default: return of_edges();
    }
  }
  bool sums() const { return own.at_node(); }
  /// Whether the sums are already the gradient.
  bool sums_to_own() const {
    return sums() && way() != Way::at_nodes && dtype == acc() && of_sums().same_size(of_own()) && slope_is_positive();
  }
  bool slope_is_positive() const { return way() != Way::by_edges || slope().sign > 0; }

  OpDesc desc_of_sums() const {
    const Features f = of_sums();
    return {OpKind::spmm, acc(), f.heads, f.width, Reduce::sum, true};
  }
  OpDesc desc_of_edges() const {
    const Features f = of_edges();
    return {OpKind::sddmm, acc(), f.heads, f.width, Reduce::sum, false};
  }
};

/// The scratch memory of a run, in the accumulator type. Over an arena without memory, take() only counts.
struct Scratch {
  TensorView grad;        // [E, result's features]: out_grad, widened if its type is narrower
  TensorView other, own;  // widened if their type is narrower, as factors of edges or sums
  TensorView edges[2];    // [E, features]: products with one factor after the other
  TensorView sums;        // [nodes, features]
  TensorView full;        // [nodes, both operands' features], for dots at one node

  /// The operators' scratch memory comes first and is shared: each uses it from the start of the workspace.
  static Scratch take(Arena& arena, const Wanted& w, const SddmmBackwardPlan::OfOperand& plan, Device device) {
    arena.take<std::byte>(std::max(plan.edges.workspace_bytes, plan.sums.workspace_bytes), "parts of cut rows");
    const auto taken = [&](bool needed, const Shape& of, const char* what) {
      if (!needed) return TensorView{};
      const std::size_t bytes = static_cast<std::size_t>(of.size()) * size_of(w.acc());
      return TensorView(arena.take<std::byte>(bytes, what).data(), w.acc(), of, device);
    };
    const bool widens = w.dtype != w.acc(), by_edges = w.way() == Way::by_edges;
    const std::int64_t edges = w.graph.num_edges(), nodes = w.own.tensor.shape.rows;
    Scratch s;
    s.grad = taken(widens, w.of_result().with_rows(edges), "a widened copy");
    const bool reads_other = w.way() == Way::by_sum || (by_edges && w.power_of_other() != 0);
    s.other = taken(widens && reads_other, spelled(w.other.tensor).shape, "a widened copy");
    s.own = taken(widens && by_edges && w.power_of_own() != 0, spelled(w.own.tensor).shape, "a widened copy");
    for (int i = 0; i < 2; ++i)
      s.edges[i] = taken(by_edges && w.factors() > i, w.of_edges().with_rows(edges), "derivatives of edges");
    s.sums = taken(w.sums() && !w.sums_to_own(), w.of_sums().with_rows(nodes), "sums of derivatives");
    s.full = taken(w.way() == Way::at_nodes, Features{w.inputs.heads, w.inputs.width, 3}.with_rows(nodes),
                   "an operand in all features");
    return s;
  }
};

/// The tensor in the accumulator type: itself, or a copy in `room`.
ConstTensorView in_accumulator(const Context& context, ConstTensorView tensor, TensorView room) {
  if (!room.given) return spelled(tensor);
  widen(context, spelled(tensor), {}, room);
  return room;
}

/// The result's gradient times the derivative per edge, without the derivative's sign.
ConstTensorView derivative(Context& context, const Plan& plan, const Wanted& w, const Scratch& scratch,
                           ConstTensorView grad) {
  int step = 0;
  const auto times = [&](const Side& side, TensorView room, int power) {
    if (power == 0) return;
    const ConstTensorView wide = in_accumulator(context, side.tensor, room);
    for (int i = 0; i < std::abs(power); ++i, ++step) {
      const TensorView to = scratch.edges[step % 2];
      sddmm(context, plan, w.graph, grad, wide, to, {power > 0 ? SddmmOp::mul : SddmmOp::div, Target::e, side.target});
      grad = to;
    }
  };
  times(w.other, scratch.other, w.power_of_other());
  times(w.own, scratch.own, w.power_of_own());
  return grad;
}

void gradient(Context& context, const SddmmBackwardPlan::OfOperand& plan, const Wanted& w, ConstTensorView out_grad,
              TensorView into) {
  Arena arena = context.arena();
  const Scratch scratch = Scratch::take(arena, w, plan, context.device());
  const ConstTensorView grad = in_accumulator(context, out_grad, scratch.grad);
  const Way way = w.way();
  const ConstTensorView edges = way == Way::by_edges ? derivative(context, plan.edges, w, scratch, grad) : grad;
  if (!w.sums()) {
    reduce_to(context, edges, into);
  } else {
    TensorView sums = w.sums_to_own() ? into : scratch.sums;
    sums.shape = w.of_sums().with_rows(w.own.tensor.shape.rows);
    SpmmOptions options;
    options.op = way == Way::by_sum ? SpmmOp::u_mul_e : SpmmOp::copy_e;
    const ConstTensorView sources =
        way == Way::by_sum ? in_accumulator(context, w.other.tensor, scratch.other) : ConstTensorView{};
    spmm(context, plan.sums, w.over(), sources, edges, sums, options);
    if (way == Way::at_nodes) {
      reduce_to(context, spelled(w.other.tensor), scratch.full);
      multiply_in_place(context, scratch.full, sums);
      sums = scratch.full;
    }
    if (!w.sums_to_own()) reduce_to(context, sums, into);
  }
  if (!w.slope_is_positive()) scale_in_place(context, into, -1);
}

Wanted wanted(const Graph& graph, const SddmmShape& shape, ConstTensorView lhs, ConstTensorView rhs,
              const SddmmOptions& options, bool own_is_left) {
  const Side l{lhs, options.lhs}, r{rhs, options.rhs};
  return {graph,       options.op, own_is_left ? l : r, own_is_left ? r : l,
          own_is_left, shape.out,  shape.operands,      shape.desc.dtype};
}

/// Calls f(the operand's part of the plan, its gradient, whether it is lhs) for each operand whose gradient is wanted.
template <class Plans, class F>
void for_operands(Plans& plan, const Graph& graph, const SddmmShape& shape, ConstTensorView lhs, ConstTensorView rhs,
                  const SddmmOptions& options, const F& f) {
  if (plan.want.lhs) f(plan.lhs, wanted(graph, shape, lhs, rhs, options, true), true);
  if (plan.want.rhs) f(plan.rhs, wanted(graph, shape, lhs, rhs, options, false), false);
}

SddmmBackwardPlan plan_for(const Context& context, const Graph& graph, const SddmmShape& shape, ConstTensorView lhs,
                           ConstTensorView rhs, const SddmmOptions& options, WantSddmmGradients want) {
  SddmmBackwardPlan plan;
  plan.options = options;
  plan.want = {want.lhs && semantics::reads_left(options.op), want.rhs && semantics::reads_right(options.op)};
  for_operands(plan, graph, shape, lhs, rhs, options, [&](auto& of, const Wanted& w, bool) {
    if (w.way() == Way::by_edges && w.factors() > 0) of.edges = make_plan(context, graph, w.desc_of_edges());
    if (w.sums()) of.sums = make_plan(context, w.over(), w.desc_of_sums());
    Arena counting;
    Scratch::take(counting, w, of, context.device());
    plan.workspace_bytes = std::max(plan.workspace_bytes, counting.used());
  });
  return plan;
}

SddmmShape resolve_backward(const Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                            ConstTensorView out_grad, const SddmmOptions& options) {
  const SddmmShape shape = resolve(context, graph, lhs, rhs, options);
  check_tensor(context, out_grad, "out_grad", graph.num_edges(), "edge", shape.out);
  check_dtype(out_grad, "out_grad", shape.desc.dtype, "as the operands have");
  return shape;
}

void check_into(const Context& context, const SddmmBackwardPlan& plan, ConstTensorView lhs, ConstTensorView rhs,
                ConstTensorView out_grad, const SddmmGradientViews& into) {
  check_gradient_view(context, plan.want.lhs, into.lhs, "into.lhs", lhs, "lhs");
  check_gradient_view(context, plan.want.rhs, into.rhs, "into.rhs", rhs, "rhs");
  check_apart({{into.lhs, "into.lhs"}, {into.rhs, "into.rhs"}}, {{lhs, "lhs"}, {rhs, "rhs"}, {out_grad, "out_grad"}});
}

}  // namespace

SddmmBackwardPlan plan_sddmm_backward(const Context& context, const Graph& graph, ConstTensorView lhs,
                                      ConstTensorView rhs, const SddmmOptions& options, WantSddmmGradients want) {
  return plan_for(context, graph, resolve(context, graph, lhs, rhs, options), lhs, rhs, options, want);
}

void sddmm_backward(Context& context, const SddmmBackwardPlan& plan, const Graph& graph, ConstTensorView lhs,
                    ConstTensorView rhs, ConstTensorView out_grad, const SddmmGradientViews& into) {
  const TimedOperator timed(context, "sddmm backward");
  const SddmmShape shape = resolve_backward(context, graph, lhs, rhs, out_grad, plan.options);
  check_into(context, plan, lhs, rhs, out_grad, into);
  for_operands(plan, graph, shape, lhs, rhs, plan.options, [&](const auto& of, const Wanted& w, bool left) {
    if (w.way() == Way::by_edges && w.factors() > 0) check_plan(context, of.edges, graph.identity(), w.desc_of_edges());
    if (w.sums()) check_plan(context, of.sums, w.over().identity(), w.desc_of_sums());
    const TensorView to = left ? into.lhs : into.rhs;
    gradient(context, of, w, out_grad, to);
    check_result(context, to, left ? "sddmm_backward (lhs)" : "sddmm_backward (rhs)");
  });
}

SddmmGradients sddmm_backward(Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                              ConstTensorView out_grad, const SddmmOptions& options) {
  const SddmmShape shape = resolve_backward(context, graph, lhs, rhs, out_grad, options);
  const ExpectedRuns once(context, 1);
  const SddmmBackwardPlan plan = plan_for(context, graph, shape, lhs, rhs, options, {});
  Context own = with_own_workspace(context, plan.workspace_bytes);
  const auto empty = [&](bool given, ConstTensorView of, const char* what) {
    return given ? Tensor::empty(of.shape, of.dtype, what, context.device(), context.stream()) : Tensor{};
  };
  SddmmGradients gradients{empty(plan.want.lhs, lhs, "the gradient of lhs"),
                           empty(plan.want.rhs, rhs, "the gradient of rhs")};
  sddmm_backward(own, plan, graph, lhs, rhs, out_grad, {gradients.lhs, gradients.rhs});
  return gradients;
}

}  // namespace weft
