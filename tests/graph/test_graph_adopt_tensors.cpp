// Graphs over compressed rows in tensors: whatever their types, the graph is that of its rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/naive_graph.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "weft/graph.hpp"

namespace weft::test {
namespace {

/// A graph's arrays in types of the caller's.
struct Rows {
  std::vector<std::int32_t> narrow_offsets, cols;
  std::vector<std::int64_t> offsets, wide_cols, ids;
  bool narrow = false, wide = false;

  Rows(const Graph& graph, bool narrow_rows, bool wide_columns)
      : offsets(graph.offsets().begin(), graph.offsets().end()), narrow(narrow_rows), wide(wide_columns) {
    narrow_offsets.assign(offsets.begin(), offsets.end());
    cols.assign(graph.cols().begin(), graph.cols().end());
    wide_cols.assign(cols.begin(), cols.end());
    ids.assign(graph.edge_ids().begin(), graph.edge_ids().end());
  }
  template <class T>
  static ConstTensorView view(const std::vector<T>& values) {
    return {std::span<const T>(values), Shape(static_cast<std::int64_t>(values.size()))};
  }
  RowTensors tensors() const {
    RowTensors rows;
    rows.offsets = narrow ? view(narrow_offsets) : view(offsets);
    rows.cols = wide ? view(wide_cols) : view(cols);
    if (!ids.empty()) rows.edge_ids = view(ids);
    return rows;
  }
};

NodeCounts nodes_of(const Graph& graph) {
  return {.num_sources = graph.num_cols(), .num_destinations = graph.num_rows()};
}

TEST(graph_adopt_tensors, is_the_graph_of_its_rows_in_every_type) {
  for (const BatteryGraph& battery : battery_graphs())
    for (const bool narrow : {false, true})
      for (const bool wide : {false, true})
        for (const Validate validate : {Validate::full, Validate::trusted}) {
          SCOPED_TRACE(
              fmt::format("{} {} offsets {} columns", battery.name, narrow ? "i32" : "i64", wide ? "i64" : "i32"));
          const Graph& graph = battery.graph;
          const Graph reversed = graph.transpose();
          const Rows rows(graph, narrow, wide), back(reversed, wide, narrow);
          const Graph one = Graph::adopt(nodes_of(graph), rows.tensors(), {}, nullptr, validate);
          EXPECT_EQ(stored_edges(one), stored_edges(graph));
          EXPECT_EQ(stored_edges(one.transpose()), stored_edges(reversed));
          const Graph both = Graph::adopt(nodes_of(graph), rows.tensors(), back.tensors(), nullptr, validate);
          EXPECT_EQ(stored_edges(both), stored_edges(graph));
          EXPECT_EQ(stored_edges(both.transpose()), stored_edges(reversed));
          EXPECT_EQ(both.transpose().transpose().identity(), both.identity());
        }
}

TEST(graph_adopt_tensors, copies_only_what_has_another_type_and_keeps_the_rest_alive) {
  const Graph graph = battery::power_law_graph();
  for (const bool narrow : {false, true})
    for (const bool wide : {false, true}) {
      const auto rows = std::make_shared<Rows>(graph, narrow, wide);
      const Graph adopted = Graph::adopt(nodes_of(graph), rows->tensors(), {}, rows);
      EXPECT_EQ(rows.use_count(), 2);
      EXPECT_EQ(adopted.offsets().data() == rows->offsets.data(), !narrow);
      EXPECT_EQ(adopted.cols().data() == rows->cols.data(), !wide);
      const Graph copy = adopted;
      EXPECT_EQ(rows.use_count(), 2);
    }
}

TEST(graph_adopt_tensors, has_no_ids_where_they_stand_in_sequence) {
  const Graph graph = Graph::from_csr(3, 3, std::vector<EdgeId>{0, 1, 2, 3}, std::vector<NodeId>{2, 0, 1});
  Rows rows(graph, false, false);
  rows.ids = {0, 1, 2};
  EXPECT_FALSE(Graph::adopt(nodes_of(graph), rows.tensors(), {}, nullptr).has_edge_ids());
  rows.ids = {0, 2, 1};
  EXPECT_TRUE(Graph::adopt(nodes_of(graph), rows.tensors(), {}, nullptr).has_edge_ids());
}

struct graph_adopt_refusals : ::testing::Test {
  Graph graph = Graph::from_csr(3, 4, std::vector<EdgeId>{0, 2, 2, 5}, std::vector<NodeId>{1, 3, 0, 0, 2});

