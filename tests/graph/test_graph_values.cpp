// Values that live on edges: carried to derived graphs, and the normalisation weights.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/naive_graph.hpp"
#include "support/errors.hpp"

namespace weft {
namespace {

using test::expect_refused;
using test::NaiveEdge;
using test::stored_edges;

Tensor edge_ids_tensor(const std::vector<std::int64_t>& values) {
  Tensor tensor = Tensor::empty(Shape(static_cast<std::int64_t>(values.size())), Dtype::i64);
  std::copy(values.begin(), values.end(), tensor.span<std::int64_t>().begin());
  return tensor;
}

std::vector<double> doubles(const Tensor& tensor) {
  const Tensor wide = tensor.to(Dtype::f64);
  return {wide.span<double>().begin(), wide.span<double>().end()};
}

Tensor random_values(std::int64_t count, Dtype dtype, std::uint64_t seed) {
  battery::SmallRandom random(seed);
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(0.25 + random.unit());
  return Tensor::from(std::span<const double>(values), Shape(count), dtype);
}

TEST(graph_carry_values, follows_every_edge_of_every_derived_graph) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const test::RandomCase input = test::random_case(seed, true);
    const Graph graph = input.list.graph(input.rows, input.cols);
    const Tensor values = random_values(graph.num_edges(), Dtype::f64, seed);
    const auto check = [&](const Derived& derived, double fill) {
      const std::vector<double> carried = doubles(carry_values(derived.origin, values, Duplicates::merge, fill));
      ASSERT_EQ(carried.size(), static_cast<std::size_t>(derived.graph.num_edges()));
      const auto ids = derived.origin.ids();
      for (std::size_t k = 0; k < carried.size(); ++k) {
        double expected = 0;
        if (derived.origin.one_to_one()) {
          expected = ids[k] < 0 ? fill : values.span<double>()[static_cast<std::size_t>(ids[k])];
        } else {
          for (EdgeId i = derived.origin.offsets()[k]; i < derived.origin.offsets()[k + 1]; ++i)
            expected += values.span<double>()[static_cast<std::size_t>(ids[static_cast<std::size_t>(i)])];
        }
        ASSERT_EQ(carried[k], expected) << k;
      }
    };
    check(simplify(graph, Duplicates::keep), 1);
    check(simplify(graph, Duplicates::drop), 1);
    check(simplify(graph, Duplicates::merge), 1);
    check(with_self_loops(graph, SelfLoops::add), 2.5);
    check(symmetrise(graph, Duplicates::merge), 1);
    check(in_stored_order(graph), 1);
  }
}

TEST(graph_carry_values, carries_all_dtypes_heads_and_widths_and_slices_of_columns) {
  const EdgeOrigin origin(edge_ids_tensor({2, -1, 0}));
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64}) {
    SCOPED_TRACE(name(dtype));
    const std::vector<double> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const Tensor cube = Tensor::from(std::span<const double>(numbers), Shape(3, 2, 2), dtype);
    const Tensor carried = carry_values(origin, cube, Duplicates::merge, 100);
    EXPECT_EQ(carried.shape(), Shape(3, 2, 2));
    EXPECT_EQ(carried.dtype(), dtype);
    EXPECT_EQ(doubles(carried), (std::vector<double>{9, 10, 11, 12, 100, 100, 100, 100, 1, 2, 3, 4}));
    const Tensor matrix = Tensor::from(std::span<const double>(numbers), Shape(3, 4), dtype);
    const Tensor slice = carry_values(origin, columns(matrix.view(), 1, 2), Duplicates::merge, 7);
    EXPECT_EQ(slice.shape(), Shape(3, 2));
    EXPECT_EQ(doubles(slice), (std::vector<double>{10, 11, 7, 7, 2, 3}));
  }
}

TEST(graph_carry_values, merge_adds_in_float_and_rounds_once_and_drop_takes_the_first) {
  const EdgeOrigin origin(edge_ids_tensor({0, 3, 3, 4}), edge_ids_tensor({0, 1, 3, 2}));
  // 2048 + 1 + 1: halves would lose both ones.
  const std::vector<double> numbers{2048, 1, 5, 1};
  const Tensor values = Tensor::from(std::span<const double>(numbers), Shape(4), Dtype::f16);
  EXPECT_EQ(doubles(carry_values(origin, values, Duplicates::merge, 9)), (std::vector<double>{2050, 9, 5}));
  EXPECT_EQ(doubles(carry_values(origin, values, Duplicates::drop, 9)), (std::vector<double>{2048, 9, 5}));
}

