#include <gtest/gtest.h>

#include <set>

#include "graph/naive_graph.hpp"
#include "support/errors.hpp"

namespace weft {
namespace {

using test::expect_refused;
using test::NaiveEdge;
using test::NaiveEdges;
using test::stored_edges;

// An edge of a derived graph and the source edges it stands for; {-1} marks a new one.
struct Traced {
  NodeId row = 0, col = 0;
  std::vector<EdgeId> from;
  friend bool operator==(const Traced&, const Traced&) = default;
  friend void PrintTo(const Traced& edge, std::ostream* out) {
    *out << edge.col << "->" << edge.row << " from";
    for (const EdgeId id : edge.from) *out << ' ' << id;
  }
};
using Trace = std::vector<Traced>;

Trace trace_of(const Derived& derived) {
  EXPECT_NO_THROW(validate(derived.graph.view()));
  EXPECT_FALSE(derived.graph.has_edge_ids());
  const auto offsets = derived.origin.offsets();
  const auto ids = derived.origin.ids();
  Trace trace;
  for (const NaiveEdge& edge : stored_edges(derived.graph)) {
    const auto k = static_cast<std::size_t>(edge.id);
    Traced traced{edge.row, edge.col, {}};
    if (derived.origin.one_to_one()) {
      traced.from = {ids[k]};
    } else {
      traced.from.assign(ids.begin() + offsets[k], ids.begin() + offsets[k + 1]);
    }
    trace.push_back(traced);
  }
  EXPECT_EQ(ids.size(), derived.origin.one_to_one() ? trace.size() : static_cast<std::size_t>(offsets.back()));
  return trace;
}

// `edges` in any order; the plain statement of what becomes of parallel ones.
Trace naive_unite(NaiveEdges edges, Duplicates duplicates) {
  std::sort(edges.begin(), edges.end());
  Trace trace;
  for (const NaiveEdge& edge : edges) {
    const bool again = !trace.empty() && trace.back().row == edge.row && trace.back().col == edge.col;
    if (duplicates == Duplicates::keep || !again) {
      trace.push_back({edge.row, edge.col, {edge.id}});
    } else if (duplicates == Duplicates::merge) {
      trace.back().from.push_back(edge.id);
    }
  }
  return trace;
}

NaiveEdges naive_self_loops(const NaiveEdges& edges, std::int64_t nodes, SelfLoops self_loops) {
  NaiveEdges result;
  std::set<NodeId> without;
  for (std::int64_t v = 0; v < nodes; ++v) without.insert(static_cast<NodeId>(v));
  for (const NaiveEdge& edge : edges) {
    if (edge.row == edge.col) without.erase(edge.row);
    if (edge.row != edge.col || self_loops != SelfLoops::remove) result.push_back(edge);
  }
  if (self_loops == SelfLoops::add)
    for (const NodeId v : without) result.push_back({v, v, -1});
  return result;
}

NaiveEdges naive_symmetric(const NaiveEdges& edges) {
  NaiveEdges result = edges;
  for (const NaiveEdge& edge : edges)
    if (edge.row != edge.col) result.push_back({edge.col, edge.row, edge.id});
  return result;
}

/// Reverses of edges that are there in one direction only.
NaiveEdges naive_missing_reverses(const NaiveEdges& edges) {
  NaiveEdges result = edges;
  for (const NaiveEdge& edge : edges)
    if (std::ranges::none_of(edges, [&](const NaiveEdge& e) { return e.row == edge.col && e.col == edge.row; }))
      result.push_back({edge.col, edge.row, edge.id});
  return result;
}

NaiveEdges naive_induced(const NaiveEdges& edges, const std::vector<NodeId>& nodes) {
  NaiveEdges result;
  for (const NaiveEdge& edge : edges)
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t j = 0; j < nodes.size(); ++j)
        if (edge.row == nodes[i] && edge.col == nodes[j])
          result.push_back({static_cast<NodeId>(i), static_cast<NodeId>(j), edge.id});
  return result;
}

std::vector<NodeId> some_nodes(std::int64_t count, std::uint64_t seed) {
  battery::SmallRandom random(seed);
  std::vector<NodeId> nodes;
  for (std::int64_t v = 0; v < count; ++v)
    if (random.below(3) != 0) nodes.push_back(static_cast<NodeId>(v));
  for (std::size_t i = nodes.size(); i > 1; --i)
    std::swap(nodes[i - 1], nodes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  return nodes;
}

constexpr Duplicates all_duplicates[] = {Duplicates::keep, Duplicates::drop, Duplicates::merge};
constexpr SelfLoops all_self_loops[] = {SelfLoops::keep, SelfLoops::add, SelfLoops::remove};

TEST(graph_derive, agrees_with_naive_lists_on_random_graphs_for_any_number_of_threads) {
  const test::ThreadsRestored restored;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    set_default_threads(1 + static_cast<int>(seed % 5));
    const test::RandomCase input = test::random_case(seed, true);
    // Every third graph has rows in no order and ids that are a permutation.
    const Graph graph = seed % 3 == 0 ? test::shuffled_rows(input, seed + 7) : input.list.graph(input.rows, input.cols);
    const NaiveEdges edges = stored_edges(graph);
    const std::vector<NodeId> nodes = some_nodes(input.rows, seed + 3);
    for (const Duplicates duplicates : all_duplicates) {
      ASSERT_EQ(trace_of(simplify(graph, duplicates)), naive_unite(edges, duplicates));
      const NaiveEdges both = duplicates == Duplicates::drop ? naive_missing_reverses(edges) : naive_symmetric(edges);
      ASSERT_EQ(trace_of(symmetrise(graph, duplicates)), naive_unite(both, duplicates));
    }
    for (const SelfLoops self_loops : all_self_loops)
      ASSERT_EQ(trace_of(with_self_loops(graph, self_loops)),
                naive_unite(naive_self_loops(edges, input.rows, self_loops), Duplicates::keep));
    ASSERT_EQ(trace_of(induced_subgraph(graph, nodes)), naive_unite(naive_induced(edges, nodes), Duplicates::keep));
    const Trace stored = trace_of(in_stored_order(graph));
    ASSERT_EQ(stored.size(), edges.size());
    for (std::size_t k = 0; k < edges.size(); ++k)
      ASSERT_EQ(stored[k], (Traced{edges[k].row, edges[k].col, {edges[k].id}}));
  }
}

TEST(graph_derive, is_the_same_for_any_number_of_threads_on_a_large_graph) {
  const test::ThreadsRestored restored;
  const Graph graph = battery::random_graph(4000, 4000, 100'000, 51);
  const std::vector<NodeId> nodes = some_nodes(4000, 52);
  std::vector<Trace> first;
  for (int threads = 1; threads <= 5; ++threads) {
    set_default_threads(threads);
    std::vector<Trace> traces;
    traces.push_back(trace_of(simplify(graph, Duplicates::merge)));
    traces.push_back(trace_of(simplify(graph, Duplicates::drop)));
    traces.push_back(trace_of(symmetrise(graph, Duplicates::merge)));
    traces.push_back(trace_of(with_self_loops(graph, SelfLoops::add)));
    traces.push_back(trace_of(induced_subgraph(graph, nodes)));
    if (threads == 1) first = traces;
    ASSERT_TRUE(traces == first) << threads << " threads";
  }
  EXPECT_TRUE(first[0] == naive_unite(stored_edges(graph), Duplicates::merge));
}

TEST(graph_simplify, drop_keeps_the_lowest_id) {
  const std::vector<NodeId> destinations{1, 0, 1, 1}, sources{0, 0, 0, 1};
  const Graph graph = Graph::from_edges(2, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(trace_of(simplify(graph, Duplicates::drop)), (Trace{{0, 0, {1}}, {1, 0, {0}}, {1, 1, {3}}}));
}

TEST(graph_simplify, takes_rectangular_graphs) {
  EXPECT_EQ(simplify(battery::random_graph(3, 9, 100, 53), Duplicates::drop).graph.num_cols(), 9);
}

TEST(graph_self_loops, add_gives_every_node_without_one_exactly_one) {
  const std::vector<NodeId> destinations{0, 1, 1, 2}, sources{2, 1, 1, 0};
  const Graph graph = Graph::from_edges(3, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(trace_of(with_self_loops(graph, SelfLoops::add)),
            (Trace{{0, 0, {-1}}, {0, 2, {0}}, {1, 1, {1}}, {1, 1, {2}}, {2, 0, {3}}, {2, 2, {-1}}}));
}

TEST(graph_self_loops, add_serves_nodes_without_any_edge) {
  EXPECT_EQ(trace_of(with_self_loops(battery::GrowingEdges{}.graph(2, 2), SelfLoops::add)),
            (Trace{{0, 0, {-1}}, {1, 1, {-1}}}));
  EXPECT_EQ(with_self_loops(Graph(), SelfLoops::add).graph.num_edges(), 0);
}

TEST(graph_symmetrise, does_not_double_self_loops) {
  const std::vector<NodeId> destinations{0, 1}, sources{0, 0};
  const Graph graph = Graph::from_edges(2, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(trace_of(symmetrise(graph, Duplicates::keep)), (Trace{{0, 0, {0}}, {0, 1, {1}}, {1, 0, {1}}}));
}

TEST(graph_symmetrise, leaves_the_callers_graph_without_a_cached_transpose) {
  const Graph graph = battery::power_law_graph();
  const std::size_t before = graph.bytes();
  symmetrise(graph);
  EXPECT_EQ(graph.bytes(), before);
}

TEST(graph_symmetrise, gives_every_edge_its_reverse) {
  const Graph graph = symmetrise(battery::power_law_graph()).graph;
  const Graph transpose = graph.transpose();
  EXPECT_TRUE(std::equal(graph.offsets().begin(), graph.offsets().end(), transpose.offsets().begin()));
  EXPECT_TRUE(std::equal(graph.cols().begin(), graph.cols().end(), transpose.cols().begin()));
}

TEST(graph_induced_subgraph, numbers_nodes_in_the_order_given) {
  const std::vector<NodeId> destinations{0, 1, 2, 2}, sources{1, 2, 0, 2};
  const Graph graph = Graph::from_edges(3, {.sources = sources, .destinations = destinations});
  const std::vector<NodeId> nodes{2, 0};
  EXPECT_EQ(trace_of(induced_subgraph(graph, nodes)), (Trace{{0, 0, {3}}, {0, 1, {2}}}));
  EXPECT_EQ(induced_subgraph(graph, {}).graph.num_rows(), 0);
}

TEST(graph_in_stored_order, shares_the_arrays_of_the_graph) {
  const Graph graph = battery::graph_with_duplicates();
  ASSERT_TRUE(graph.has_edge_ids());
  const Derived stored = in_stored_order(graph);
  EXPECT_EQ(stored.graph.cols().data(), graph.cols().data());
  EXPECT_FALSE(stored.graph.has_edge_ids());
  const Graph sorted_already = battery::bipartite_one_row(5);
  EXPECT_EQ(in_stored_order(sorted_already).graph.identity(), sorted_already.identity());
}

TEST(graph_in_stored_order, outlives_the_graph_it_came_from) {
  const NaiveEdges expected = stored_edges(battery::graph_with_duplicates());
  const Derived stored = in_stored_order(battery::graph_with_duplicates());
  const NaiveEdges edges = stored_edges(stored.graph);
  ASSERT_EQ(edges.size(), expected.size());
  for (std::size_t k = 0; k < edges.size(); ++k) EXPECT_EQ(edges[k].col, expected[k].col);
}

TEST(graph_derive, refuses_rectangular_graphs_where_nodes_must_match) {
  const Graph graph = battery::random_graph(3, 4, 10, 54);
  const std::vector<NodeId> nodes{0};
  expect_refused([&] { with_self_loops(graph, SelfLoops::add); }, "graph");
  expect_refused([&] { with_self_loops(graph, SelfLoops::keep); }, "with_self_loops");
  expect_refused([&] { symmetrise(graph); }, "symmetrise");
  expect_refused([&] { induced_subgraph(graph, nodes); }, "induced_subgraph");
}

TEST(graph_derive, refuses_values_that_are_no_enumerator) {
  const Graph graph = battery::grid_graph(3);
  expect_refused([&] { simplify(graph, static_cast<Duplicates>(3)); }, "duplicates");
  expect_refused([&] { symmetrise(graph, static_cast<Duplicates>(-1)); }, "duplicates");
  expect_refused([&] { with_self_loops(graph, static_cast<SelfLoops>(7)); }, "self_loops");
}

TEST(graph_induced_subgraph, refuses_nodes_that_repeat_or_do_not_exist) {
  const Graph graph = battery::grid_graph(3);
  const std::vector<NodeId> twice{4, 2, 7, 2}, high{0, 9}, negative{-1}, largest{2147483647};
  expect_refused([&] { induced_subgraph(graph, twice); }, "nodes");
  expect_refused([&] { induced_subgraph(graph, high); }, "nodes");
  expect_refused([&] { induced_subgraph(graph, negative); }, "nodes");
  expect_refused([&] { induced_subgraph(graph, largest); }, "nodes");
  EXPECT_EQ(test::message_of([&] { induced_subgraph(graph, twice); }),
            "nodes[3] is 2, as is nodes[1]: expected each node once");
  EXPECT_EQ(test::message_of([&] { induced_subgraph(graph, high); }),
            "nodes[1] is 9: expected a node id from 0 to 8 (the graph has 9 nodes)");
}

}  // namespace
}  // namespace weft
