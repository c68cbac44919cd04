#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "battery/sweep.hpp"

namespace weft::test {
namespace {

/// How features and edge values meet; each is one way of broadcasting.
enum class EdgeShape { scalar, trailing_one, vector, vector_over_scalar_x, per_head, vector_per_head };
constexpr EdgeShape edge_shapes[] = {EdgeShape::scalar,   EdgeShape::trailing_one,
                                     EdgeShape::vector,   EdgeShape::vector_over_scalar_x,
                                     EdgeShape::per_head, EdgeShape::vector_per_head};

struct Case {
  const BatteryGraph* graph;
  std::int64_t width;
  Dtype dtype;
  SpmmOp op;
  Reduce reduce;
  EdgeShape edge_shape;
  std::int64_t heads = 1;

  Shape x_shape() const {
    const std::int64_t n = graph->graph.num_cols();
    if (edge_shape >= EdgeShape::per_head) return Shape(n, heads, width);
    if (edge_shape == EdgeShape::vector_over_scalar_x) return Shape(n, 1);
    return Shape(n, width);
  }
  Shape e_shape() const {
    const std::int64_t e = graph->graph.num_edges();
    switch (edge_shape) {
      case EdgeShape::scalar: return Shape(e);
      case EdgeShape::trailing_one: return Shape(e, 1);
      case EdgeShape::per_head: return Shape(e, heads, 1);
      case EdgeShape::vector_per_head: return Shape(e, heads, width);
      default: return Shape(e, width);
    }
  }
  std::string text() const {
    return fmt::format("{} {} {} {} x {} edge {}", graph->name, name(dtype), name(op), name(reduce),
                       to_string(x_shape()), to_string(e_shape()));
  }
};

double element(ConstTensorView view, std::int64_t row, std::int64_t head, std::int64_t feature) {
  const std::int64_t h = view.shape.heads == 1 ? 0 : head, f = view.shape.width == 1 ? 0 : feature;
  return with_floating(view.dtype, "view", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert<double>(view.as<T>()[row * view.ld + h * view.shape.width + f]);
  });
}

double message(SpmmOp op, ConstTensorView x, ConstTensorView edge, NodeId u, EdgeId e, std::int64_t head,
               std::int64_t feature) {
  const double left = uses_node(op) ? element(x, u, head, feature) : 0;
  const double right = uses_edge(op) ? element(edge, e, head, feature) : 0;
  switch (op) {
    case SpmmOp::copy_u: return left;
    case SpmmOp::copy_e: return right;
    case SpmmOp::u_add_e: return left + right;
    case SpmmOp::u_sub_e: return left - right;
    case SpmmOp::u_mul_e: return left * right;
    case SpmmOp::u_div_e: return left / right;
  }
  return 0;
}

/// The winner's own message must be the extremum up to its rounding, and it must arrive at its row.
void expect_winners(const Case& c, ConstTensorView x, ConstTensorView edge, const SpmmExpected& expected,
                    const Tensor& arg_u, const Tensor& arg_e, const std::vector<NodeId>& source_of,
                    const std::vector<NodeId>& row_of) {
  const double eps = c.dtype == Dtype::f64 ? 0x1p-52 : 0x1p-23;
  const auto us = arg_u.span<NodeId>();
  const auto es = arg_e.span<EdgeId>();
  const auto row_size = static_cast<std::size_t>(expected.shape.row_size());
  for (std::size_t i = 0; i < expected.y.size(); ++i) {
    ASSERT_EQ(es[i] < 0, expected.arg_e[i] < 0) << c.text() << " element " << i;
    ASSERT_EQ(us[i] < 0, expected.arg_u[i] < 0) << c.text() << " element " << i;
    if (expected.arg_e[i] < 0) {
      ASSERT_EQ(es[i], -1);
      ASSERT_EQ(us[i], -1);
      continue;
    }
    ASSERT_LT(es[i], c.graph->graph.num_edges());
    const auto e = static_cast<std::size_t>(es[i]);
    ASSERT_EQ(us[i], source_of[e]) << c.text() << " element " << i;
    ASSERT_EQ(row_of[e], static_cast<NodeId>(i / row_size)) << c.text() << " element " << i;
    const auto column = static_cast<std::int64_t>(i % row_size);
    const double won =
        message(c.op, x, edge, us[i], es[i], column / expected.shape.width, column % expected.shape.width);
    ASSERT_NEAR(won, expected.y[i], 2 * eps * std::fabs(expected.y[i])) << c.text() << " element " << i;
  }
}

void run(const Case& c, const Graph& there, std::uint64_t seed, Way& way, const std::vector<NodeId>& source_of,
         const std::vector<NodeId>& row_of) {
  const std::string context = c.text() + " " + way.name + fmt::format(" seed={}", seed);
  const Graph& graph = c.graph->graph;
  Tensor x, edge;
  if (uses_node(c.op)) x = random_tensor(c.x_shape(), c.dtype, seed);
  if (uses_edge(c.op))
    edge = c.op == SpmmOp::u_div_e ? random_divisors(c.e_shape(), c.dtype, seed + 1)
                                   : random_tensor(c.e_shape(), c.dtype, seed + 1);
  SpmmOptions options;
  options.op = c.op;
  options.reduce = c.reduce;
  const SpmmExpected expected = expected_spmm(graph, x, edge, options);

  const Device device = there.device();
  Tensor arg_u, arg_e;
  const bool extremum = c.reduce == Reduce::max || c.reduce == Reduce::min;
  if (extremum) {
    arg_u = Tensor::empty(expected.shape, Dtype::i32, "arg_u", device);
    arg_e = Tensor::empty(expected.shape, Dtype::i64, "arg_e", device);
    options.arg_u = arg_u;
    options.arg_e = arg_e;
  }
  OpDesc desc{OpKind::spmm, c.dtype, expected.shape.heads, expected.shape.width, c.reduce, uses_edge(c.op)};
  const Plan plan = planned(way, there, desc);
  Tensor out = on(device, constant(expected.shape, c.dtype, std::nan("")));
  spmm(way.context, plan, there, on(device, x), on(device, edge), out, options);
  expect_within_bound(on(Device{}, out), expected, context);
  if (extremum) expect_winners(c, x, edge, expected, on(Device{}, arg_u), on(Device{}, arg_e), source_of, row_of);
}

class spmm_battery : public Battery {};

TEST_P(spmm_battery, agrees_with_the_reference_on_every_graph_op_reducer_width_and_edge_shape) {
  const auto [dtype, device] = GetParam();
  std::vector<Way> ways = ways_to_run(device);
  Sweep sweep(4096);
  std::set<std::tuple<SpmmOp, Reduce, std::int64_t>> widths_seen;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = on(device, graph);
    std::vector<NodeId> source_of(static_cast<std::size_t>(graph.num_edges())), row_of = source_of;
    for (EdgeId k = 0; k < graph.num_edges(); ++k) {
      source_of[static_cast<std::size_t>(graph.view().edge_id(k))] = graph.cols()[static_cast<std::size_t>(k)];
      row_of[static_cast<std::size_t>(graph.view().edge_id(k))] = graph.rows()[static_cast<std::size_t>(k)];
    }
    std::set<std::tuple<SpmmOp, Reduce>> seen;
    for (const std::int64_t width : battery_widths) {
      for (const SpmmOp op : spmm_ops) {
        for (const Reduce reduce : reducers) {
          for (const EdgeShape edge_shape : edge_shapes) {
            Case c{&battery, width, dtype, op, reduce, edge_shape};
            const bool heads = edge_shape >= EdgeShape::per_head;
            if (heads && width > 64) continue;
            if (op == SpmmOp::copy_u && edge_shape != EdgeShape::scalar && edge_shape != EdgeShape::per_head) continue;
            const bool chosen = sweep.next((graph.num_edges() + graph.num_rows()) * width * (heads ? 3 : 1));
            // Large graphs are thinned out, but no op and reducer is left out of any of them.
            const bool needed = width == 33 && edge_shape == EdgeShape::scalar && !seen.contains({op, reduce});
            if (!chosen && !needed) continue;
            if (heads) c.heads = sweep.seed() % 2 == 0 ? 2 : 4;
            seen.insert({op, reduce});
            widths_seen.insert({op, reduce, width});
            run(c, there, sweep.seed(), way_for(ways, sweep.seed()), source_of, row_of);
            if (HasFailure()) return;
          }
        }
      }
    }
    EXPECT_EQ(seen.size(), std::size(spmm_ops) * std::size(reducers)) << battery.name;
  }
  EXPECT_EQ(widths_seen.size(), std::size(spmm_ops) * std::size(reducers) * std::size(battery_widths));
}

INSTANTIATE_TEST_SUITE_P(settings, spmm_battery, ::testing::ValuesIn(settings()), text_of);

// The short form plans for itself; it must say the same as the planned form.
TEST(spmm_short_form, agrees_with_the_reference_on_every_graph) {
  Context context = Context::cpu(2);
  std::uint64_t seed = 100;
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const Dtype dtype : floating_dtypes) {
      const Tensor x = random_tensor(Shape(battery.graph.num_cols(), 7), dtype, ++seed);
      const Tensor edge = random_tensor(Shape(battery.graph.num_edges()), dtype, ++seed);
      for (const Reduce reduce : reducers) {
        SpmmOptions options;
        options.reduce = reduce;
        const Tensor out = spmm(context, battery.graph, x, edge, options);
        EXPECT_EQ(out.dtype(), dtype);
        expect_within_bound(out, expected_spmm(battery.graph, x, edge, options),
                            fmt::format("{} {} {}", battery.name, name(dtype), name(reduce)));
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
