// Where values of edges stand between a walk over the transpose and one over the graph.
#include <algorithm>
#include <memory>
#include <vector>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/cuda/edge_places.hpp"
#include "graph/graph_internals.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

class cuda_edge_places : public GpuTest {};

std::vector<std::int32_t> on_host(const std::int32_t* there, std::int64_t count) {
  std::vector<std::int32_t> here(static_cast<std::size_t>(count));
  copy_bytes(Device{}, here.data(), gpu, there, here.size() * sizeof(std::int32_t), nullptr);
  return here;
}
/// The ids of edges in the order of a walk, on the host.
std::vector<std::int64_t> ids_of(const Graph& there, const EdgeOrder* order) {
  std::vector<std::int64_t> ids;
  if (order != nullptr) {
    for (const std::int32_t id : on_host(order->ids(), there.num_edges())) ids.push_back(id);
    return ids;
  }
  const Graph here = there.to(Device{});
  for (EdgeId k = 0; k < here.num_edges(); ++k) ids.push_back(here.view().edge_id(k));
  return ids;
}

/// Both walks find an edge at the same place, every place is taken once, and what is read one after the other lies in
/// one bin, in the order it was written in.
void expect_places(const EdgePlaces& places, const std::vector<std::int64_t>& writing,
                   const std::vector<std::int64_t>& reading, int bin_bits, const std::string& where) {
  const auto count = static_cast<std::int64_t>(writing.size());
  const std::vector<std::int32_t> read = on_host(places.read(), count);
  std::vector<std::int32_t> written;
  if (places.written() != nullptr) written = on_host(places.written(), count);
  EXPECT_EQ(written.empty(), (count - 1) >> bin_bits == 0) << where;
  std::vector<std::int64_t> by_id(writing.size(), -1), writer(writing.size(), -1);
  for (std::int64_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const std::int64_t place = written.empty() ? k : written[i];
    ASSERT_TRUE(place >= 0 && place < count) << where << " edge " << k << " is written at " << place;
    ASSERT_EQ(writer[static_cast<std::size_t>(place)], -1) << where << " place " << place << " is taken twice";
    writer[static_cast<std::size_t>(place)] = k;
    by_id[static_cast<std::size_t>(writing[i])] = place;
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    ASSERT_EQ(read[i], by_id[static_cast<std::size_t>(reading[i])]) << where << " edge " << k << " of those read";
    ASSERT_EQ(read[i] >> bin_bits, k >> bin_bits) << where << " edge " << k << " is in another bin";
  }
  for (std::int64_t place = 1; place < count; ++place)
    if (place >> bin_bits == (place - 1) >> bin_bits) {
      ASSERT_LT(writer[static_cast<std::size_t>(place - 1)], writer[static_cast<std::size_t>(place)]) << where;
    }
}

TEST_F(cuda_edge_places, of_both_walks_agree_for_every_graph_order_and_size_of_bins) {
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"a transpose, with ids of its own", battery::power_law_graph().transpose()});
  for (const BatteryGraph& battery : graphs) {
    if (battery.graph.num_edges() == 0) continue;
    const Graph there = battery.graph.to(gpu), reversed = there.transpose();
    for (const bool writes_clustered : {false, true})
      for (const bool reads_clustered : {false, true}) {
        if ((writes_clustered || reads_clustered) && !there.is_square()) continue;
        const auto order_of = [](const Graph& graph, bool clustered) {
          return clustered ? GraphInternals::clustered_edges(graph, nullptr) : nullptr;
        };
        const auto writing = order_of(reversed, writes_clustered), reading = order_of(there, reads_clustered);
        const auto walk = [](const Graph& graph, const EdgeOrder* order) {
          return order != nullptr ? EdgePlaces::Walk{nullptr, order->ids()} : EdgePlaces::Walk{graph.view().edge_ids};
        };
        const std::vector<std::int64_t> written = ids_of(reversed, writing.get()), read = ids_of(there, reading.get());
        const std::string where = battery.name + (writes_clustered ? " written in clusters" : "") +
                                  (reads_clustered ? " read in clusters" : "");
        for (const int bin_bits : {2, 5, 9, EdgePlaces::usual_bin_bits}) {
          const EdgePlaces places(gpu, there.num_edges(), walk(reversed, writing.get()), walk(there, reading.get()),
                                  nullptr, bin_bits);
          expect_places(places, written, read, bin_bits, where + " bins of 2^" + std::to_string(bin_bits));
        }
        const auto kept = GraphInternals::places_from_transpose(there, writes_clustered, reads_clustered, nullptr);
        expect_places(*kept, written, read, EdgePlaces::usual_bin_bits, where + " kept");
        EXPECT_EQ(GraphInternals::places_from_transpose(there, writes_clustered, reads_clustered, nullptr), kept)
            << where;
        if (HasFailure()) return;
      }
  }
}

