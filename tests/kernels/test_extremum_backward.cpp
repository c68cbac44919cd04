// Winners are drawn at random among the edges of a row, so the kernels are judged without any forward; all
// values are small powers of two, so every sum is exact and must equal the plain loops' bit for bit.
#include "kernels/extremum_backward.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/partition.hpp"
#include "support/hand_outs.hpp"
#include "support/oracle.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

/// A hub at both ends: row 0 and source 0 have more edges than two pieces, other rows some or none.
const Graph& hubs() {
  static const Graph built = [] {
    Random random(301);
    std::vector<NodeId> destinations, sources;
    for (int k = 0; k < 9000; ++k) {
      destinations.push_back(k % 3 == 0 ? 0 : static_cast<NodeId>(2 * random.integer(0, 99)));
      sources.push_back(k % 4 == 0 ? 0 : static_cast<NodeId>(random.integer(0, 149)));
    }
    return Graph::from_edges({.num_sources = 150, .num_destinations = 200},
                             {.sources = sources, .destinations = destinations});
  }();
  return built;
}

Tensor powers_of_two(Shape shape, Dtype dtype, std::uint64_t seed) {
  Random random(seed);
  return filled(shape, dtype, [&] {
    return std::ldexp(random.next() % 2 == 0 ? 1.0 : -1.0, static_cast<int>(random.integer(-1, 1)));
  });
}

struct Case {
  SpmmOp op;
  Shape x, edge;  // rows are those of the graph
};

struct Problem {
  ExtremumBackwardArgs args;  // without graph and output
  Tensor x, edge, out_grad, rows, cols;
  std::vector<EdgeId> winners;

  Problem(const Case& tested, Dtype dtype) {
    const Graph& graph = hubs();
    const Dtype acc = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    if (uses_node(tested.op)) x = powers_of_two(tested.x, dtype, 302);
    if (uses_edge(tested.op)) edge = powers_of_two(tested.edge, dtype, 303);
    args.op = tested.op;
    const Shape joint = broadcast(tested.x, tested.edge, graph.num_rows());
    args.heads = joint.heads;
    args.width = joint.width;
    out_grad = powers_of_two(joint, dtype, 304);
    rows = powers_of_two(Shape(graph.num_rows()), acc, 305);
    cols = powers_of_two(Shape(graph.num_cols()), acc, 306);
    Random random(307);
    for (std::int64_t v = 0; v < graph.num_rows(); ++v)
      for (std::int64_t i = 0; i < args.heads * args.width; ++i) {
        const EdgeId begin = graph.view().offsets[v], end = graph.view().offsets[v + 1];
        winners.push_back(begin == end ? -1 : graph.view().edge_id(random.integer(begin, end - 1)));
      }
    args.x = operand(std::as_const(x));
    args.edge = operand(std::as_const(edge));
    args.out_grad = operand(std::as_const(out_grad));
    args.row_scale = operand(std::as_const(rows));
    args.col_scale = operand(std::as_const(cols));
    args.arg_e = winners.data();
  }

  /// Plain loops over the forward's outputs: what each sends to its winner, added up by source or by edge.
  Tensor expected(bool of_edge) const {
    const Shape shape = (of_edge ? edge : x).shape();
    const GraphView graph = hubs().view();
    const auto element = [](const Tensor& tensor, std::int64_t row, std::int64_t h, std::int64_t f) {
      const Shape& s = tensor.shape();
      return (row * s.heads + (s.heads == 1 ? 0 : h)) * s.width + (s.width == 1 ? 0 : f);
    };
    const std::vector<double> xs = doubles(x), edges = doubles(edge), grads = doubles(out_grad);
    const std::vector<double> by_row = doubles(rows), by_col = doubles(cols);
    std::vector<double> sums(static_cast<std::size_t>(shape.size()), 0.0);
    const auto at = [](const std::vector<double>& values, std::int64_t i) {
      return values[static_cast<std::size_t>(i)];
    };
    for (std::int64_t v = 0; v < graph.num_rows; ++v)
      for (EdgeId k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k)
        for (std::int64_t h = 0; h < args.heads; ++h)
          for (std::int64_t f = 0; f < args.width; ++f) {
            const std::int64_t u = graph.cols[k], output = (v * args.heads + h) * args.width + f;
            const EdgeId id = graph.edge_id(k);
            if (winners[static_cast<std::size_t>(output)] != id) continue;
            const double xv = x ? at(xs, element(x, u, h, f)) : 0, ev = edge ? at(edges, element(edge, id, h, f)) : 0;
            double slope = 1;
            if (args.op == SpmmOp::u_mul_e) slope = of_edge ? xv : ev;
            if (args.op == SpmmOp::u_div_e) slope = of_edge ? -xv / (ev * ev) : 1 / ev;
            if (args.op == SpmmOp::u_sub_e) slope = of_edge ? -1 : 1;
            sums[static_cast<std::size_t>(of_edge ? element(edge, id, h, f) : element(x, u, h, f))] +=
                at(grads, output) * at(by_row, v) * at(by_col, u) * slope;
          }
    return Tensor::from(std::span<const double>(sums), shape, out_grad.dtype());
  }

