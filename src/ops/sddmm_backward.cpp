// Gradients of sddmm. Each operand's gradient is the gradient of the result times the derivative of the
// operator on every edge, summed over the edges that touch the operand's node.
#include <cstdlib>

#include "kernels/semantics.hpp"
#include "ops/elementwise.hpp"
#include "ops/sddmm_inputs.hpp"

namespace weft {
namespace {

struct Side {
  ConstTensorView tensor;
  Target target = Target::u;
};

struct Problem {
  Context& context;
  const Graph& graph;
  SddmmOp op;
  Side own, other;  // the operand whose gradient is wanted, and the other one
  bool own_is_left;
  Features features;  // of both operands together
  Tensor grad;        // of the result, in the accumulator type, with its dimensions spelled
};

Tensor on_edges(Problem& p, SddmmOp op, ConstTensorView lhs, Target lhs_target, ConstTensorView rhs,
                Target rhs_target) {
  return sddmm(p.context, p.graph, lhs, rhs, {op, lhs_target, rhs_target});
}

/// Sums of edge tensors over the edges that leave (u) or reach (v) each node.
Tensor gather_edges(Problem& p, ConstTensorView edge, Target target) {
  SpmmOptions options;
  options.op = SpmmOp::copy_e;
  return spmm(p.context, target == Target::u ? p.graph.transpose() : p.graph, {}, edge, options);
}

/// The gradient of the result, which is spent, times the derivative on every edge, as a tensor of the edges: [E, H, F].
Tensor edge_derivative(Problem& p) {
  const semantics::Slope slope = semantics::with_meaning(p.op, [&](auto meaning) {
    using Meaning = decltype(meaning);
    return p.own_is_left ? Meaning::by_left : Meaning::by_right;
  });
  const auto times = [&](Tensor d, const Side& side, int power) {
    if (power == 0) return d;
    const Tensor wide = widened(p.context, spelled(side.tensor));
    for (int i = 0; i < std::abs(power); ++i)
      d = on_edges(p, power > 0 ? SddmmOp::mul : SddmmOp::div, d, Target::e, wide, side.target);
    return d;
  };
  Tensor d = times(std::move(p.grad), p.other, p.own_is_left ? slope.right : slope.left);
  d = times(std::move(d), p.own, p.own_is_left ? slope.left : slope.right);
  if (slope.sign < 0) scale_in_place(p.context, d, -1);
  return d;
}

Tensor gradient(Problem& p) {
  const Features wanted = Features::of(p.own.tensor.shape);
  const Dtype dtype = p.own.tensor.dtype;
  if (p.op == SddmmOp::dot && p.own.target != Target::e && p.other.target != Target::e) {
    if (p.own.target == p.other.target) {  // the other operand is the node's own: it stands outside the sum
      Tensor sums = gather_edges(p, p.grad, p.own.target);
      const ConstTensorView other = spelled(p.other.tensor);
      const Features all{p.features.heads, p.features.width, 3};
      Tensor full = reduce_to(p.context, other, all, accumulator(other.dtype));
      multiply_in_place(p.context, full, sums);
      return reduce_to(p.context, full, wanted, dtype);
    }
    const Tensor wide = widened(p.context, spelled(p.other.tensor));
    const Graph& over = p.own.target == Target::u ? p.graph.transpose() : p.graph;
    Tensor sums = spmm(p.context, over, wide, p.grad);
    return reduce_to(p.context, sums, wanted, dtype);
  }
  Tensor edges = edge_derivative(p);
  if (p.own.target == Target::e) return reduce_to(p.context, edges, wanted, dtype);
  return reduce_to(p.context, gather_edges(p, edges, p.own.target), wanted, dtype);
}

}  // namespace

SddmmGradients sddmm_backward(Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                              ConstTensorView out_grad, const SddmmOptions& options) {
  const SddmmShape shape = resolve(context, graph, lhs, rhs, options);
  check_tensor(context, out_grad, "out_grad", graph.num_edges(), "edge", shape.out);
  check_dtype(out_grad, "out_grad", shape.desc.dtype, "as the operands have");
  const auto one_side = [&](bool own_is_left) {
    const Side l{lhs, options.lhs}, r{rhs, options.rhs};
    Problem p{context,
              graph,
              options.op,
              own_is_left ? l : r,
              own_is_left ? r : l,
              own_is_left,
              shape.operands,
              widened(context, spelled(out_grad))};
    return gradient(p);
  };
  SddmmGradients g;
  if (semantics::reads_left(options.op)) g.lhs = one_side(true);
  if (semantics::reads_right(options.op)) g.rhs = one_side(false);
  return g;
}

}  // namespace weft
