// What a graph builds on demand: its rows and its transpose.
#include <gtest/gtest.h>

#include "graph/naive_graph.hpp"

namespace weft {
namespace {

using test::NaiveEdge;
using test::NaiveEdges;
using test::stored_edges;

NaiveEdges reversed(NaiveEdges edges) {
  for (NaiveEdge& edge : edges) std::swap(edge.row, edge.col);
  return edges;
}

TEST(graph_transpose, reverses_every_edge_and_keeps_its_id) {
  const std::vector<NodeId> destinations{2, 0, 2, 0}, sources{1, 3, 0, 3};
  const Graph transpose =
      Graph::from_edges({.num_sources = 4, .num_destinations = 3}, {.sources = sources, .destinations = destinations})
          .transpose();
  EXPECT_EQ(transpose.num_rows(), 4);
  EXPECT_EQ(transpose.num_cols(), 3);
  EXPECT_EQ(stored_edges(transpose), (NaiveEdges{{0, 2, 2}, {1, 2, 0}, {3, 0, 1}, {3, 0, 3}}));
}

TEST(graph_transpose, agrees_with_naive_reversal_on_random_graphs) {
  const test::ThreadsRestored restored;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    set_default_threads(1 + static_cast<int>(seed % 5));
    const test::RandomCase input = test::random_case(seed, false);
    const Graph graph = input.list.graph(input.rows, input.cols);
    const Graph transpose = graph.transpose();
    ASSERT_EQ(stored_edges(transpose), sorted(reversed(stored_edges(graph))));
    EXPECT_NO_THROW(validate(transpose.view_with_rows()));
    const Graph shuffled = test::shuffled_rows(input, seed + 1), reversed_rows = shuffled.transpose();
    ASSERT_EQ(sorted(stored_edges(reversed_rows)), sorted(reversed(stored_edges(shuffled))));
    EXPECT_NO_THROW(validate(reversed_rows.view()));
  }
}

TEST(graph_transpose, is_the_same_for_any_number_of_threads_on_a_large_skewed_graph) {
  const test::ThreadsRestored restored;
  battery::SmallRandom random(9);
  battery::GrowingEdges list;
  for (std::int64_t k = 0; k < 300'000; ++k) {
    const std::int64_t source = random.below(2) == 0 ? 77 : random.below(4000);
    list.add(source, random.below(7000));
  }
  NaiveEdges expected;
  for (int threads = 1; threads <= 5; ++threads) {
    set_default_threads(threads);
    const NaiveEdges edges = stored_edges(list.graph(7000, 4000).transpose());
    if (threads == 1) expected = edges;
    ASSERT_TRUE(edges == expected) << threads << " threads";
  }
}

TEST(graph_transpose, of_the_transpose_is_the_graph_itself) {
  const Graph graph = battery::power_law_graph();
  const Graph transpose = graph.transpose(), back = transpose.transpose();
  EXPECT_NE(transpose.identity(), graph.identity());
  EXPECT_EQ(back.identity(), graph.identity());
  EXPECT_EQ(back.cols().data(), graph.cols().data());
  EXPECT_EQ(graph.transpose().identity(), transpose.identity());
}

TEST(graph_transpose, is_built_once_and_shared_by_copies) {
  const Graph graph = battery::power_law_graph();
  const Graph copy = graph;
  const Graph transpose = graph.transpose(), transpose_of_copy = copy.transpose();
  EXPECT_EQ(transpose.cols().data(), transpose_of_copy.cols().data());
  EXPECT_EQ(graph.rows().data(), copy.rows().data());
}

TEST(graph_transpose, views_stay_valid_as_long_as_the_graph_lives) {
  const Graph graph = battery::grid_graph(4);
  const GraphView view = [&] {
    const Graph transpose = graph.transpose();
    return transpose.view_with_rows();
  }();  // the Graph object in between is gone
  EXPECT_NO_THROW(validate(view));
}

TEST(graph_transpose, can_be_asked_for_by_many_threads_at_once) {
  const Graph graph = battery::power_law_graph();
  std::vector<const NodeId*> rows(32), cols(32);
  parallel_tasks(8, 32, [&](std::int64_t task, int) {
    const auto i = static_cast<std::size_t>(task);
    rows[i] = graph.rows().data();
    const Graph transpose = graph.transpose();
    cols[i] = transpose.cols().data();
  });
  for (std::size_t i = 1; i < 32; ++i) {
    EXPECT_EQ(rows[i], rows[0]);
    EXPECT_EQ(cols[i], cols[0]);
  }
}

TEST(graph_rows, name_the_destination_of_every_stored_edge) {
  for (const auto& [name, graph] : battery_graphs()) {
    SCOPED_TRACE(name);
    NaiveEdges edges = stored_edges(graph);
    const auto rows = graph.rows();
    ASSERT_EQ(rows.size(), edges.size());
    for (std::size_t k = 0; k < edges.size(); ++k) ASSERT_EQ(rows[k], edges[k].row) << k;
    EXPECT_EQ(graph.view().rows, nullptr);
    EXPECT_EQ(graph.view_with_rows().rows, rows.data());
  }
}

TEST(graph_identity, is_equal_for_copies_and_for_nothing_else) {
  const Graph graph = battery::grid_graph(3), twin = battery::grid_graph(3);
  const Graph copy = graph;
  EXPECT_EQ(graph.identity(), copy.identity());
  EXPECT_NE(graph.identity(), twin.identity());
  EXPECT_NE(Graph().identity(), graph.identity());
  const Graph a, b;
  EXPECT_NE(a.identity(), b.identity());
}

TEST(graph_bytes, count_the_arrays_the_rows_and_the_transpose) {
  const std::vector<NodeId> destinations{1, 0, 1}, sources{0, 0, 1};
  const Graph graph =
      Graph::from_edges({.num_sources = 3, .num_destinations = 2}, {.sources = sources, .destinations = destinations});
  const std::size_t plain = 3 * 8 + 3 * 4 + 3 * 8;
  EXPECT_EQ(graph.bytes(), plain);
  graph.rows();
  EXPECT_EQ(graph.bytes(), plain + 3 * 4);
  const Graph transpose = graph.transpose();
  EXPECT_EQ(graph.bytes(), plain + 3 * 4 + 4 * 8 + 3 * 4 + 3 * 8);
  EXPECT_EQ(transpose.bytes(), graph.bytes());
}

}  // namespace
}  // namespace weft
