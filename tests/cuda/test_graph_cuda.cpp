// Graphs built on a GPU are, bit for bit, those the host builds.
#include <fmt/format.h>

#include <cstring>

#include "core/device.hpp"
#include "cuda/gpu.hpp"
#include "graph/cuda/edge_places.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_internals.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/plan.hpp"
#include "weft/sample.hpp"

namespace weft::test {
namespace {

class cuda_graph : public GpuTest {};

Tensor ids_on_gpu(const std::vector<NodeId>& ids) {
  Tensor host = Tensor::empty(Shape(static_cast<std::int64_t>(ids.size())), Dtype::i32);
  std::ranges::copy(ids, host.span<NodeId>().begin());
  return host.to(gpu);
}

Graph build_on_gpu(std::int64_t rows, std::int64_t cols, const battery::GrowingEdges& list) {
  const Tensor destinations = ids_on_gpu(list.destinations), sources = ids_on_gpu(list.sources);
  return Graph::from_edges({.num_sources = cols, .num_destinations = rows},
                           {.sources = sources, .destinations = destinations}, nullptr);
}

/// The edges of a graph in the order of their ids.
battery::GrowingEdges edges_by_id(const Graph& graph) {
  battery::GrowingEdges list;
  list.destinations.resize(static_cast<std::size_t>(graph.num_edges()));
  list.sources.resize(list.destinations.size());
  const std::span<const NodeId> rows = graph.rows();
  for (EdgeId k = 0; k < graph.num_edges(); ++k) {
    const auto id = static_cast<std::size_t>(graph.view().edge_id(k));
    list.destinations[id] = rows[static_cast<std::size_t>(k)];
    list.sources[id] = graph.cols()[static_cast<std::size_t>(k)];
  }
  return list;
}

/// Every array of `there` holds what the host's graph holds, rows and the presence of ids included.
void expect_same(const Graph& there, const Graph& host) {
  ASSERT_EQ(there.device(), gpu);
  ASSERT_EQ(there.num_rows(), host.num_rows());
  ASSERT_EQ(there.num_cols(), host.num_cols());
  ASSERT_EQ(there.num_edges(), host.num_edges());
  const GraphView view = there.view();
  EXPECT_TRUE(std::ranges::equal(from_gpu(view.offsets, view.num_rows + 1), host.offsets()));
  EXPECT_TRUE(std::ranges::equal(from_gpu(view.rows, view.num_edges), host.rows()));
  EXPECT_TRUE(std::ranges::equal(from_gpu(view.cols, view.num_edges), host.cols()));
  ASSERT_EQ(view.edge_ids != nullptr, host.has_edge_ids());
  if (!host.has_edge_ids()) return;
  EXPECT_TRUE(std::ranges::equal(from_gpu(view.edge_ids, view.num_edges), host.edge_ids()));
}

TEST_F(cuda_graph, from_edges_stores_every_battery_graph_as_the_host_does) {
  for (const BatteryGraph& battery : battery_graphs()) {
    SCOPED_TRACE(battery.name);
    const battery::GrowingEdges list = edges_by_id(battery.graph);
    const std::int64_t rows = battery.graph.num_rows(), cols = battery.graph.num_cols();
    expect_same(build_on_gpu(rows, cols, list), list.graph(rows, cols));
  }
}

TEST_F(cuda_graph, transposes_every_battery_graph_as_the_host_does) {
  for (const BatteryGraph& battery : battery_graphs()) {
    SCOPED_TRACE(battery.name);
    const Graph fresh = Graph::from_edges(
        {.num_sources = battery.graph.num_cols(), .num_destinations = battery.graph.num_rows()},
        {.sources = edges_by_id(battery.graph).sources, .destinations = edges_by_id(battery.graph).destinations});
    const Graph there = fresh.to(gpu);  // before the host has a transpose that would be copied along
    expect_same(there.transpose(), fresh.transpose());
    expect_same(there.transpose().transpose(), fresh);
    expect_same(fresh.to(gpu).transpose(), fresh.transpose());
  }
}

TEST_F(cuda_graph, samples_the_edges_that_the_host_samples) {
  for (const BatteryGraph& battery : battery_graphs())
    for (const Graph& graph : {battery.graph, battery.graph.transpose()})  // whose ids are in order, or not
      for (const EdgeSampling method :
           {EdgeSampling::bucket, EdgeSampling::fastrand, EdgeSampling::strata, EdgeSampling::fresh})
        for (const std::int64_t width : {1, 5, 1 << 20}) {
          const EdgeSample sample{method, width, 3, 7};
          const Derived here = sample_edges(graph, sample), there = sample_edges(graph.to(gpu), sample);
          const std::string what = fmt::format("{} {} width {}", battery.name, name(method), width);
          const Graph back = there.graph.to(Device{});
          ASSERT_EQ(back.num_edges(), here.graph.num_edges()) << what;
          EXPECT_TRUE(std::ranges::equal(back.offsets(), here.graph.offsets())) << what;
          EXPECT_TRUE(std::ranges::equal(back.cols(), here.graph.cols())) << what;
          EXPECT_EQ(kept_edges(graph.to(gpu), width), back.num_edges()) << what;
          const auto* const ids = there.origin.ids_view().as<EdgeId>();
          EXPECT_TRUE(std::ranges::equal(from_gpu(ids, back.num_edges()), here.origin.ids())) << what;
        }
}

TEST_F(cuda_graph, knows_the_row_of_every_edge_whatever_rows_are_empty_between) {
  for (const std::int64_t count : {1, 2, 15, 16, 17, 31, 32, 33, 48, 1000})
    for (const std::int64_t gap : {0, 1, 7, 100'000}) {  // empty rows in front, at the end and after every fifth edge
      std::vector<EdgeId> offsets(static_cast<std::size_t>(gap + 1), 0);
      for (EdgeId k = 1; k <= count; ++k) {
        if (k % 5 == 0) offsets.insert(offsets.end(), static_cast<std::size_t>(count < 100 ? gap : gap % 1000), k - 1);
        if (k % 3 == 0) offsets.push_back(k);
      }
      offsets.push_back(count);
      offsets.insert(offsets.end(), static_cast<std::size_t>(gap), count);
      const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
      const Graph host = Graph::from_csr(rows, 1, offsets, std::vector<NodeId>(static_cast<std::size_t>(count), 0));
      SCOPED_TRACE(fmt::format("{} edges, {} rows, gaps of {}", count, rows, gap));
      expect_same(host.to(gpu), host);
    }
}

TEST_F(cuda_graph, keeps_its_transpose) {
  const Graph there = battery::power_law_graph().to(gpu);
  const std::size_t before = there.bytes();
  const Graph first = there.transpose();
  EXPECT_GT(there.bytes(), before);
  const Graph second = there.transpose(), back = second.transpose();
  EXPECT_EQ(second.view().cols, first.view().cols);
  EXPECT_EQ(back.view().cols, there.view().cols);
}

TEST_F(cuda_graph, a_list_of_a_million_edges_with_hubs_and_duplicates_is_stored_as_on_the_host) {
  battery::SmallRandom random(71);
  battery::GrowingEdges list;
  constexpr std::int64_t rows = 300'000, cols = 70'000;
  for (int k = 0; k < 1'000'000; ++k)
    list.add(k % 5 == 0 ? 17 : random.below(cols), k % 3 == 0 ? rows - 2 : random.below(rows));
  const Graph host = list.graph(rows, cols), there = build_on_gpu(rows, cols, list);
  expect_same(there, host);
  expect_same(there.transpose(), host.transpose());
}

TEST_F(cuda_graph, the_64_bit_sort_gives_what_the_32_bit_one_gives) {
  const Graph host = battery::hub_graph();
  const battery::GrowingEdges list = edges_by_id(host);
  const Tensor destinations = ids_on_gpu(list.destinations), sources = ids_on_gpu(list.sources);
  GraphView view{host.num_rows(), host.num_cols(), host.num_edges()};
  view.rows = destinations.view().as<NodeId>();
  view.cols = sources.view().as<NodeId>();
  const auto expect_edges = [&](const cuda::EdgeBuffers& arrays, const Graph& wanted) {
    const auto check = [&]<class T>(const DeviceBuffer& buffer, std::span<const T> values) {
      EXPECT_TRUE(std::ranges::equal(
          from_gpu(reinterpret_cast<const T*>(buffer.data()), static_cast<std::int64_t>(values.size())), values));
    };
    check(arrays.offsets, wanted.offsets());
    check(arrays.rows, wanted.rows());
    check(arrays.cols, wanted.cols());
    check(arrays.edge_ids, wanted.edge_ids());
  };
  expect_edges(cuda::sort_edges(gpu, nullptr, view, 0), host);
  const Graph there = host.to(gpu);
  expect_edges(cuda::reverse_edges(gpu, nullptr, there.view(), true, 0), host.transpose());
}

TEST_F(cuda_graph, a_transpose_of_many_edges_has_ids_once_somebody_reads_them) {
  constexpr std::int64_t nodes = 100'000, edges = (1 << 24) + 5;
  battery::SmallRandom random(73);
  battery::GrowingEdges list;
  for (std::int64_t k = 0; k < edges; ++k) list.add(random.below(nodes), random.below(nodes));
  const Graph host = list.graph(nodes, nodes), late = host.to(gpu);
  const Graph reversed = late.transpose();
  const std::size_t without = late.bytes();
  EXPECT_EQ(GraphInternals::view_without_ids(reversed).edge_ids, nullptr);

  Context context = Context::cuda();
  make_plan(context, reversed, {OpKind::spmm, Dtype::f32, 1, 16, Reduce::sum, false}, parse_policy("order=none"));
  reversed.degrees();
  EXPECT_EQ(late.bytes(), without);
  const Graph elsewhere = late.to(gpu);
  EXPECT_EQ(elsewhere.bytes(), without);
  expect_same(elsewhere.transpose(), list.graph(nodes, nodes).transpose());

  host.transpose();
  const Graph early = host.to(gpu);  // its transpose came with its ids
  for (const bool clustered : {false, true}) {
    SCOPED_TRACE(clustered ? "clustered" : "as stored");
    const auto made = GraphInternals::places_from_transpose(late, clustered, clustered, nullptr);
    const auto wanted = GraphInternals::places_from_transpose(early, clustered, clustered, nullptr);
    EXPECT_TRUE(std::ranges::equal(from_gpu(made->read(), edges), from_gpu(wanted->read(), edges)));
    ASSERT_EQ(made->written() != nullptr, wanted->written() != nullptr);
    if (wanted->written() == nullptr) continue;
    EXPECT_TRUE(std::ranges::equal(from_gpu(made->written(), edges), from_gpu(wanted->written(), edges)));
  }
  const std::size_t before = late.bytes();
  expect_same(reversed, host.transpose());
  EXPECT_EQ(late.bytes(), before + static_cast<std::size_t>(edges) * sizeof(EdgeId));
  const Graph found = late.to(Device{}).transpose(), wanted = host.transpose();
  EXPECT_TRUE(std::ranges::equal(found.edge_ids(), wanted.edge_ids()));
}

TEST_F(cuda_graph, names_the_first_end_out_of_range_in_the_hosts_words) {
  for (const std::int64_t wrong : {0, 3, 4999}) {
    for (const NodeId value : {-1, 40, 1 << 30}) {
      for (const bool source : {false, true}) {
        SCOPED_TRACE(fmt::format("edge {} {} {}", wrong, source ? "from" : "to", value));
        battery::GrowingEdges list = edges_by_id(battery::random_graph(40, 40, 5000, 72));
        (source ? list.sources : list.destinations)[static_cast<std::size_t>(wrong)] = value;
        (source ? list.sources : list.destinations).back() = value;
        const std::string host = refusal_of([&] { list.graph(40, 40); });
        EXPECT_NE(host.find(fmt::format("[{}] is {}", wrong, value)), host.npos) << host;
        EXPECT_EQ(refusal_of([&] { build_on_gpu(40, 40, list); }), host);
      }
    }
  }
}

TEST_F(cuda_graph, refuses_lists_that_are_none) {
  const Tensor five = ids_on_gpu({0, 1, 2, 3, 4}), four = ids_on_gpu({0, 1, 2, 3});
  const Tensor wide = Tensor::zeros(Shape(5), Dtype::i64, "ids", gpu), host = Tensor::zeros(Shape(5), Dtype::i32);
  const auto refused = [&](ConstTensorView destinations, ConstTensorView sources, std::string_view argument) {
    expect_refused([&] { Graph::from_edges(5, {.sources = sources, .destinations = destinations}, nullptr); },
                   argument);
  };
  refused(five, four, "sources");
  refused(wide, five, "destinations");
  refused(five, wide, "sources");
  refused({}, five, "destinations");
  refused(five, host, "sources");
  expect_refused(
      [&] {
        Graph::from_edges({.num_sources = 5, .num_destinations = -1}, {.sources = five, .destinations = five}, nullptr);
      },
      "num_destinations");
  expect_refused(
      [&] {
        Graph::from_edges({.num_sources = std::int64_t{1} << 31, .num_destinations = 5},
                          {.sources = five, .destinations = five}, nullptr);
      },
      "num_sources");
}

TEST_F(cuda_graph, degrees_and_weights_have_the_hosts_bits_in_every_dtype) {
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const Dtype dtype : {Dtype::i32, Dtype::i64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64}) {
      SCOPED_TRACE(fmt::format("{} {}", battery.name, name(dtype)));
      const Tensor degrees = there.degrees(dtype);
      EXPECT_EQ(degrees.device(), gpu);
      EXPECT_TRUE(bitwise_equal(degrees.to(Device{}), battery.graph.degrees(dtype)));
      if (!is_floating(dtype)) continue;
      EXPECT_TRUE(bitwise_equal(mean_weights(there, dtype).to(Device{}), mean_weights(battery.graph, dtype)));
      EXPECT_TRUE(bitwise_equal(gcn_weights(there, {}, dtype).to(Device{}), gcn_weights(battery.graph, {}, dtype)));
    }
  }
}

TEST_F(cuda_graph, degrees_refuse_a_dtype_that_cannot_hold_them_in_the_hosts_words) {
  const Graph passes = battery::graph_of_degrees({1, 65505}, 3, 2);
  const Graph there = passes.to(gpu);
  EXPECT_EQ(refusal_of([&] { there.degrees(Dtype::f16); }), refusal_of([&] { passes.degrees(Dtype::f16); }));
  EXPECT_TRUE(bitwise_equal(there.degrees(Dtype::bf16).to(Device{}), passes.degrees(Dtype::bf16)));
}

TEST_F(cuda_graph, weighted_gcn_weights_are_refused_and_say_so) {
  const Graph there = tangled_graph().to(gpu);
  const Tensor values = Tensor::zeros(Shape(there.num_edges()), Dtype::f32, "values", gpu);
  expect_refused([&] { gcn_weights(there, values); }, "values", ErrorCode::unsupported);
}

TEST_F(cuda_graph, building_gives_back_all_but_the_graph) {
  const Tensor ids = ids_on_gpu(std::vector<NodeId>(100'000, 3));
  const std::size_t before = memory_stats(gpu).live_bytes;
  {
    const Graph graph = Graph::from_edges(5, {.sources = ids, .destinations = ids}, nullptr);
    EXPECT_EQ(memory_stats(gpu).live_bytes - before, graph.bytes());
    graph.transpose();
    EXPECT_EQ(memory_stats(gpu).live_bytes - before, graph.bytes());
  }
  EXPECT_EQ(memory_stats(gpu).live_bytes, before);
}

}  // namespace
}  // namespace weft::test
