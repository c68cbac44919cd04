// The reference kernels behind the public functions' arguments. Broadcasting is resolved here a second
// time, on purpose: the oracle must not share the code it judges.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/signatures.hpp"
#include "support/compare.hpp"
#include "weft/ops.hpp"

namespace weft::test {

inline Operand operand(ConstTensorView view) {
  if (!view) return {};
  Operand operand;
  operand.data = view.data;
  operand.dtype = view.dtype;
  operand.row_stride = view.ld;
  operand.head_stride = view.shape.heads == 1 ? 0 : view.shape.width;
  operand.feature_stride = view.shape.width == 1 ? 0 : 1;
  return operand;
}

/// The same row for everyone.
inline Operand shared_row(ConstTensorView view) {
  Operand result = operand(view);
  result.row_stride = 0;
  return result;
}

inline Shape broadcast(const Shape& a, const Shape& b, std::int64_t rows) {
  Shape shape;
  shape.rows = rows;
  shape.heads = a.heads == 1 ? b.heads : a.heads;
  shape.width = a.width == 1 ? b.width : a.width;
  shape.rank = std::max(a.rank, b.rank);
  return shape;
}

inline Result result_in(std::vector<double>& values, const Shape& shape) {
  values.assign(static_cast<std::size_t>(shape.size()), std::numeric_limits<double>::quiet_NaN());
  return {values.data(), Dtype::f64, shape.row_size()};
}

struct SpmmExpected : Expected {
  std::vector<NodeId> arg_u;
  std::vector<EdgeId> arg_e;
};

inline SpmmExpected expected_spmm(const Graph& graph, ConstTensorView x, ConstTensorView edge,
                                  const SpmmOptions& options) {
  SpmmExpected expected;
  const Shape x_shape = uses_node(options.op) ? x.shape : edge.shape;
  const Shape e_shape = uses_edge(options.op) ? edge.shape : x.shape;
  expected.shape = broadcast(x_shape, e_shape, graph.num_rows());

  SpmmArgs args;
  args.graph = graph.view();
  args.op = options.op;
  args.reduce = options.reduce;
  args.heads = expected.shape.heads;
  args.width = expected.shape.width;
  args.x = operand(x);
  args.edge = operand(edge);
  args.row_scale = operand(options.epilogue.row_scale);
  args.col_scale = operand(options.epilogue.col_scale);
  args.self_scale = operand(options.epilogue.self_scale);
  if (options.epilogue.bias) {
    args.bias = {options.epilogue.bias.data, options.epilogue.bias.dtype, 0, args.width, 1};
  }
  args.relu = options.epilogue.relu;
  args.out = result_in(expected.y, expected.shape);
  expected.absolute.resize(expected.y.size());
  expected.arg_u.resize(expected.y.size());
  expected.arg_e.resize(expected.y.size());
  args.arg_u = expected.arg_u.data();
  args.arg_e = expected.arg_e.data();
  reference::spmm(args, expected.absolute.data());
  expected.terms = degrees_of(graph);
  return expected;
}

inline Expected expected_sddmm(const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                               const SddmmOptions& options) {
  Expected expected;
  const Shape left = options.op == SddmmOp::copy_rhs ? rhs.shape : lhs.shape;
  const Shape right = options.op == SddmmOp::copy_lhs ? lhs.shape : rhs.shape;
  const Shape both = broadcast(left, right, graph.num_edges());
  expected.shape = both;
  if (options.op == SddmmOp::dot) expected.shape = both.rank == 3 ? Shape(both.rows, both.heads, 1) : Shape(both.rows);

  SddmmArgs args;
  args.graph = graph.view();
  args.op = options.op;
  args.lhs_target = options.lhs;
  args.rhs_target = options.rhs;
  args.heads = both.heads;
  args.width = both.width;
  args.lhs = operand(lhs);
  args.rhs = operand(rhs);
  args.out = result_in(expected.y, expected.shape);
  expected.absolute.resize(expected.y.size());
  reference::sddmm(args, expected.absolute.data());
  expected.terms.assign(static_cast<std::size_t>(both.rows), options.op == SddmmOp::dot ? both.width : 1);
  return expected;
}

/// In what an exponential is off, counted in roundings, beyond the error of its argument.
inline constexpr double exp_roundings = 8;

/// A weight's own size is its sum of |term|; the row's sum makes the number of terms.
inline Expected expected_softmax(const Graph& graph, ConstTensorView scores) {
  Expected expected;
  expected.shape = scores.shape;
  SoftmaxArgs args{graph.view(), scores.shape.heads, operand(scores), {}, result_in(expected.y, scores.shape)};
  args.scores.head_stride = 1;
  reference::softmax_forward(args);
  expected.absolute = expected.y;
  expected.terms.assign(static_cast<std::size_t>(graph.num_edges()), 1);
  for (std::int64_t row = 0; row < graph.num_rows(); ++row)
    for (EdgeId k = graph.offsets()[row]; k < graph.offsets()[row + 1]; ++k)
      expected.terms[static_cast<std::size_t>(graph.view().edge_id(k))] =
          graph.offsets()[row + 1] - graph.offsets()[row];
  expected.more = 2 * exp_roundings;
  return expected;
}

inline Expected expected_softmax_backward(const Graph& graph, ConstTensorView alpha, ConstTensorView grad) {
  Expected expected = expected_softmax(graph, alpha);  // for shape and terms
  SoftmaxArgs args{graph.view(), alpha.shape.heads, operand(alpha), operand(grad), result_in(expected.y, alpha.shape)};
  args.scores.head_stride = args.grad.head_stride = 1;
  reference::softmax_backward(args);
  // |alpha * grad| + |alpha| * sum over the row of |alpha * grad| <= 2 |alpha| max |grad|, and gradients lie in [-2,
  // 2].
  const std::vector<double> weights = doubles(alpha);
  for (std::size_t i = 0; i < weights.size(); ++i) expected.absolute[i] = 4 * std::fabs(weights[i]);
  expected.more = 2;
  return expected;
}

struct AttentionExpected {
  Expected out;
  std::vector<double> row_max, row_sum;
};

inline AttentionArgs attention_args(const Graph& graph, const AttentionInputs& inputs) {
  AttentionArgs args;
  args.graph = graph.view();
  args.score = inputs.score;
  args.heads = inputs.value.shape.heads;
  args.width = inputs.value.shape.width;
  args.score_width = inputs.src.shape.width;
  args.value = operand(inputs.value);
  args.src = operand(inputs.src);
  args.dst = operand(inputs.dst);
  args.attn = shared_row(inputs.attn);
  args.edge = operand(inputs.edge);
  args.bias = operand(inputs.bias);
  args.slope = inputs.slope;
  args.dropout = {inputs.dropout, inputs.seed};
  args.scale = inputs.scale;
  return args;
}

/// `largest_score`: a bound on the sum of |term| inside any one score. An exponent that is off by d makes
/// the weight off by the factor 1 + d, in the numerator and in the row's sum.
inline AttentionExpected expected_attention(const Graph& graph, const AttentionInputs& inputs, double largest_score) {
  AttentionExpected expected;
  AttentionArgs args = attention_args(graph, inputs);
  const Shape rows_by_heads(graph.num_rows(), args.heads, 1);
  expected.out.shape = Shape(graph.num_rows(), args.heads, args.width);
  args.out = result_in(expected.out.y, expected.out.shape);
  args.row_max = result_in(expected.row_max, rows_by_heads);
  args.row_sum = result_in(expected.row_sum, rows_by_heads);
  expected.out.absolute.resize(expected.out.y.size());
  reference::attention_forward(args, expected.out.absolute.data());
  expected.out.terms = degrees_of(graph);
  expected.out.more = 2 * (exp_roundings + largest_score * error_factor(args.score_width));
  return expected;
}

}  // namespace weft::test
