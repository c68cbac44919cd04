// Orders of nodes found on a GPU are those that the host finds.
#include <algorithm>
#include <numeric>

#include "core/device.hpp"
#include "cuda/gpu.hpp"
#include "graph/order/cuda/louvain.hpp"
#include "graph/order/naive_order.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

class cuda_order : public GpuTest {};

void expect_same_communities(const Graph& graph) {
  const Reordering host = louvain_order(Context::cpu(), graph), there = louvain_order(Context::cuda(), graph);
  EXPECT_EQ(numbers(there.order), numbers(host.order));
  EXPECT_EQ(numbers(there.communities), numbers(host.communities));
  EXPECT_EQ(there.modularity, host.modularity);
  ASSERT_EQ(there.levels.size(), host.levels.size());
  for (std::size_t i = 0; i < host.levels.size(); ++i) {
    EXPECT_EQ(there.levels[i].rounds, host.levels[i].rounds);
    EXPECT_EQ(there.levels[i].communities, host.levels[i].communities);
    EXPECT_EQ(there.levels[i].modularity, host.levels[i].modularity);
  }
}

TEST_F(cuda_order, louvain_finds_what_the_host_does_on_every_square_graph_of_the_battery) {
  for (const BatteryGraph& each : battery_graphs()) {
    if (!each.graph.is_square()) continue;
    SCOPED_TRACE(each.name);
    expect_same_communities(each.graph);
  }
}

TEST_F(cuda_order, louvain_finds_what_the_host_does_over_several_levels) {
  for (const char* spec : {"powerlaw:nodes=30000,edges=600000,exponent=2.1,communities=200,inside=0.6,seed=3",
                           "rmat:scale=15,edge_factor=8,seed=2", "molecules:nodes=20000", "grid:side=150"}) {
    SCOPED_TRACE(spec);
    expect_same_communities(generate(spec).graph);
  }
}

TEST_F(cuda_order, louvain_finds_what_the_host_does_of_directed_edges) {
  expect_same_communities(test::random_graph(3000, 3000, 20000, 8));
}

TEST_F(cuda_order, louvain_finds_what_the_host_does_where_hubs_need_tables_of_their_own) {
  // Four rows of some 20,000 edges each, beside rows of few.
  Random random(9);
  std::vector<NodeId> sources, destinations;
  constexpr NodeId nodes = 30000;
  for (NodeId v = 4; v < nodes; ++v)
    for (NodeId hub = 0; hub < 4; ++hub)
      if (random.uniform(0, 1) < 0.7 || hub == v % 4) {
        sources.insert(sources.end(), {v, hub});
        destinations.insert(destinations.end(), {hub, v});
      }
  expect_same_communities(Graph::from_edges(nodes, {.sources = sources, .destinations = destinations}));
}

TEST_F(cuda_order, louvain_finds_what_the_host_does_of_rows_that_are_not_sorted) {
  const Planted planted = planted_graph(10, 50, 0.3, 0.01, 11);
  std::vector<NodeId> cols(planted.graph.cols().begin(), planted.graph.cols().end());
  const auto offsets = planted.graph.offsets();
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v)
    std::reverse(cols.begin() + offsets[v], cols.begin() + offsets[v + 1]);
  const Graph unsorted = Graph::from_csr(planted.graph.num_rows(), planted.graph.num_cols(), offsets, cols);
  expect_same_communities(unsorted);
  EXPECT_EQ(numbers(louvain_order(Context::cuda(), unsorted).order),
            numbers(louvain_order(Context::cpu(), planted.graph).order));
  EXPECT_EQ(numbers(loa_order(Context::cuda(), unsorted).order), numbers(loa_order(Context::cpu(), unsorted).order));
}

TEST_F(cuda_order, communities_are_contracted_alike_in_one_piece_and_in_many) {
  const Graph there = test::random_graph(500, 500, 9000, 12).to(gpu);
  const GraphView view = there.view();
  const louvain::LevelGraph level{view.num_rows, view.num_edges, view.offsets, view.rows, view.cols};
  Tensor community = Tensor::empty(Shape(500), Dtype::i32);
  for (std::size_t v = 0; v < 500; ++v) community.span<NodeId>()[v] = static_cast<NodeId>(v * 7 % 20);
  const Tensor of_nodes = community.to(gpu);
  const auto weights_of = [&](std::int64_t at_once) {
    const louvain::LevelArrays arrays =
        louvain::contract_edges(gpu, nullptr, level, of_nodes.view().as<NodeId>(), 20, at_once);
    std::vector<std::int64_t> weights(static_cast<std::size_t>(arrays.edges));
    copy_bytes(Device{}, weights.data(), gpu, arrays.weights.data(), weights.size() * sizeof(std::int64_t), nullptr);
    return weights;
  };
  const auto whole = weights_of(1 << 20);
  EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), std::int64_t{0}), 9000);
  for (const std::int64_t at_once : {100, 4500, 8999}) EXPECT_EQ(weights_of(at_once), whole);
}

TEST_F(cuda_order, louvain_takes_a_graph_from_either_side) {
  const Planted planted = planted_graph(10, 50, 0.3, 0.01, 10);
  const std::vector<NodeId> expected = numbers(louvain_order(Context::cpu(), planted.graph).order);
  const Graph there = planted.graph.to(gpu);
  EXPECT_EQ(numbers(louvain_order(Context::cuda(), there).order), expected);
  EXPECT_EQ(numbers(louvain_order(Context::cpu(), there).order), expected);
}

TEST_F(cuda_order, loa_arranges_rows_as_the_host_does) {
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"molecules", generate("molecules:nodes=20000").graph});
  graphs.push_back({"rmat", generate("rmat:scale=13,edge_factor=8,seed=2").graph});
  for (const BatteryGraph& each : graphs) {
    if (!each.graph.is_square()) continue;
    for (const std::int64_t range : {64, 4096}) {
      for (const std::int64_t look_ahead : {20, 300}) {
        SCOPED_TRACE(each.name + ", range " + std::to_string(range) + ", look-ahead " + std::to_string(look_ahead));
        LoaOptions options;
        options.range = range;
        options.look_ahead = look_ahead;
        EXPECT_EQ(numbers(loa_order(Context::cuda(), each.graph, options).order),
                  numbers(loa_order(Context::cpu(), each.graph, options).order));
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
