// The battery itself: each graph must have the difficulty it is named for.
#include <gtest/gtest.h>

#include <map>

#include "graph/naive_graph.hpp"

namespace weft {
namespace {

std::map<std::string, Graph> by_name() {
  std::map<std::string, Graph> graphs;
  for (auto& [name, graph] : battery_graphs()) EXPECT_TRUE(graphs.emplace(name, graph).second) << name << " twice";
  return graphs;
}

std::vector<std::int64_t> degrees_of(const Graph& graph) {
  const Tensor degrees = graph.degrees();
  return {degrees.span<std::int64_t>().begin(), degrees.span<std::int64_t>().end()};
}

TEST(graph_battery, stays_small_and_holds_graphs_with_edge_ids) {
  int with_ids = 0;
  for (const auto& [name, graph] : battery_graphs()) {
    EXPECT_LE(graph.num_edges(), 9000) << name;
    with_ids += graph.has_edge_ids() ? 1 : 0;
  }
  EXPECT_GE(with_ids, 5);
}

TEST(graph_battery, holds_what_the_names_promise) {
  const auto graphs = by_name();
  EXPECT_EQ(graphs.at("empty_graph").num_rows(), 0);
  EXPECT_EQ(graphs.at("no_edges").num_rows(), 5);
  EXPECT_EQ(graphs.at("no_edges").num_edges(), 0);
  EXPECT_EQ(graphs.at("one_node").num_rows(), 1);
  EXPECT_EQ(graphs.at("one_node").num_edges(), 0);
  EXPECT_EQ(graphs.at("one_node_with_self_loop").num_edges(), 1);
  EXPECT_GE(graphs.at("one_hub_row").degree_stats().max, 5000);
  EXPECT_EQ(graphs.at("one_hub_row").num_rows(), 3000);
  EXPECT_EQ(degrees_of(graphs.at("first_rows_empty")).front(), 0);
  EXPECT_EQ(degrees_of(graphs.at("middle_rows_empty"))[3], 0);
  EXPECT_EQ(degrees_of(graphs.at("last_rows_empty")).back(), 0);
  const Graph& loops = graphs.at("self_loops");
  EXPECT_LT(with_self_loops(loops, SelfLoops::remove).graph.num_edges(), loops.num_edges());
  const Graph& duplicates = graphs.at("duplicate_edges");
  EXPECT_TRUE(duplicates.has_edge_ids());
  EXPECT_LT(simplify(duplicates, Duplicates::drop).graph.num_edges(), duplicates.num_edges());
  EXPECT_EQ(graphs.at("bipartite_1_by_n").num_rows(), 1);
  EXPECT_EQ(graphs.at("bipartite_n_by_1").num_cols(), 1);
  EXPECT_TRUE(graphs.at("bipartite_unsorted").has_edge_ids());
  EXPECT_GT(graphs.at("power_law").degree_stats().max, 50 * graphs.at("power_law").degree_stats().median);
  EXPECT_EQ(graphs.at("grid").degree_stats().max, 4);
  const DegreeStats molecules = graphs.at("molecules").degree_stats();
  EXPECT_EQ(molecules.max, 2);
  EXPECT_EQ(molecules.min, 1);
  EXPECT_EQ(degrees_of(graphs.at("degrees_0_1_2_31_32_33_1000")),
            (std::vector<std::int64_t>{0, 1, 2, 31, 32, 33, 1000, 0, 33, 32, 31, 2, 1, 0}));
  const Graph& long_rows = graphs.at("many_long_rows");
  EXPECT_EQ(degrees_of(long_rows), (std::vector<std::int64_t>{1025, 1024, 2049, 0, 3000, 1025}));
  EXPECT_GT(long_rows.transpose().degree_stats().min, 1024);
}

TEST(graph_battery, is_the_same_every_time) {
  const auto first = battery_graphs(), second = battery_graphs();
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(test::stored_edges(first[i].graph), test::stored_edges(second[i].graph)) << first[i].name;
}

}  // namespace
}  // namespace weft
