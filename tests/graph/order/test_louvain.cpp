#include <filesystem>

#include "core/parallel.hpp"
#include "graph/order/naive_order.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/io.hpp"

namespace weft::test {
namespace {

Reordering found(const Graph& graph, int threads = 2) { return louvain_order(Context::cpu(threads), graph); }

/// What every order by communities promises.
void expect_sound(const Graph& graph, const Reordering& order) {
  expect_permutation(order.order, graph.num_rows());
  EXPECT_EQ(order.method, "louvain");
  const std::vector<NodeId> community = numbers(order.communities);
  EXPECT_NEAR(order.modularity, graph.num_edges() > 0 ? naive_modularity(graph, community) : 0, 1e-12);
  // The nodes of a community stand side by side, larger communities first.
  std::set<NodeId> over;
  std::map<NodeId, std::int64_t> size;
  for (const NodeId c : community) ++size[c];
  NodeId last = -1;
  for (const NodeId v : numbers(order.order)) {
    const NodeId c = community[static_cast<std::size_t>(v)];
    if (c == last) continue;
    EXPECT_TRUE(over.insert(c).second) << "community " << c << " stands in two places";
    if (last >= 0) {
      EXPECT_GE(size[last], size[c]);
    }
    last = c;
  }
  double before = -1;
  for (const LouvainLevel& level : order.levels) {
    EXPECT_LT(level.communities, level.nodes);
    EXPECT_GT(level.modularity, before);
    before = level.modularity;
  }
}

TEST(louvain, finds_communities_that_were_planted) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Planted planted = planted_graph(12, 40, 0.4, 0.01, seed);
    const Reordering order = found(planted.graph);
    expect_sound(planted.graph, order);
    EXPECT_EQ(order.num_communities(), 12) << "seed " << seed;
    EXPECT_NEAR(order.modularity, naive_modularity(planted.graph, planted.community), 1e-12) << "seed " << seed;
  }
}

TEST(louvain, finds_communities_that_hardly_show) {
  const Planted planted = planted_graph(25, 40, 0.12, 0.01, 4);
  const Reordering order = found(planted.graph);
  expect_sound(planted.graph, order);
  EXPECT_GE(order.modularity, naive_modularity(planted.graph, planted.community) - 0.01);
}

TEST(louvain, is_sound_on_every_square_graph_of_the_battery) {
  for (const BatteryGraph& each : battery_graphs()) {
    if (!each.graph.is_square()) continue;
    SCOPED_TRACE(each.name);
    expect_sound(each.graph, found(each.graph));
  }
}

TEST(louvain, gives_the_same_order_for_any_number_of_threads) {
  const Planted planted = planted_graph(30, 60, 0.1, 0.004, 5);
  const Reordering one = found(planted.graph, 1);
  for (const int threads : {2, 3, 7}) {
    const Reordering several = found(planted.graph, threads);
    EXPECT_EQ(numbers(several.order), numbers(one.order));
    EXPECT_EQ(several.modularity, one.modularity);
  }
}

TEST(louvain, takes_edges_in_either_direction_alike) {
  // Every edge in one direction only: the same communities as with both, as all weights halve.
  const Planted planted = planted_graph(8, 30, 0.3, 0.02, 6);
  const GraphView view = planted.graph.host_view();
  std::vector<NodeId> sources, destinations;
  for (std::int64_t v = 0; v < view.num_rows; ++v)
    for (EdgeId k = view.offsets[v]; k < view.offsets[v + 1]; ++k)
      if (view.cols[k] < v) {
        sources.push_back(view.cols[k]);
        destinations.push_back(static_cast<NodeId>(v));
      }
  const Graph directed = Graph::from_edges(view.num_rows, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(numbers(found(directed).order), numbers(found(planted.graph).order));
}

TEST(louvain, leaves_nodes_without_edges_on_their_own) {
  const Graph lonely =
      Graph::from_edges(5, {.sources = std::vector<NodeId>{1, 3}, .destinations = std::vector<NodeId>{3, 1}});
  const Reordering order = found(lonely);
  expect_sound(lonely, order);
  EXPECT_EQ(order.num_communities(), 4);
  EXPECT_EQ(numbers(order.order).front(), 1);
  EXPECT_EQ(found(Graph::from_edges(3, EdgeList{})).num_nodes(), 3);
  EXPECT_EQ(found(Graph()).num_nodes(), 0);
}

TEST(louvain, reaches_what_networkx_does_on_real_graphs) {
  // The mean of three seeds of networkx 3.6's louvain_communities, less 0.01.
  const std::pair<const char*, double> graphs[] = {{"pubmed.mtx", 0.7664 - 0.01}, {"ca-CondMat.mtx", 0.7323 - 0.01}};
  for (const auto& [name, least] : graphs) {
    const std::string path = std::string(WEFT_SHARED_DATA) + "/graphs/" + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
    EXPECT_GE(found(read_graph(path).graph).modularity, least) << name;
  }
}

TEST(louvain, tells_how_far_it_is) {
  const Planted planted = planted_graph(8, 30, 0.3, 0.02, 7);
  std::vector<std::string> told;
  LouvainOptions options;
  options.progress = [&](std::string_view what, std::int64_t, std::int64_t) { told.emplace_back(what); };
  const Reordering order = louvain_order(Context::cpu(2), planted.graph, options);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().find("louvain: level 1, round 1, "), 0u) << told.front();
}

TEST(louvain, ends_where_its_options_say) {
  const Planted planted = planted_graph(30, 60, 0.1, 0.004, 5);
  LouvainOptions options;
  options.max_levels = 1;
  options.max_rounds = 2;
  const Reordering order = louvain_order(Context::cpu(2), planted.graph, options);
  ASSERT_EQ(order.levels.size(), 1u);
  EXPECT_EQ(order.levels.front().rounds, 2);
}

TEST(louvain, ends_with_the_level_that_gains_too_little) {
  const Planted planted = planted_graph(30, 60, 0.1, 0.004, 5);
  const Reordering all = found(planted.graph);
  ASSERT_GE(all.levels.size(), 2u);
  // Between what the first and the second level add.
  LouvainOptions options;
  options.least_gain = (all.levels[1].modularity - all.levels[0].modularity) * 1.01;
  EXPECT_EQ(louvain_order(Context::cpu(2), planted.graph, options).levels.size(), 2u);
  options.least_gain = all.levels[0].modularity * 1.2;
  EXPECT_EQ(louvain_order(Context::cpu(2), planted.graph, options).levels.size(), 1u);
}

TEST(louvain, refuses_what_it_cannot_do) {
  expect_refused([] { found(tangled_graph()); }, "6 x 5");
  LouvainOptions options;
  options.max_rounds = 0;
  expect_refused([&] { louvain_order(Context::cpu(1), Graph(), options); }, "max_rounds");
  options = {};
  options.least_gain = -1;
  expect_refused([&] { louvain_order(Context::cpu(1), Graph(), options); }, "least_gain");
}

}  // namespace
}  // namespace weft::test