TEST(graph_carry_values, merges_integers_exactly_or_says_that_it_cannot) {
  const EdgeOrigin origin(edge_ids_tensor({0, 2}), edge_ids_tensor({0, 1}));
  Tensor small = Tensor::zeros(Shape(2), Dtype::i32), large = Tensor::zeros(Shape(2), Dtype::i64);
  small.span<std::int32_t>()[0] = std::numeric_limits<std::int32_t>::max();
  large.span<std::int64_t>()[0] = std::numeric_limits<std::int64_t>::max();
  const Tensor carried = carry_values(origin, large);
  EXPECT_EQ(carried.span<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max());
  small.span<std::int32_t>()[1] = 1;
  large.span<std::int64_t>()[1] = 1;
  expect_refused([&] { carry_values(origin, small); }, "values");
  expect_refused([&] { carry_values(origin, large); }, "values");
}

TEST(graph_carry_values, refuses_what_does_not_fit_the_origin) {
  const EdgeOrigin origin(edge_ids_tensor({0, 3, 1})), negative(edge_ids_tensor({0, -2}));
  const EdgeOrigin united(edge_ids_tensor({0, 2}), edge_ids_tensor({0, 1}));
  const EdgeOrigin with_new(edge_ids_tensor({0, 2}), edge_ids_tensor({0, -1}));
  const EdgeOrigin falling(edge_ids_tensor({0, 2, 1, 2}), edge_ids_tensor({0, 1}));
  const EdgeOrigin open(edge_ids_tensor({0, 1}), edge_ids_tensor({0, 1}));
  const Tensor three = random_values(3, Dtype::f32, 1), four = random_values(4, Dtype::f32, 1);
  EXPECT_NO_THROW(carry_values(origin, four));
  expect_refused([&] { carry_values(origin, three); }, "values");
  expect_refused([&] { carry_values(origin, {}); }, "values");
  expect_refused([&] { carry_values(negative, four); }, "origin");
  expect_refused([&] { carry_values(with_new, four); }, "origin");
  expect_refused([&] { carry_values(falling, four); }, "origin");
  expect_refused([&] { carry_values(open, four); }, "origin");
  expect_refused([&] { carry_values(united, four, Duplicates::keep); }, "duplicates");
  expect_refused([&] { carry_values(united, four, static_cast<Duplicates>(9)); }, "duplicates");
  ConstTensorView elsewhere = four.view(), narrow = four.view(), nothing = four.view();
  elsewhere.device = {DeviceKind::cuda, 0};
  expect_refused([&] { carry_values(origin, elsewhere); }, "values", ErrorCode::unsupported);
  narrow.ld = 0;
  expect_refused([&] { carry_values(origin, narrow); }, "values");
  nothing.data = nullptr;
  expect_refused([&] { carry_values(origin, nothing); }, "values");
}

TEST(graph_carry_values, refuses_a_fill_that_an_integer_cannot_hold) {
  const EdgeOrigin origin(edge_ids_tensor({0, -1}));
  const Tensor small = Tensor::zeros(Shape(1), Dtype::i32), large = Tensor::zeros(Shape(1), Dtype::i64);
  EXPECT_NO_THROW(carry_values(origin, small, Duplicates::merge, -2147483648.0));
  expect_refused([&] { carry_values(origin, small, Duplicates::merge, 0.5); }, "fill");
  expect_refused([&] { carry_values(origin, small, Duplicates::merge, 2147483648.0); }, "fill");
  expect_refused([&] { carry_values(origin, large, Duplicates::merge, std::nan("")); }, "fill");
  expect_refused([&] { carry_values(origin, large, Duplicates::merge, 1e300); }, "fill");
}

// 1 / sqrt(in * out), or weighted, straight from the list of edges.
std::vector<double> naive_gcn(const Graph& graph, const std::vector<double>& weight) {
  std::vector<double> in(static_cast<std::size_t>(graph.num_rows()), 0),
      out(static_cast<std::size_t>(graph.num_cols()), 0);
  for (const NaiveEdge& edge : stored_edges(graph)) {
    in[static_cast<std::size_t>(edge.row)] += weight[static_cast<std::size_t>(edge.id)];
    out[static_cast<std::size_t>(edge.col)] += weight[static_cast<std::size_t>(edge.id)];
  }
  std::vector<double> result(weight.size());
  for (const NaiveEdge& edge : stored_edges(graph)) {
    const double product = in[static_cast<std::size_t>(edge.row)] * out[static_cast<std::size_t>(edge.col)];
    result[static_cast<std::size_t>(edge.id)] =
        product > 0 ? weight[static_cast<std::size_t>(edge.id)] / std::sqrt(product) : 0;
  }
  return result;
}

TEST(graph_gcn_weights, agree_with_the_formula_by_edge_id) {
  for (const auto& [label, graph] : battery_graphs()) {
    SCOPED_TRACE(label);
    const std::vector<double> ones(static_cast<std::size_t>(graph.num_edges()), 1.0);
    EXPECT_EQ(doubles(gcn_weights(graph, {}, Dtype::f64)), naive_gcn(graph, ones));
    const Tensor values = random_values(graph.num_edges(), Dtype::f64, 61);
    const std::vector<double> weighted = doubles(gcn_weights(graph, values, Dtype::f64));
    const std::vector<double> expected = naive_gcn(graph, doubles(values));
    for (std::size_t e = 0; e < expected.size(); ++e) ASSERT_NEAR(weighted[e], expected[e], 1e-14) << e;
  }
}

