// Values of edges by row windows: sums that they weigh, and dot products of both ends, against the reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/cuda/windows.hpp"

namespace weft::test {
namespace {

class cuda_window_values : public GpuTest {};

/// Those with windows, and transposes, whose edges have ids of their own.
std::vector<PlacedGraph> graphs_with_ids() {
  std::vector<BatteryGraph> battery = graphs_with_windows();
  std::vector<PlacedGraph> graphs = placed(battery);
  add_transposes(graphs, battery.back().name, battery.back().graph);
  return graphs;
}

TEST_F(cuda_window_values, weigh_sums_as_the_reference_does) {
  Context context = Context::cuda();
  std::uint64_t seed = 8000;
  for (const auto& [graph, here, there] : graphs_with_ids())
    for (const char* policy : {"core=tensor,window=128,threshold=1", "core=tensor,window=64,threshold=2,layout=none",
                               "core=tensor,threshold=3", "core=tensor,threshold=2,layout=loa",
                               "core=tensor,window=16,threshold=1,layout=none"})
      for (const std::int64_t width : {8, 64, 72, 128}) {
        ++seed;
        const Dtype dtype = seed % 2 == 0 ? Dtype::f16 : Dtype::bf16;
        const Finish finish{seed % 3 == 0 ? Reduce::mean : Reduce::sum};
        const std::string where =
            fmt::format("{} {} {} width {} policy '{}' seed {}", graph, name(dtype), text(finish), width, policy, seed);
        SumOperands sum(here, dtype, width, true, seed);
        const Plan plan = make_plan(context, there, sum.desc(finish), parse_policy(policy));
        ASSERT_EQ(plan.cuda().core, Core::tensor) << where;
        sum.expect_by(context, there, plan, finish, where);
        if (HasFailure()) return;
      }
}

TEST_F(cuda_window_values, multiply_both_ends_as_the_reference_does) {
  if (!has_hopper_windows()) GTEST_SKIP() << "dot products run on tensor cores by Hopper's own instructions alone";
  Context context = Context::cuda();
  std::uint64_t seed = 9000;
  for (const auto& [graph, here, there] : graphs_with_ids())
    for (const char* policy :
         {"core=tensor,threshold=1", "core=tensor,threshold=3,layout=none", "core=tensor,threshold=2,layout=loa"})
      for (const std::int64_t width : {8, 64, 72, 128}) {
        ++seed;
        const Dtype dtype = seed % 2 == 0 ? Dtype::f16 : Dtype::bf16;
        const std::string where =
            fmt::format("{} {} width {} policy '{}' seed {}", graph, name(dtype), width, policy, seed);
        const DotOperands dot(here, dtype, width, seed);
        const Plan plan = make_plan(context, there, dot.desc(), parse_policy(policy));
        ASSERT_EQ(plan.cuda().core, Core::tensor) << where;
        dot.expect_by(context, there, plan, false, where);
        if (HasFailure()) return;
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
  const WindowShape shape{.rows = 128, .threshold = 3, .layout = WindowLayout::clusters, .edges = true};
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
        const std::int64_t at = edge.spot / TileEdge::pitch;
        const std::pair<NodeId, NodeId> place{
            rows[static_cast<std::size_t>(work.window * std::int64_t{shape.rows} + at)],
            cols[static_cast<std::size_t>(group / 8 * window_step + edge.spot % TileEdge::pitch)]};
        elsewhere += ends[edge.id] != place || at / 16 != group % 8;
        ++seen[edge.id];
      }
  EXPECT_EQ(elsewhere, 0);
  for (const EdgeId id : from_gpu(windows->residual().view().edge_ids, windows->residual().num_edges()))
    ++seen[static_cast<std::size_t>(id)];
  EXPECT_EQ(std::ranges::count(seen, 1), count);
}

TEST_F(cuda_window_values, are_those_of_their_edges_whether_ids_of_a_transpose_were_kept_or_made_for_windows) {
  // As large as above.
  const Graph graph = generate("powerlaw:nodes=100000,edges=17000000,communities=200,inside=0.9,seed=1").graph;
  const Graph there = graph.to(gpu).transpose(), here = graph.transpose();
  const std::size_t before = there.bytes();
  Context context = Context::cuda();
  SumOperands sum(here, Dtype::f16, 8, true, 9500);
  const DotOperands dot(here, Dtype::f16, 8, 9502);
  // The first plan's windows are there before anybody has asked for ids; making it has kept them.
  for (const bool kept : {false, true}) {
    GraphInternals::drop_windows(there);
    EXPECT_EQ(there.bytes() >= before + static_cast<std::size_t>(there.num_edges()) * sizeof(EdgeId), kept);
    const Plan of_sums = make_plan(context, there, sum.desc({}), parse_policy("core=tensor"));
    ASSERT_GT(window_facts(of_sums)->edge_share, 0.1);
    sum.expect_by(context, there, of_sums, {}, kept ? "sums by kept ids" : "sums by ids made for windows");
    const Plan of_dots = make_plan(context, there, dot.desc(), parse_policy("core=tensor"));
    dot.expect_by(context, there, of_dots, kept, kept ? "dot products by kept ids" : "dot products by ids made");
  }
}

}  // namespace
}  // namespace weft::test