  Tensor run(bool of_edge, int threads, const char* policy) {
    const Tensor& input = of_edge ? edge : x;
    const Graph over = of_edge ? hubs() : hubs().transpose();
    Context context = Context::cpu(threads);
    const Plan plan = make_plan(context, over, extremum_backward_desc(args.heads, args.width), parse_policy(policy));
    context.reserve(plan.workspace_bytes);
    Tensor gradient = constant(input.shape(), input.dtype(), std::nan(""));
    args.graph = over.view();
    args.out_heads = input.shape().heads;
    args.out_width = input.shape().width;
    args.out = {gradient.view().mutable_data(), gradient.dtype(), input.shape().row_size()};
    (of_edge ? cpu::extremum_edge_gradient : cpu::extremum_x_gradient)(args, plan, context.arena());
    return gradient;
  }
};

TEST(extremum_backward, equals_plain_loops_for_every_op_shape_dtype_plan_and_number_of_threads) {
  const std::int64_t n = hubs().num_cols(), e = hubs().num_edges();
  // The last four have no features to win, yet one of their gradients has elements: all of it is 0.
  const Case cases[] = {
      {SpmmOp::copy_u, Shape(n, 7), Shape(e)},           {SpmmOp::copy_e, Shape(n), Shape(e, 7)},
      {SpmmOp::u_add_e, Shape(n, 2, 3), Shape(e, 2, 3)}, {SpmmOp::u_sub_e, Shape(n, 2, 3), Shape(e, 2, 1)},
      {SpmmOp::u_mul_e, Shape(n, 1, 3), Shape(e, 2, 1)}, {SpmmOp::u_mul_e, Shape(n), Shape(e, 5)},
      {SpmmOp::u_div_e, Shape(n, 5), Shape(e)},          {SpmmOp::u_mul_e, Shape(n, 0), Shape(e)},
      {SpmmOp::u_add_e, Shape(n), Shape(e, 0)},          {SpmmOp::u_sub_e, Shape(n, 2, 0), Shape(e, 2, 1)},
      {SpmmOp::u_div_e, Shape(n, 1), Shape(e, 2, 0)}};
  for (const Case& tested : cases)
    for (const Dtype dtype : floating_dtypes) {
      Problem problem(tested, dtype);
      for (const bool of_edge : {false, true}) {
        if (of_edge ? !uses_edge(tested.op) : !uses_node(tested.op)) continue;
        const Tensor expected = problem.expected(of_edge);
        for (const int threads : {1, 2, 3, 5})
          for (const char* policy : {"", "tasks=1", "tasks=7", "schedule=rows", "tasks=64,assignment=round_robin"})
            EXPECT_TRUE(bitwise_equal(problem.run(of_edge, threads, policy), expected)) << fmt::format(
                "{} {} of {}: {} threads, {}", name(tested.op), name(dtype), of_edge ? "edge" : "x", threads, policy);
      }
    }
}

/// The plan cuts the hub evenly, and the kernel hands out the plan's tasks: not one per row, of which there are three.
TEST(extremum_backward, a_hub_is_shared_by_all_threads) {
  constexpr std::int64_t leaves = 100'000, width = 16;
  const Graph star = hub_graph(leaves);
  const Tensor by_row = powers_of_two(Shape(3, width), Dtype::f32, 308);
  const Tensor by_leaf = powers_of_two(Shape(leaves, width), Dtype::f32, 309);
  const std::vector<EdgeId> winners(static_cast<std::size_t>(leaves * width), 7);
  for (const bool of_edge : {false, true})
    for (const int threads : {2, 4, 8}) {
      SCOPED_TRACE(fmt::format("{}, {} threads", of_edge ? "edge" : "x", threads));
      Context context = Context::cpu(threads);
      const Plan plan = make_plan(context, star, extremum_backward_desc(1, width));
      context.reserve(plan.workspace_bytes);
      ASSERT_GE(plan.tasks, threads);
      ASSERT_GT(plan.tasks, star.num_rows());
      for (std::int64_t task = 0; task < plan.tasks; ++task)
        EXPECT_LE(edges_of(plan, star.view(), task), leaves / threads + 2 * piece_edges)
            << "task " << task << " of " << plan.tasks;
      // The hub is the destination of every edge, or in the transpose the source.
      Tensor gradient = Tensor::empty((of_edge ? by_leaf : by_row).shape(), Dtype::f32);
      ExtremumBackwardArgs args;
      args.graph = star.view();
      args.op = of_edge ? SpmmOp::copy_e : SpmmOp::copy_u;
      args.width = args.out_width = width;
      (of_edge ? args.edge : args.x) = operand(std::as_const(of_edge ? by_leaf : by_row));
      args.out_grad = operand(std::as_const(of_edge ? by_row : by_leaf));
      args.arg_e = winners.data();
      args.out = {gradient.view().mutable_data(), gradient.dtype(), width};
      HandOuts seen;
      (of_edge ? cpu::extremum_edge_gradient : cpu::extremum_x_gradient)(args, plan, context.arena());
      EXPECT_EQ(seen.of(threads, plan.tasks), 1);
    }
}

}  // namespace
}  // namespace weft::test
