#include <gtest/gtest.h>

#include <cmath>

#include "graph/generate/degrees.hpp"
#include "graph/generate/properties.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

// The exponent of the degrees from `least` up to a cap far above, by maximum likelihood.
double tail_exponent(const std::vector<std::int64_t>& degrees, double least) {
  double logs = 0;
  std::int64_t count = 0;
  for (const std::int64_t d : degrees) {
    if (static_cast<double>(d) < least) continue;
    logs += std::log(static_cast<double>(d) / (least - 0.5));
    ++count;
  }
  return 1 + static_cast<double>(count) / logs;
}

double share_inside(const Graph& graph, std::int64_t communities) {
  const std::int64_t size = graph.num_rows() / communities;  // the tests use numbers that divide
  std::int64_t inside = 0;
  const GraphView g = graph.view();
  for (std::int64_t row = 0; row < g.num_rows; ++row)
    for (EdgeId k = g.offsets[row]; k < g.offsets[row + 1]; ++k) inside += g.cols[k] / size == row / size;
  return static_cast<double>(inside) / static_cast<double>(g.num_edges);
}

TEST(generate_powerlaw, makes_exactly_the_edges_asked_for) {
  for (const std::int64_t edges : {0, 1, 50, 999, 1'000, 1'001, 2'000, 20'000, 500'000, 999'000}) {
    SCOPED_TRACE(edges);
    const Graph graph = generate(PowerlawSpec{.nodes = 1'000, .edges = edges, .communities = 10, .seed = 2});
    EXPECT_EQ(graph.num_edges(), edges);
    test::expect_simple(graph);
  }
}

TEST(generate_powerlaw, works_for_the_smallest_graphs) {
  for (std::int64_t nodes = 1; nodes <= 6; ++nodes)
    for (std::int64_t edges = 0; edges <= nodes * (nodes - 1); ++edges)
      for (std::int64_t communities = 0; communities <= nodes; ++communities) {
        SCOPED_TRACE(testing::Message() << nodes << " nodes, " << edges << " edges, " << communities << " communities");
        const Graph graph = generate(PowerlawSpec{.nodes = nodes, .edges = edges, .communities = communities});
        EXPECT_EQ(graph.num_edges(), edges);
        test::expect_simple(graph);
      }
}

TEST(generate_powerlaw, degrees_follow_the_asked_exponent) {
  for (const double exponent : {2.0, 2.5, 3.0}) {
    SCOPED_TRACE(exponent);
    const Graph graph = generate(
        PowerlawSpec{.nodes = 100'000, .edges = 800'000, .exponent = exponent, .max_degree = 50'000, .seed = 4});
    EXPECT_NEAR(tail_exponent(test::in_degrees(graph), 30), exponent, 0.15);
  }
}

TEST(generate_powerlaw, sources_are_skewed_as_destinations_are) {
  const Graph graph = generate(PowerlawSpec{.nodes = 50'000, .edges = 500'000, .exponent = 2.2, .seed = 4});
  EXPECT_GT(graph.transpose().degree_stats().max, 1'000);
  const Graph mild = generate(PowerlawSpec{.nodes = 50'000, .edges = 500'000, .exponent = 20, .seed = 4});
  EXPECT_LT(mild.degree_stats().max, 40);
  EXPECT_LT(mild.transpose().degree_stats().max, 60);
}

TEST(generate_powerlaw, no_degree_is_above_the_cap) {
  const PowerlawSpec spec{.nodes = 20'000, .edges = 300'000, .exponent = 1.9, .max_degree = 100};
  EXPECT_EQ(generate(spec).degree_stats().max, 100);
  EXPECT_LE(generate(PowerlawSpec{.nodes = 20'000, .edges = 300'000, .exponent = 1.9}).degree_stats().max, 1'600);
}

TEST(generate_powerlaw, keeps_the_asked_share_of_edges_inside_communities) {
  for (const double inside : {0.0, 0.3, 0.7, 1.0}) {
    SCOPED_TRACE(inside);
    const Graph graph = generate(PowerlawSpec{.nodes = 20'000,
                                              .edges = 200'000,
                                              .exponent = 2.5,
                                              .max_degree = 300,
                                              .communities = 20,
                                              .inside = inside,
                                              .shuffled = false,
                                              .seed = 6});
    EXPECT_NEAR(share_inside(graph, 20), inside, 0.005);
  }
}

TEST(generate_powerlaw, without_communities_edges_ignore_the_order_of_nodes) {
  const Graph graph =
      generate(PowerlawSpec{.nodes = 20'000, .edges = 200'000, .exponent = 2.5, .max_degree = 300, .shuffled = false});
  EXPECT_NEAR(share_inside(graph, 20), 0.05, 0.01);
}

TEST(generate_powerlaw, shuffling_hides_the_communities_in_the_ids) {
  PowerlawSpec spec{.nodes = 20'000, .edges = 200'000, .exponent = 2.5, .max_degree = 300, .communities = 20};
  spec.shuffled = true;
  const Graph shuffled = generate(spec);
  EXPECT_NEAR(share_inside(shuffled, 20), 0.05, 0.01);
  spec.shuffled = false;
  const Graph ordered = generate(spec);
  EXPECT_NEAR(share_inside(ordered, 20), 0.7, 0.01);
  std::vector<std::int64_t> a = test::in_degrees(shuffled), b = test::in_degrees(ordered);
  EXPECT_NE(a, b);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
}

TEST(generate_powerlaw, rows_larger_than_their_community_go_on_outside_it) {
  const Graph graph = generate(PowerlawSpec{
      .nodes = 1'000, .edges = 100'000, .exponent = 2.5, .communities = 50, .inside = 1, .shuffled = false});
  EXPECT_EQ(graph.num_edges(), 100'000);
  EXPECT_NEAR(share_inside(graph, 50), 0.19, 0.001);  // 19 others in a community of 20, a hundred edges per row
}

TEST(generate_powerlaw, rows_that_fit_their_community_never_leave_it_at_share_1) {
  const Graph graph = generate(PowerlawSpec{.nodes = 24'000,
                                            .edges = 150'000,
                                            .exponent = 2.0,
                                            .max_degree = 23,
                                            .communities = 1'000,
                                            .inside = 1,
                                            .shuffled = false});
  EXPECT_EQ(share_inside(graph, 1'000), 1);
}

TEST(generate_powerlaw, extreme_exponents_still_meet_the_total) {
  for (const double exponent : {1.000001, 1.01, 100.0}) {
    const Buffer<NodeId> degrees = generator::powerlaw_degrees(5'000, 40'000, exponent, 4'999, 1);
    std::int64_t total = 0;
    for (const NodeId d : degrees) {
      total += d;
      EXPECT_GE(d, 0);
      EXPECT_LE(d, 4'999);
    }
    EXPECT_EQ(total, 40'000) << exponent;
  }
}

}  // namespace
}  // namespace weft
