// The one-pass facts weft info shows, against counting by hand.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/parallel.hpp"
#include "structure.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

using weft::tool::range_of;
using weft::tool::Structure;
using weft::tool::structure_of;

Structure by_hand(const Graph& graph) {
  Structure facts;
  const GraphView view = graph.view();
  std::set<std::pair<NodeId, NodeId>> edges;
  for (std::int64_t v = 0; v < view.num_rows; ++v)
    for (EdgeId k = view.offsets[v]; k < view.offsets[v + 1]; ++k) {
      const NodeId u = view.cols[k];
      facts.self_loops += graph.is_square() && u == v;
      facts.duplicates += !edges.emplace(u, static_cast<NodeId>(v)).second;
      if (k > view.offsets[v] && view.cols[k - 1] > u) facts.sorted_columns = false;
    }
  facts.symmetric = graph.is_square();
  for (const auto& [u, v] : edges) facts.symmetric &= edges.count({v, u}) > 0;
  return facts;
}

void expect_same(const Graph& graph) {
  const Structure wanted = by_hand(graph), got = structure_of(graph);
  EXPECT_EQ(got.self_loops, wanted.self_loops);
  EXPECT_EQ(got.duplicates, wanted.duplicates);
  EXPECT_EQ(got.sorted_columns, wanted.sorted_columns);
  EXPECT_EQ(got.symmetric, wanted.symmetric);
}

TEST(structure, agrees_with_counting_by_hand_on_random_graphs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto nodes = static_cast<std::int64_t>(5 + seed * 7);
    const Graph graph = generate(UniformSpec{.nodes = nodes, .edges = nodes * 4, .seed = seed});
    expect_same(graph);
    expect_same(symmetrise(graph).graph);
    expect_same(symmetrise(graph, Duplicates::keep).graph);
    expect_same(with_self_loops(graph, SelfLoops::add).graph);
  }
}

TEST(structure, one_missing_reverse_edge_is_seen) {
  const std::vector<NodeId> to{0, 1, 1, 2, 2}, from{1, 0, 2, 1, 0};
  expect_same(Graph::from_edges(3, {.sources = from, .destinations = to}));
  EXPECT_FALSE(structure_of(Graph::from_edges(3, {.sources = from, .destinations = to})).symmetric);
}

TEST(structure, parallel_edges_do_not_break_symmetry) {
  const std::vector<NodeId> to{0, 1, 1}, from{1, 0, 0};
  const Structure facts = structure_of(Graph::from_edges(2, {.sources = from, .destinations = to}));
  EXPECT_TRUE(facts.symmetric);
  EXPECT_EQ(facts.duplicates, 1);
}

TEST(structure, unsorted_rows_are_reported_and_counted_right) {
  const std::vector<EdgeId> offsets{0, 4, 5};
  const std::vector<NodeId> cols{1, 0, 1, 0, 0};
  const Graph graph = Graph::from_csr(2, 2, offsets, cols);
  expect_same(graph);
  EXPECT_FALSE(structure_of(graph).sorted_columns);
  EXPECT_EQ(structure_of(graph).duplicates, 2);
}

TEST(structure, empty_and_bipartite_graphs_are_fine) {
  expect_same(Graph());
  const std::vector<NodeId> to{0, 1}, from{4, 1};
  expect_same(Graph::from_edges({.num_sources = 5, .num_destinations = 2}, {.sources = from, .destinations = to}));
}

TEST(value_range, counts_what_is_not_finite_apart) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{3, -2, inf, nan, 1};
  const auto range = range_of(Tensor::from(values, Shape(5)));
  EXPECT_TRUE(range.any);
  EXPECT_EQ(range.min, -2);
  EXPECT_EQ(range.max, 3);
  EXPECT_EQ(range.not_finite, 2);
  EXPECT_FALSE(range_of(Tensor::zeros(Shape(0), Dtype::f32)).any);
}

}  // namespace
}  // namespace weft::test
