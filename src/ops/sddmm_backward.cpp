// Gradients of sddmm. Each operand's gradient is the gradient of the result times the derivative of the
// operator on every edge, summed over the edges that touch the operand's node.
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

/// The derivative on every edge, as a tensor of the edges: [E, H, F].
Tensor edge_derivative(Problem& p) {
  const ConstTensorView grad = p.grad;
  switch (p.op) {
    case SddmmOp::add:
    case SddmmOp::copy_lhs:
    case SddmmOp::copy_rhs: return p.grad.clone();
    case SddmmOp::sub: {
      Tensor d = p.grad.clone();
      if (!p.own_is_left) scale_in_place(p.context, d, -1);
      return d;
    }
    case SddmmOp::dot:
    case SddmmOp::mul: {
      const Tensor wide = widened(p.context, spelled(p.other.tensor));
      return on_edges(p, SddmmOp::mul, grad, Target::e, wide, p.other.target);
    }
    case SddmmOp::div: break;
  }
  if (p.own_is_left)
    return on_edges(p, SddmmOp::div, grad, Target::e, widened(p.context, spelled(p.other.tensor)), p.other.target);
  // d(l / r) / dr = -l / r^2: `own` is the divisor.
  const Tensor divisor = widened(p.context, spelled(p.own.tensor));
  Tensor d = on_edges(p, SddmmOp::mul, grad, Target::e, widened(p.context, spelled(p.other.tensor)), p.other.target);
  d = on_edges(p, SddmmOp::div, d, Target::e, divisor, p.own.target);
  d = on_edges(p, SddmmOp::div, d, Target::e, divisor, p.own.target);
  scale_in_place(p.context, d, -1);
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
  if (options.op != SddmmOp::copy_rhs) g.lhs = one_side(true);
  if (options.op != SddmmOp::copy_lhs) g.rhs = one_side(false);
  return g;
}

}  // namespace weft