TEST(graph_gcn_weights, round_once_to_the_dtype_asked_for) {
  const Graph graph = battery::power_law_graph();
  const Tensor exact = gcn_weights(graph, {}, Dtype::f64);
  EXPECT_EQ(gcn_weights(graph).dtype(), Dtype::f32);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    EXPECT_EQ(doubles(gcn_weights(graph, {}, dtype)), doubles(exact.to(dtype))) << name(dtype);
}

TEST(graph_gcn_weights, read_weights_of_any_dtype) {
  const Graph graph = battery::grid_graph(5);
  std::vector<double> ones(static_cast<std::size_t>(graph.num_edges()), 1.0);
  const std::vector<double> plain = doubles(gcn_weights(graph, {}, Dtype::f64));
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64}) {
    const Tensor values = Tensor::from(std::span<const double>(ones), Shape(graph.num_edges()), dtype);
    EXPECT_EQ(doubles(gcn_weights(graph, values, Dtype::f64)), plain) << name(dtype);
  }
}

TEST(graph_gcn_weights, of_weights_that_cancel_or_leave_the_range_of_products_are_finite) {
  const std::vector<NodeId> destinations{0, 0, 1}, sources{0, 1, 1};
  const Graph graph = Graph::from_edges(2, {.sources = sources, .destinations = destinations});
  const auto weights = [&](std::vector<double> values) {
    return doubles(gcn_weights(graph, Tensor::from(std::span<const double>(values), Shape(3), Dtype::f64), Dtype::f64));
  };
  EXPECT_EQ(weights({1, -1, 2})[0], 0);  // row 0 sums to 0
  EXPECT_EQ(weights({0, 0, 0}), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(weights({-1, -1, -1}), (std::vector<double>{0, 0, 0}));
  for (const double size : {1e-200, 1e200, 5e-324}) {
    const std::vector<double> result = weights({size, size, size});
    EXPECT_NEAR(result[0], 1 / std::sqrt(2.0), 1e-12) << size;
    EXPECT_NEAR(result[1], 0.5, 1e-12) << size;
  }
}

TEST(graph_gcn_weights, and_mean_weights_are_the_same_bits_for_any_number_of_threads) {
  const test::ThreadsRestored restored;
  const Graph graph = battery::random_graph(3000, 3000, 200'000, 62);
  const Tensor values = random_values(graph.num_edges(), Dtype::f32, 63);
  std::vector<double> first, first_plain, first_mean;
  for (int threads = 1; threads <= 5; ++threads) {
    set_default_threads(threads);
    const std::vector<double> weighted = doubles(gcn_weights(graph, values)), plain = doubles(gcn_weights(graph)),
                              mean = doubles(mean_weights(graph));
    if (threads == 1) {
      first = weighted;
      first_plain = plain;
      first_mean = mean;
    }
    EXPECT_TRUE(weighted == first && plain == first_plain && mean == first_mean) << threads << " threads";
  }
}

TEST(graph_gcn_weights, refuse_weights_that_do_not_fit_the_edges) {
  const Graph graph = battery::grid_graph(3);  // 24 edges
  const Tensor short_values = random_values(23, Dtype::f32, 1), wide = Tensor::zeros(Shape(24, 2), Dtype::f32);
  Tensor not_finite = random_values(24, Dtype::f32, 1);
  not_finite.span<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  expect_refused([&] { gcn_weights(graph, short_values); }, "values");
  expect_refused([&] { gcn_weights(graph, wide); }, "values");
  expect_refused([&] { gcn_weights(graph, not_finite); }, "values");
  EXPECT_EQ(test::message_of([&] { gcn_weights(graph, not_finite); }), "values[7] is nan: expected a finite weight");
  ConstTensorView elsewhere = not_finite.view();
  elsewhere.device = {DeviceKind::cuda, 0};
  expect_refused([&] { gcn_weights(graph, elsewhere); }, "values", ErrorCode::unsupported);
  expect_refused([&] { gcn_weights(graph, {}, Dtype::i32); }, "dtype");
}

TEST(graph_mean_weights, share_one_among_the_edges_of_a_row) {
  for (const auto& [label, graph] : battery_graphs()) {
    SCOPED_TRACE(label);
    const std::vector<double> weights = doubles(mean_weights(graph, Dtype::f64));
    const auto offsets = graph.offsets();
    for (const NaiveEdge& edge : stored_edges(graph)) {
      const auto row = static_cast<std::size_t>(edge.row);
      ASSERT_EQ(weights[static_cast<std::size_t>(edge.id)], 1.0 / static_cast<double>(offsets[row + 1] - offsets[row]));
    }
  }
  expect_refused([] { mean_weights(Graph(), Dtype::i64); }, "dtype");
}

}  // namespace
}  // namespace weft