  void refused(const Rows& rows, std::string_view names, ErrorCode code = ErrorCode::invalid_graph) {
    expect_refused([&] { Graph::adopt(nodes_of(graph), rows.tensors(), {}, nullptr); }, names, code);
  }
};

TEST_F(graph_adopt_refusals, name_the_index_that_is_out_of_place) {
  for (const bool narrow : {false, true}) {
    Rows falls(graph, narrow, false);
    falls.offsets[1] = falls.narrow_offsets[1] = 4;
    refused(falls, "rows.offsets[2] is 2");
    Rows late(graph, narrow, false);
    late.offsets[0] = late.narrow_offsets[0] = 1;
    refused(late, "rows.offsets[0] is 1");
    Rows more(graph, narrow, false);
    more.offsets[3] = more.narrow_offsets[3] = 6;
    refused(more, "rows.offsets[3] is 6");
  }
  Rows outside(graph, false, false);
  outside.cols[3] = 4;
  refused(outside, "rows.cols[3] is 4");
  Rows wide(graph, false, true);
  wide.wide_cols[2] = std::int64_t{1} << 32;
  refused(wide, "rows.cols[2] is 4294967296");
  Rows twice(graph, false, false);
  twice.ids = {0, 1, 2, 2, 4};
  refused(twice, "rows.edge_ids[3] is 2");
}

TEST_F(graph_adopt_refusals, name_the_edge_that_a_transpose_has_elsewhere) {
  const Rows rows(graph, false, false);
  Rows back(graph.transpose(), false, false);
  std::swap(back.cols[0], back.cols[2]);
  expect_refused([&] { Graph::adopt(nodes_of(graph), rows.tensors(), back.tensors(), nullptr); }, "transposed has edge",
                 ErrorCode::invalid_graph);
}

TEST_F(graph_adopt_refusals, name_the_tensor_that_is_no_array_of_indices) {
  const Rows good(graph, false, false);
  const std::vector<float> floats(5);
  const auto refuse = [&](const auto& change, std::string_view names) {
    RowTensors rows = good.tensors();
    change(rows);
    expect_refused([&] { Graph::adopt(nodes_of(graph), rows, {}, nullptr); }, names);
    RowTensors back = Rows(graph.transpose(), false, false).tensors();
    expect_refused([&] { Graph::adopt(nodes_of(graph), rows, back, nullptr, Validate::trusted); }, names);
  };
  refuse([](RowTensors& rows) { rows.offsets = {}; }, "rows.offsets");
  refuse([](RowTensors& rows) { rows.cols = {}; }, "rows.cols");
  refuse([&](RowTensors& rows) { rows.cols = Rows::view(floats); }, "rows.cols has dtype f32");
  refuse([](RowTensors& rows) { rows.offsets.shape.rows = 3; }, "rows.offsets has 3 entries: expected 4");
  refuse([](RowTensors& rows) { rows.cols.ld = 2; }, "rows.cols");
  refuse([](RowTensors& rows) { rows.cols.data = nullptr; }, "rows.cols");
  refuse([](RowTensors& rows) { rows.cols.device = {DeviceKind::cuda, 0}; }, "rows.cols");
  refuse([&](RowTensors& rows) { rows.edge_ids = rows.cols; }, "rows.edge_ids has dtype i32");
  refuse([&](RowTensors& rows) { rows.edge_ids = rows.offsets; }, "rows.edge_ids has 4 entries");
  expect_refused([&] { Graph::adopt({.num_sources = 4, .num_destinations = -1}, good.tensors(), {}, nullptr); },
                 "num_destinations");
}

TEST(graph_from_edges, takes_ids_of_64_bits) {
  for (const bool sorted : {false, true}) {
    std::vector<std::int64_t> from{3, 1, 3, 0}, to{2, 0, 2, 1};
    if (sorted) to = {0, 1, 1, 2};
    const std::vector<NodeId> narrow_from(from.begin(), from.end()), narrow_to(to.begin(), to.end());
    const NodeCounts nodes{.num_sources = 4, .num_destinations = 3};
    const Graph graph =
        Graph::from_edges(nodes, {.sources = Rows::view(from), .destinations = Rows::view(to)}, nullptr);
    EXPECT_EQ(stored_edges(graph),
              stored_edges(Graph::from_edges(nodes, {.sources = narrow_from, .destinations = narrow_to})));
    for (const std::int64_t wrong :
         {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32, (std::int64_t{1} << 32) + 1}) {
      std::vector<std::int64_t> bad = from;
      bad[2] = wrong;
      expect_refused(
          [&] { Graph::from_edges(nodes, {.sources = Rows::view(bad), .destinations = Rows::view(to)}, nullptr); },
          fmt::format("sources[2] is {}", wrong), ErrorCode::invalid_graph);
    }
  }
}

}  // namespace
}  // namespace weft::test
