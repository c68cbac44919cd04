// Values of edges by row windows: sums that they weigh, and dot products of both ends, against the reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "battery/sweep.hpp"
#include "core/device.hpp"
#include "cuda/gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/windows.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

class cuda_window_values : public GpuTest {};

/// The battery's square graphs, some with communities, and transposes, whose edges have ids of their own.
std::vector<BatteryGraph> square_graphs() {
  std::vector<BatteryGraph> graphs;
  for (BatteryGraph& battery : battery_graphs())
    if (battery.graph.is_square() && battery.graph.num_edges() > 0) graphs.push_back(std::move(battery));
  graphs.push_back({"communities", generate("powerlaw:nodes=3000,edges=90000,communities=20,inside=0.9,seed=1").graph});
  graphs.push_back({"dense", generate("uniform:nodes=700,edges=100000,seed=2").graph});
  graphs.push_back({"transposed", graphs.back().graph.transpose()});
  return graphs;
}

/// On the GPU, a transpose being made there.
Graph placed(const BatteryGraph& battery) {
  return battery.name == "transposed" ? battery.graph.transpose().to(gpu).transpose() : battery.graph.to(gpu);
}

void expect_weighted_sum(Context& context, const BatteryGraph& battery, const Graph& there, std::int64_t width,
                         Dtype dtype, Reduce reduce, const std::string& policy, std::uint64_t seed) {
  const Graph& graph = battery.graph;
  const std::string where = fmt::format("{} {} {} width {} policy '{}' seed {}", battery.name, name(dtype),
                                        name(reduce), width, policy, seed);
  const Tensor x = random_tensor(Shape(graph.num_cols(), width), dtype, seed);
  const Tensor weights = random_tensor(Shape(graph.num_edges()), dtype, seed + 1, 0.25, 2);
  SpmmOptions options;
  options.op = SpmmOp::u_mul_e;
  options.reduce = reduce;
  const SpmmExpected expected = expected_spmm(graph, x, weights, options);
  const Tensor x_there = x.to(gpu), weights_there = weights.to(gpu);
  const Plan plan = make_plan(context, there, {OpKind::spmm, dtype, 1, width, reduce, true}, parse_policy(policy));
  ASSERT_EQ(plan.cuda().core, Core::tensor);
  context.reserve(plan.workspace_bytes);
  const auto run = [&] {
    Tensor out = constant(Shape(graph.num_rows(), width), dtype, std::nan("")).to(gpu);
    spmm(context, plan, there, x_there, weights_there, out, options);
    return out.to(Device{});
  };
  const Tensor first = run();
  expect_within_bound(first, expected, where);
  EXPECT_TRUE(bitwise_equal(run(), first)) << where;
}

TEST_F(cuda_window_values, weigh_sums_as_the_reference_does) {
  Context context = Context::cuda();
  std::uint64_t seed = 8000;
  for (const BatteryGraph& battery : square_graphs()) {
    const Graph there = placed(battery);
    for (const char* policy : {"core=tensor,window=128,threshold=1", "core=tensor,window=64,threshold=2,layout=none",
                               "core=tensor,threshold=3", "core=tensor,window=16,threshold=1,layout=none"})
      for (const std::int64_t width : {8, 64, 72, 128}) {
        ++seed;
        expect_weighted_sum(context, battery, there, width, seed % 2 == 0 ? Dtype::f16 : Dtype::bf16,
                            seed % 3 == 0 ? Reduce::mean : Reduce::sum, policy, seed);
        if (HasFailure()) return;
      }
  }
}

TEST_F(cuda_window_values, multiply_both_ends_as_the_reference_does) {
  if (!(has_wgmma && cuda_device(gpu.index).compute_capability == 90))
    GTEST_SKIP() << "dot products run on tensor cores by Hopper's own instructions alone";
  Context context = Context::cuda();
  std::uint64_t seed = 9000;
  for (const BatteryGraph& battery : square_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = placed(battery);
    for (const char* policy : {"core=tensor,threshold=1", "core=tensor,threshold=3,layout=none"})
      for (const std::int64_t width : {8, 64, 72, 128}) {
        ++seed;
        const Dtype dtype = seed % 2 == 0 ? Dtype::f16 : Dtype::bf16;
        const std::string where =
            fmt::format("{} {} width {} policy '{}' seed {}", battery.name, name(dtype), width, policy, seed);
        const Tensor x = random_tensor(Shape(graph.num_cols(), width), dtype, seed);
        const Tensor y = random_tensor(Shape(graph.num_rows(), width), dtype, seed + 1);
        const Expected expected = expected_sddmm(graph, x, y, {});
        const Tensor x_there = x.to(gpu), y_there = y.to(gpu);
        const Plan plan =
            make_plan(context, there, {OpKind::sddmm, dtype, 1, width, Reduce::sum, false}, parse_policy(policy));
        ASSERT_EQ(plan.cuda().core, Core::tensor);
        context.reserve(plan.workspace_bytes);
        const auto run = [&] {
          Tensor out = constant(Shape(graph.num_edges()), dtype, std::nan("")).to(gpu);
          sddmm(context, plan, there, x_there, y_there, out, {});
          return out.to(Device{});
        };
        const Tensor first = run();
        expect_within_bound(first, expected, where);
        EXPECT_TRUE(bitwise_equal(run(), first)) << where;
        if (HasFailure()) return;
      }
  }
}