TEST_F(cuda_edge_places, count_among_the_bytes_of_their_graph) {
  const Graph there = battery::power_law_graph().to(gpu);
  there.transpose();
  const std::size_t before = there.bytes();
  const auto kept = GraphInternals::places_from_transpose(there, false, false, nullptr);
  EXPECT_EQ(there.bytes(), before + static_cast<std::size_t>(there.num_edges()) * sizeof(std::int32_t));
}

TEST_F(cuda_edge_places, are_refused_where_bins_would_not_fit_sixteen_bits) {
  const Graph there = generate(UniformSpec{1 << 12, 1 << 17, 3}).to(gpu);
  expect_refused([&] { EdgePlaces(gpu, there.num_edges(), {}, {}, nullptr, 0); }, "bins", ErrorCode::internal);
}

TEST_F(cuda_edge_places, are_refused_for_a_graph_without_edges) {
  const Graph there = Graph::from_edges(3, {}).to(gpu);
  expect_refused([&] { GraphInternals::places_from_transpose(there, false, false, nullptr); }, "edges",
                 ErrorCode::unsupported);
}

TEST_F(cuda_edge_places, in_several_bins_leave_the_gradients_of_attention_as_they_are) {
  const std::int64_t nodes = 60'000, degree = 90;  // 5.4 million edges are two bins
  std::vector<NodeId> destinations, sources;
  for (std::int64_t v = 0; v < nodes; ++v)
    for (std::int64_t i = 0; i < degree; ++i) {
      destinations.push_back(static_cast<NodeId>(v));
      sources.push_back(static_cast<NodeId>((v * 7919 + i * i * 104'729 + i) % nodes));
    }
  const Graph graph = Graph::from_edges(nodes, {.sources = sources, .destinations = destinations});
  const Graph there = graph.to(gpu);
  ASSERT_NE(GraphInternals::places_from_transpose(there, false, false, nullptr)->written(), nullptr);
  Context context = Context::cuda(), cpu = Context::cpu();
  const AttentionCase inputs(graph, Score::gat, Dtype::f32, 1, 8, 1, std::nullopt, 4711);
  const AttentionCase exact = inputs.to(Dtype::f64), moved = inputs.to(gpu);
  const Tensor grad = random_tensor(Shape(nodes, 1, 8), Dtype::f32, 4712);
  const AttentionResult wanted = attention(cpu, graph, exact.views());
  const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
  const AttentionResult result = attention(context, there, moved.views());
  const AttentionGradients by_gpu = attention_backward(context, there, moved.views(), result, grad.to(gpu));
  const auto alike = [](const Tensor& got_there, const Tensor& want, const char* what) {
    const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-5) << what << " element " << i;
  };
  alike(by_gpu.value, by_cpu.value, "value");
  alike(by_gpu.src, by_cpu.src, "src");
  alike(by_gpu.dst, by_cpu.dst, "dst");
}

}  // namespace
}  // namespace weft::test
