// rmat, uniform, grid, star, molecules.
#include <gtest/gtest.h>

#include "graph/generate/properties.hpp"
#include "graph/generate/shapes.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

TEST(generate_rmat, drops_duplicates_and_self_loops) {
  const Graph graph = generate(RmatSpec{.scale = 12, .edge_factor = 16});
  test::expect_simple(graph);
  EXPECT_EQ(graph.num_rows(), 4'096);
  EXPECT_LT(graph.num_edges(), 16 * 4'096);
  EXPECT_GT(graph.num_edges(), 16 * 4'096 * 7 / 10);
}

TEST(generate_rmat, is_skewed_by_graph500s_shares_and_even_with_equal_ones) {
  const DegreeStats skewed = generate(RmatSpec{.scale = 14}).degree_stats();
  const DegreeStats even = generate(RmatSpec{.scale = 14, .a = 0.25, .b = 0.25, .c = 0.25}).degree_stats();
  EXPECT_GT(skewed.max, 1'000);
  EXPECT_GT(skewed.empty, 1'000);
  EXPECT_LT(even.max, 50);
  EXPECT_LT(even.empty, 10);
}

TEST(generate_rmat, shares_of_the_quadrants_are_the_asked_ones) {
  // With one level there are two nodes, and only the quadrants b and c leave edges between them.
  const Graph only_b = generate(RmatSpec{.scale = 1, .edge_factor = 2, .a = 0, .b = 1, .c = 0});
  EXPECT_EQ(only_b.num_edges(), 1);
  const Graph neither = generate(RmatSpec{.scale = 1, .edge_factor = 2, .a = 1, .b = 0, .c = 0});
  EXPECT_EQ(neither.num_edges(), 0);
  // Nothing below the middle, at any level: one row takes all edges.
  const Graph one_way = generate(RmatSpec{.scale = 10, .edge_factor = 4, .a = 0.4, .b = 0.6, .c = 0});
  const DegreeStats rows = one_way.degree_stats(), columns = one_way.transpose().degree_stats();
  EXPECT_EQ(rows.empty, 1'023);
  EXPECT_LT(columns.empty, 1'000);
}

TEST(generate_rmat, scrambles_ids_so_that_low_ones_are_not_the_hubs) {
  const std::vector<std::int64_t> degrees = test::in_degrees(generate(RmatSpec{.scale = 14}));
  std::int64_t first_half = 0, all = 0;
  for (std::size_t i = 0; i < degrees.size(); ++i) {
    all += degrees[i];
    if (i < degrees.size() / 2) first_half += degrees[i];
  }
  EXPECT_NEAR(static_cast<double>(first_half) / static_cast<double>(all), 0.5, 0.05);  // unscrambled: 0.76
}

TEST(generate_uniform, makes_exactly_the_edges_asked_for) {
  for (const std::int64_t edges : {0, 1, 100, 5'000, 9'900}) {
    const Graph graph = generate(UniformSpec{.nodes = 100, .edges = edges, .seed = 5});
    EXPECT_EQ(graph.num_edges(), edges);
    test::expect_simple(graph);
  }
  EXPECT_EQ(generate(UniformSpec{.nodes = 1, .edges = 0}).num_rows(), 1);
}

TEST(generate_uniform, spreads_both_ends_evenly) {
  const Graph graph = generate(UniformSpec{.nodes = 10'000, .edges = 200'000, .seed = 3});
  for (const DegreeStats& stats : {graph.degree_stats(), graph.transpose().degree_stats()}) {
    EXPECT_NEAR(stats.stddev, 4.47, 0.3);  // Poisson: the root of the mean, 20
    EXPECT_LT(stats.max, 50);
  }
}

TEST(generate_grid, links_each_node_with_its_four_neighbours) {
  const Graph graph = generate(GridSpec{.side = 5});
  test::expect_simple(graph);
  EXPECT_TRUE(test::is_symmetric(graph));
  EXPECT_EQ(graph.num_edges(), 4 * 5 * 4);
  const auto row = graph.cols().subspan(graph.offsets()[12], 4);  // the middle
  EXPECT_EQ(std::vector<NodeId>(row.begin(), row.end()), (std::vector<NodeId>{7, 11, 13, 17}));
  EXPECT_EQ(test::in_degrees(graph)[0], 2);
  EXPECT_EQ(test::in_degrees(graph)[1], 3);
  EXPECT_EQ(generate(GridSpec{.side = 1}).num_edges(), 0);
}

TEST(generate_star, points_every_other_node_at_node_0) {
  const Graph graph = generate(StarSpec{.nodes = 6});
  test::expect_simple(graph);
  EXPECT_EQ(test::in_degrees(graph), (std::vector<std::int64_t>{5, 0, 0, 0, 0, 0}));
  EXPECT_EQ(generate(StarSpec{.nodes = 1}).num_edges(), 0);
}

// Connected parts, assuming that each is a range of ids; -1 where some edge leaves every range.
std::vector<std::int64_t> block_sizes(const Graph& graph) {
  const GraphView g = graph.view();
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0, reach = 0;
  for (std::int64_t row = 0; row < g.num_rows; ++row) {
    if (row > reach) {
      sizes.push_back(row - begin);
      begin = reach = row;
    }
    for (EdgeId k = g.offsets[row]; k < g.offsets[row + 1]; ++k) {
      if (g.cols[k] < begin) return {-1};
      reach = std::max<std::int64_t>(reach, g.cols[k]);
    }
  }
  sizes.push_back(g.num_rows - begin);
  return sizes;
}

TEST(generate_molecules, are_blocks_of_10_to_39_atoms_with_at_most_four_bonds) {
  for (const std::int64_t nodes : {10, 19, 39, 40, 41, 49, 50, 79, 1'000, 12'345}) {
    SCOPED_TRACE(nodes);
    const Graph graph = generate(MoleculesSpec{.nodes = nodes, .seed = 7});
    EXPECT_EQ(graph.num_rows(), nodes);
    test::expect_simple(graph);
    EXPECT_TRUE(test::is_symmetric(graph));
    for (const std::int64_t size : block_sizes(graph)) {
      EXPECT_GE(size, 10);
      EXPECT_LE(size, 39);
    }
    EXPECT_LE(graph.degree_stats().max, 4);
    EXPECT_GE(graph.degree_stats().min, 1);
  }
}

TEST(generate_molecules, have_about_two_edges_a_node_with_chains_and_rings) {
  const Graph graph = generate(MoleculesSpec{.nodes = 50'000});
  const auto blocks = static_cast<std::int64_t>(block_sizes(graph).size());
  EXPECT_NEAR(static_cast<double>(blocks), 50'000 / 24.5, 100);
  EXPECT_NEAR(static_cast<double>(graph.num_edges()) / 50'000, 2.08, 0.02);
  // A tree of n atoms has n - 1 bonds; what is above that closes rings.
  EXPECT_NEAR(static_cast<double>(graph.num_edges() / 2 - (50'000 - blocks)), 50'000 / 12.0, 100);
}

TEST(generate_molecules, fewer_atoms_than_a_molecule_make_one_small_one) {
  const Graph graph = generate(MoleculesSpec{.nodes = 3});
  EXPECT_EQ(graph.num_rows(), 3);
  EXPECT_EQ(graph.num_edges(), 4);
  EXPECT_EQ(generate(MoleculesSpec{.nodes = 1}).num_edges(), 0);
}

TEST(generate_lattice, has_low_even_degrees_and_the_asked_edges) {
  for (const std::int64_t edges : {21'000, 40'000, 56'000}) {
    SCOPED_TRACE(edges);
    const Graph graph = generator::generate_lattice({.nodes = 10'000, .edges = edges, .seed = 1});
    test::expect_simple(graph);
    EXPECT_TRUE(test::is_symmetric(graph));
    EXPECT_NEAR(static_cast<double>(graph.num_edges()), static_cast<double>(edges), 0.02 * static_cast<double>(edges));
    EXPECT_LE(graph.degree_stats().max, 8);
    EXPECT_GE(graph.degree_stats().min, 1);
  }
}

TEST(generate_lattice, every_machine_and_thread_count_makes_the_committed_graph) {
  for (int threads = 1; threads <= 5; ++threads) {
    const test::WithThreads scope(threads);
    const Graph graph = generator::generate_lattice({.nodes = 10'000, .edges = 56'000, .seed = 1});
    EXPECT_EQ(test::fingerprint(graph), 0x68236b9bc546f299u) << std::hex << test::fingerprint(graph);
  }
}

}  // namespace
}  // namespace weft