TEST_F(cuda_window_values, keep_weights_that_are_not_finite_to_their_rows) {
  constexpr NodeId nodes = 128;
  battery::GrowingEdges edges;
  for (NodeId v = 0; v < nodes; ++v)
    for (NodeId u = 0; u < 20; ++u) edges.add(u, v);
  const Graph graph = edges.graph(nodes, nodes), there = graph.to(gpu);
  const Tensor x = constant(Shape(nodes, 64), Dtype::f16, 0.25);
  Tensor weights = constant(Shape(graph.num_edges()), Dtype::f16, 0.5);
  weights.span<Half>()[20 * 3 + 4] = Half::from_bits(0x7c00);  // of row 3
  weights.span<Half>()[20 * 7 + 1] = Half::from_bits(0x7e00);  // of row 7
  Context context = Context::cuda();
  for (const int rows : {16, 64, 128}) {
    const Plan plan = make_plan(context, there, {OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, true},
                                parse_policy(fmt::format("core=tensor,window={},threshold=1,layout=none", rows)));
    context.reserve(plan.workspace_bytes);
    Tensor out = constant(Shape(nodes, 64), Dtype::f16, 0).to(gpu);
    spmm(context, plan, there, x.to(gpu), weights.to(gpu), out, {.op = SpmmOp::u_mul_e});
    const std::vector<double> result = doubles(out.to(Device{}));
    for (std::size_t v = 0; v < nodes; ++v) {
      const double value = result[v * 64 + 5];
      if (v == 3) {
        EXPECT_EQ(value, std::numeric_limits<double>::infinity()) << "windows of " << rows << " rows";
      } else if (v == 7) {
        EXPECT_TRUE(std::isnan(value)) << "windows of " << rows << " rows";
      } else {
        EXPECT_EQ(value, 20 * 0.125) << "row " << v << ", windows of " << rows;
      }
    }
  }
}

TEST_F(cuda_window_values, list_every_edge_once_where_its_ends_are) {
  // Large enough that a transpose on a GPU makes its edges' ids on demand.
  const Graph graph = generate("powerlaw:nodes=100000,edges=17000000,communities=200,inside=0.9,seed=1").graph;
  const Graph reversed = graph.transpose(), there = graph.to(gpu).transpose();
  const GraphView host = reversed.view();
  const std::int64_t count = host.num_edges;
  std::vector<std::pair<NodeId, NodeId>> ends(static_cast<std::size_t>(count));
  for (NodeId row = 0; row < host.num_rows; ++row)
    for (EdgeId k = host.offsets[row]; k < host.offsets[row + 1]; ++k)
      ends[static_cast<std::size_t>(host.edge_id(k))] = {row, host.cols[k]};
  const WindowShape shape{.rows = 128, .threshold = 3, .clustered = true, .edges = true};
  const auto windows = GraphInternals::row_windows(there, shape, nullptr);
  ASSERT_GT(windows->dense_edges(), count / 10);
  const WindowsView view = windows->view();
  const auto rows = from_gpu(view.rows, view.windows * shape.rows);
  const auto cols = from_gpu(view.cols, windows->tiles() * window_step);
  const TileEdgesView listed = windows->tile_edges();
  const auto starts = from_gpu(listed.starts, windows->tiles() * (shape.rows / 16) + 1);
  const auto edges = from_gpu(listed.edges, windows->dense_edges());
  std::vector<int> seen(static_cast<std::size_t>(count));
  std::int64_t elsewhere = 0;
  for (const WindowWork& work : from_gpu(view.work, view.windows))
    for (std::int64_t group = std::int64_t{work.first_tile} * 8; group < (work.first_tile + work.tiles) * 8; ++group)
      for (auto j = std::size_t{starts[static_cast<std::size_t>(group)]};
           j < starts[static_cast<std::size_t>(group) + 1]; ++j) {
        const TileEdge& edge = edges[j];
        const std::int64_t at = group % 8 * 16 + edge.spot / TileEdge::pitch;
        const std::pair<NodeId, NodeId> place{
            rows[static_cast<std::size_t>(work.window * std::int64_t{shape.rows} + at)],
            cols[static_cast<std::size_t>(group / 8 * window_step + edge.spot % TileEdge::pitch)]};
        elsewhere += ends[edge.id] != place || at / 16 != group % 8;
        ++seen[edge.id];
      }
  EXPECT_EQ(elsewhere, 0);
  for (const EdgeId id : from_gpu(windows->residual_ids(), windows->residual().num_edges()))
    ++seen[static_cast<std::size_t>(id)];
  EXPECT_EQ(std::ranges::count(seen, 1), count);
}

}  // namespace
}  // namespace weft::test
