// Row windows: every edge is a bit or in the residual, and sums on tensor cores keep to the bound of all others.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/cuda/windows.hpp"
#include "support/errors.hpp"
#include "weft/reorder.hpp"

namespace weft::test {
namespace {

class cuda_windows : public GpuTest {};

constexpr WindowShape shapes[] = {
    {16, 1, WindowLayout::none},     {16, 2, WindowLayout::clusters}, {64, 3, WindowLayout::none},
    {64, 1, WindowLayout::clusters}, {128, 2, WindowLayout::none},    {128, 3, WindowLayout::clusters},
    {16, 2, WindowLayout::loa},      {64, 1, WindowLayout::loa},      {128, 3, WindowLayout::loa}};

std::string text(const WindowShape& shape) {
  return fmt::format("windows of {} rows, threshold {}, layout {}", shape.rows, shape.threshold, name(shape.layout));
}

using Ends = std::vector<std::pair<NodeId, NodeId>>;  // row, column

Ends ends_of(const Graph& graph) {
  Ends ends;
  for (std::size_t k = 0; k < graph.cols().size(); ++k) ends.emplace_back(graph.rows()[k], graph.cols()[k]);
  std::ranges::sort(ends);
  return ends;
}

/// The edges that are bits, column by column of every window.
struct Bits {
  Ends ends;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();  // of a column
};
Bits bits_of(const RowWindows& windows) {
  const WindowsView view = windows.view();
  const int rows = windows.shape().rows;
  const auto row_ids = from_gpu(view.rows, view.windows * rows);
  const auto all_work = from_gpu(view.work, view.windows);
  const auto cols = from_gpu(view.cols, windows.tiles() * window_step);
  const auto bits = from_gpu(view.bits, windows.tiles() * (window_step / 32) * rows);
  Bits result;
  std::int64_t columns = 0;
  std::int32_t heaviest = std::numeric_limits<std::int32_t>::max();
  for (const WindowWork& work : all_work) {
    EXPECT_LE(work.tiles, heaviest) << "of window " << work.window << " after one of fewer tiles";
    heaviest = work.tiles;
    const std::int64_t w = work.window;
    for (std::int64_t at = std::int64_t{work.first_tile} * window_step;
         at < (std::int64_t{work.first_tile} + work.tiles) * window_step; ++at) {
      std::int64_t edges = 0;
      for (int r = 0; r < rows; ++r) {
        const auto word = (at / window_step * rows + r) * (window_step / 32) + at % window_step / 32;
        if ((bits[static_cast<std::size_t>(word)] >> window_bit(static_cast<int>(at % 32)) & 1) == 0) continue;
        const NodeId row = row_ids[static_cast<std::size_t>(w * rows + r)];
        EXPECT_GE(row, 0);
        result.ends.emplace_back(row, cols[static_cast<std::size_t>(at)]);
        ++edges;
      }
      if (edges == 0) continue;  // behind the last column
      ++columns;
      result.fewest = std::min(result.fewest, edges);
    }
  }
  EXPECT_EQ(columns, windows.dense_columns());
  EXPECT_EQ(std::ssize(result.ends), windows.dense_edges());
  return result;
}

TEST_F(cuda_windows, hold_every_edge_once_as_a_bit_or_in_the_residual) {
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    for (const WindowShape& shape : shapes) {
      SCOPED_TRACE(battery.name + ", " + text(shape));
      const auto windows = GraphInternals::row_windows(there, shape, nullptr);
      const Bits bits = bits_of(*windows);
      if (!bits.ends.empty()) {
        EXPECT_GE(bits.fewest, shape.threshold);
      }
      Ends all = ends_of(windows->residual().to(Device{}));
      all.insert(all.end(), bits.ends.begin(), bits.ends.end());
      std::ranges::sort(all);
      EXPECT_EQ(all, ends_of(battery.graph));
      // What is left in the residual is below the threshold, but for parallel edges.
      if (shape.threshold == 1 && std::ranges::adjacent_find(all) == all.end()) {
        EXPECT_EQ(windows->residual().num_edges(), 0);
      }
    }
  }
}

TEST_F(cuda_windows, are_kept_with_the_graph_counted_and_dropped) {
  const Graph there = generate("powerlaw:nodes=2000,edges=40000,communities=10,inside=0.9,seed=1").graph.to(gpu);
  const std::size_t before = there.bytes();
  const auto first = GraphInternals::row_windows(there, shapes[4], nullptr);
  EXPECT_EQ(first, GraphInternals::row_windows(there, shapes[4], nullptr));
  EXPECT_NE(first, GraphInternals::row_windows(there, shapes[2], nullptr));
  EXPECT_GE(there.bytes(), before + first->bytes());
  GraphInternals::drop_windows(there);
  EXPECT_EQ(there.bytes(), before);
}

TEST_F(cuda_windows, list_rows_in_the_order_of_loa_which_the_graph_keeps) {
  const Graph graph = generate("powerlaw:nodes=5000,edges=60000,communities=50,inside=0.9,seed=1").graph;
  const Graph there = graph.to(gpu);
  const std::size_t before = there.bytes();
  const Reordering loa = loa_order(Context::cpu(), graph);
  const auto order = loa.order.span<NodeId>();
  for (const int rows : {16, 64, 128}) {
    const auto windows = GraphInternals::row_windows(there, {rows, 2, WindowLayout::loa}, nullptr);
    std::vector<NodeId> expected(order.begin(), order.end());
    expected.resize(static_cast<std::size_t>(windows->windows() * rows), -1);
    EXPECT_EQ(from_gpu(windows->view().rows, windows->windows() * rows), expected) << "windows of " << rows;
    const auto unordered = GraphInternals::row_windows(there, {rows, 2, WindowLayout::none}, nullptr);
    EXPECT_GT(windows->dense_edges(), unordered->dense_edges()) << "windows of " << rows;
  }
  GraphInternals::drop_windows(there);
  EXPECT_EQ(there.bytes(), before + order.size_bytes()) << "one order for windows of any size";
}

TEST_F(cuda_windows, of_another_layout_are_other_plans) {
  Context context = Context::cuda();
  const Graph there = generate("powerlaw:nodes=2000,edges=40000,communities=10,inside=0.9,seed=1").graph.to(gpu);
  const OpDesc desc{OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false};
  const auto plan = [&](WindowLayout layout) {
    return make_plan(context, there, desc, parse_policy(fmt::format("core=tensor,layout={}", name(layout))));
  };
  for (const WindowLayout layout : {WindowLayout::none, WindowLayout::clusters, WindowLayout::loa}) {
    const Plan made = plan(layout);
    EXPECT_EQ(made.cuda().window_layout, layout);
    EXPECT_EQ(window_facts(made)->layout, layout);
    EXPECT_NE(to_string(made).find(fmt::format("layout={}", name(layout))), std::string::npos) << to_string(made);
    EXPECT_EQ(made == plan(WindowLayout::loa), layout == WindowLayout::loa);
  }
}

TEST_F(cuda_windows, sum_on_tensor_cores_as_the_reference_does) {
  Context context = Context::cuda();
  std::uint64_t seed = 7000;
  for (const auto& [graph, here, there] : placed(graphs_with_windows()))
    for (const WindowShape& shape : shapes)
      for (const std::int64_t width : {8, 64, 72, 128, 264}) {
        ++seed;
        constexpr Dtype dtypes[] = {Dtype::f16, Dtype::bf16, Dtype::f32};
        const Dtype dtype = dtypes[seed % 3];
        const bool epilogue = seed % 5 == 0;
        const Finish finish{seed % 4 == 0 ? Reduce::mean : Reduce::sum, epilogue, epilogue, epilogue};
        const std::string policy = fmt::format("core=tensor,window={},threshold={},layout={}", shape.rows,
                                               shape.threshold, name(shape.layout));
        const std::string where =
            fmt::format("{} {} {} width {} policy '{}' seed {}", graph, name(dtype), text(finish), width, policy, seed);
        SumOperands sum(here, dtype, width, false, seed);
        const Plan plan = make_plan(context, there, sum.desc(finish), parse_policy(policy));
        ASSERT_EQ(plan.cuda().core, Core::tensor) << where;
        sum.expect_by(context, there, plan, finish, where);
        if (HasFailure()) return;
      }
}

TEST_F(cuda_windows, sum_f32_as_tf32_where_the_policy_says_so) {
  Context context = Context::cuda();
  std::uint64_t seed = 7500;
  for (const auto& [graph, here, there] : placed(graphs_with_windows()))
    for (const WindowShape& shape : shapes)
      for (const std::int64_t width : {8, 40, 128}) {
        ++seed;
        const bool epilogue = seed % 5 == 0;
        const Finish finish{seed % 4 == 0 ? Reduce::mean : Reduce::sum, epilogue, epilogue, epilogue};
        const std::string policy = fmt::format("core=tensor,window={},threshold={},layout={},tf32=yes", shape.rows,
                                               shape.threshold, name(shape.layout));
        const std::string where =
            fmt::format("{} {} width {} policy '{}' seed {}", graph, text(finish), width, policy, seed);
        SumOperands sum(here, Dtype::f32, width, false, seed);
        const Plan plan = make_plan(context, there, sum.desc(finish), parse_policy(policy));
        ASSERT_EQ(plan.cuda().core, Core::tensor) << where;
        // TF32 has 11 bits: 2^-11 of a term are 2^12 times what f32 may be off by.
        sum.expect_by(context, there, plan, finish, where, /*more=*/0x1p12);
        if (HasFailure()) return;
      }
}

TEST_F(cuda_windows, round_to_tf32_by_policy_alone_and_as_its_rounding_says) {
  // A row has one edge, so that its sum is one value of x; ones are exact, and 1 + 2^-12 is rounded.
  constexpr NodeId nodes = 32;
  battery::GrowingEdges edges;
  for (NodeId v = 0; v < nodes; ++v) edges.add(v / 2, v);
  const Graph there = edges.graph(nodes, nodes).to(gpu);
  constexpr OpDesc desc{OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, false};
  Context context = Context::cuda();
  const std::vector<double> values(nodes * 64, 1 + 0x1p-12);
  const Tensor x = Tensor::from(values, Shape(nodes, 64), Dtype::f32).to(gpu);
  const Tensor scale = constant(Shape(nodes), Dtype::f32, 1).to(gpu);
  for (const int rows : {16, 64, 128})
    for (const bool tf32 : {false, true}) {
      const Plan plan =
          make_plan(context, there, desc,
                    parse_policy(fmt::format("core=tensor,window={},threshold=1{}", rows, tf32 ? ",tf32=yes" : "")));
      EXPECT_EQ(to_string(plan).find("tf32=yes") != std::string::npos, tf32);
      context.reserve(plan.workspace_bytes);
      Tensor out = constant(Shape(nodes, 64), Dtype::f32, 0).to(gpu);
      spmm(context, plan, there, x, {}, out, {.op = SpmmOp::copy_u});
      for (const double value : doubles(out.to(Device{})))
        ASSERT_EQ(value, tf32 ? 1 : 1 + 0x1p-12) << "windows of " << rows << " rows";
      SpmmOptions scaled{.op = SpmmOp::copy_u};
      scaled.epilogue.col_scale = scale;
      if (tf32)
        expect_refused([&] { spmm(context, plan, there, x, {}, out, scaled); }, "col_scale", ErrorCode::unsupported);
    }
  for (const OpDesc& other : {OpDesc{OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false},
                              OpDesc{OpKind::spmm, Dtype::bf16, 1, 64, Reduce::mean, false}})
    expect_refused([&] { make_plan(context, there, other, parse_policy("core=tensor,tf32=yes")); }, "tf32",
                   ErrorCode::unsupported);
}

TEST_F(cuda_windows, keep_what_is_not_finite_to_the_rows_that_have_it) {
  // Row 0 gathers an infinity and row 1 a NaN; all others share the window's columns, but not those two.
  battery::GrowingEdges edges;
  constexpr NodeId nodes = 64;
  for (NodeId v = 0; v < nodes; ++v)
    for (NodeId u = 2; u < 20; ++u) edges.add(u, v);
  edges.add(0, 0);
  edges.add(1, 1);
  const Graph graph = edges.graph(nodes, nodes);
  Tensor x = constant(Shape(nodes, 64), Dtype::f16, 0.25);
  const auto values = x.span<Half>();
  for (std::size_t f = 0; f < 64; ++f) {
    values[f] = Half::from_bits(0x7c00);
    values[64 + f] = Half::from_bits(0x7e00);
  }
  Context context = Context::cuda();
  const Graph there = graph.to(gpu);
  const Plan plan = make_plan(context, there, {OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false},
                              parse_policy("core=tensor,window=64,threshold=1"));
  context.reserve(plan.workspace_bytes);
  Tensor out = constant(Shape(nodes, 64), Dtype::f16, 0).to(gpu);
  spmm(context, plan, there, x.to(gpu), {}, out, {.op = SpmmOp::copy_u});
  const std::vector<double> result = doubles(out.to(Device{}));
  for (std::size_t v = 0; v < nodes; ++v)
    for (std::size_t f = 0; f < 64; ++f) {
      const double value = result[v * 64 + f];
      if (v == 0) {
        ASSERT_EQ(value, std::numeric_limits<double>::infinity());
      } else if (v == 1) {
        ASSERT_TRUE(std::isnan(value));
      } else {
        ASSERT_EQ(value, 18 * 0.25) << "row " << v;
      }
    }
}

TEST_F(cuda_windows, refuse_what_tensor_cores_cannot_sum) {
  Context context = Context::cuda();
  const Graph there = generate("uniform:nodes=200,edges=4000,seed=2").graph.to(gpu);
  const auto plan = [&](OpDesc desc) { return make_plan(context, there, desc, parse_policy("core=tensor")); };
  const auto refused = [&](OpDesc desc, std::string_view word) {
    expect_refused([&] { plan(desc); }, word, ErrorCode::unsupported);
  };
  refused({OpKind::spmm, Dtype::f64, 1, 64, Reduce::sum, false}, "f64");
  expect_refused(
      [&] {
        make_plan(context, there, {OpKind::sddmm, Dtype::f16, 1, 64, Reduce::sum, false},
                  parse_policy("core=tensor,window=64"));
      },
      "sddmm", ErrorCode::unsupported);
  refused({OpKind::spmm, Dtype::f16, 1, 64, Reduce::max, false}, "max");
  refused({OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true}, "values");
  refused({OpKind::spmm, Dtype::f16, 2, 32, Reduce::sum, true}, "values");
  refused({OpKind::spmm, Dtype::f16, 1, 47, Reduce::sum, false}, "47");
  refused({OpKind::sddmm, Dtype::f32, 1, 64, Reduce::sum, false}, "sddmm");
  refused({OpKind::sddmm, Dtype::f16, 1, 136, Reduce::sum, false}, "136");
  refused({OpKind::attention, Dtype::f16, 4, 16, Reduce::sum, true}, "attention");
  expect_refused(
      [&] {
        make_plan(context, there, {OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false}, parse_policy("window=64"));
      },
      "core");
}

}  // namespace
}  // namespace weft::test
