// The subgraphs a benchmark draws: their sizes, their nodes, and that a seed gives them again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/subgraphs.hpp"
#include "bench/timing.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

Graph skewed(std::int64_t nodes, std::int64_t edges) {
  PowerlawSpec spec;
  spec.nodes = nodes;
  spec.edges = edges;
  return generate(spec);
}

TEST(subgraphs, sizes_are_log_uniform_between_a_thousand_and_fifty_thousand) {
  std::vector<double> sizes;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t size = sampled_size(1'000'000, 3, i);
    ASSERT_GE(size, 1'000);
    ASSERT_LE(size, 50'000);
    sizes.push_back(static_cast<double>(size));
  }
  const double middle = std::sqrt(1'000.0 * 50'000.0);
  EXPECT_NEAR(median_of(sizes) / middle, 1, 0.2);
  EXPECT_NEAR(geometric_mean_of(sizes) / middle, 1, 0.15);
  EXPECT_LT(quantile_of(sizes, 0.05), 1'500);
  EXPECT_GT(quantile_of(sizes, 0.95), 34'000);
}

TEST(subgraphs, never_take_more_nodes_than_there_are) {
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(sampled_size(300, 1, i), 300);
  const Graph graph = skewed(300, 2000);
  for (const std::int64_t index : {0, 1}) {
    const Subgraph all = draw_subgraph(graph, 1, index);
    EXPECT_EQ(all.graph.num_rows(), 300);
    EXPECT_EQ(all.graph.num_edges(), graph.num_edges());
  }
}

TEST(subgraphs, nodes_are_distinct_ascending_and_as_many_as_asked_for) {
  const Graph graph = skewed(20'000, 100'000), bare = Graph::from_edges(5000, {});
  for (const Sampler sampler : {Sampler::walk, Sampler::node})
    for (const std::int64_t count : {1, 1000, 4999}) {
      for (const Graph& each : {graph, bare}) {
        const std::vector<NodeId> nodes = sample_nodes(each, sampler, count, 5, 2);
        ASSERT_EQ(static_cast<std::int64_t>(nodes.size()), count);
        EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end(), std::less_equal<>()));
        EXPECT_GE(nodes.front(), 0);
        EXPECT_LT(nodes.back(), each.num_rows());
      }
    }
}

TEST(subgraphs, the_same_draw_again_and_another_one_otherwise) {
  const Graph graph = skewed(20'000, 100'000);
  const auto draw = [&](std::uint64_t seed, std::int64_t index) {
    return sample_nodes(graph, Sampler::walk, 1500, seed, index);
  };
  EXPECT_EQ(draw(1, 0), draw(1, 0));
  EXPECT_NE(draw(1, 0), draw(1, 2));
  EXPECT_NE(draw(1, 0), draw(2, 0));
  EXPECT_EQ(draw_subgraph(graph, 1, 3).graph.num_edges(), draw_subgraph(graph, 1, 3).graph.num_edges());
}

TEST(subgraphs, walks_and_drawn_nodes_take_turns) {
  const Graph graph = skewed(2'000, 10'000);
  EXPECT_EQ(draw_subgraph(graph, 1, 0).sampler, Sampler::walk);
  EXPECT_EQ(draw_subgraph(graph, 1, 1).sampler, Sampler::node);
  EXPECT_EQ(name(Sampler::walk), "walk");
  EXPECT_EQ(name(Sampler::node), "node");
}

TEST(subgraphs, drawn_nodes_are_those_with_many_edges) {
  const Graph graph = skewed(20'000, 100'000);
  std::vector<std::int64_t> uses(20'000);
  for (const NodeId u : graph.cols()) ++uses[static_cast<std::size_t>(u)];
  double drawn = 0;
  const auto nodes = sample_nodes(graph, Sampler::node, 1000, 1, 1);
  for (const NodeId u : nodes) drawn += static_cast<double>(uses[static_cast<std::size_t>(u)]);
  EXPECT_GT(drawn / 1000, 2 * 5.0);  // 5 is the mean
}

TEST(subgraphs, walks_take_neighbours_along) {
  // On a grid 1,000 of 250,000 nodes drawn one by one have next to no edge among them.
  const Graph grid = generate(GridSpec{.side = 500});
  const auto nodes = sample_nodes(grid, Sampler::walk, 1000, 1, 0);
  EXPECT_GT(induced_subgraph(grid, nodes).graph.num_edges(), 1000);
}

}  // namespace
}  // namespace weft::test
