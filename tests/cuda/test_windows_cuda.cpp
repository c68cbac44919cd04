// Row windows: every edge is a bit or in the residual, and sums on tensor cores keep to the bound of all others.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/cuda/windows.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

class cuda_windows : public GpuTest {};

constexpr WindowShape shapes[] = {{16, 1, false}, {16, 2, true},   {64, 3, false},
                                  {64, 1, true},  {128, 2, false}, {128, 3, true}};

std::string text(const WindowShape& shape) {
  return fmt::format("windows of {} rows, threshold {}{}", shape.rows, shape.threshold,
                     shape.clustered ? ", clustered" : "");
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
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"communities", generate("powerlaw:nodes=3000,edges=90000,communities=20,inside=0.9,seed=1").graph});
  for (const BatteryGraph& battery : graphs) {
    if (!battery.graph.is_square() || battery.graph.num_edges() == 0) continue;
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

struct Call {
  std::int64_t width;
  Dtype dtype;
  Reduce reduce;
  bool epilogue;
  double more = 0;  // roundings that each term may be off by
};

/// The sum on tensor cores, twice, against the reference.
void expect_sum(Context& context, const BatteryGraph& battery, const Graph& there, const Call& call,
                const std::string& policy, std::uint64_t seed) {
  const Graph& graph = battery.graph;
  const std::string where =
      fmt::format("{} {} {} width {}{} policy '{}' seed {}", battery.name, name(call.dtype), name(call.reduce),
                  call.width, call.epilogue ? " with epilogue" : "", policy, seed);
  // Sums of one sign are where it would show that tensor cores cut off instead of rounding.
  const bool one_sign = seed % 2 == 0;
  const Tensor x = one_sign ? random_tensor(Shape(graph.num_cols(), call.width), call.dtype, seed, 0.5, 2)
                            : random_tensor(Shape(graph.num_cols(), call.width), call.dtype, seed);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  options.reduce = call.reduce;
  Tensor row_scale, bias;
  if (call.epilogue) {
    row_scale = random_tensor(Shape(graph.num_rows()), Dtype::f32, seed + 1, 0.5, 2);
    bias = random_tensor(Shape(call.width), call.dtype, seed + 2);
    options.epilogue.row_scale = row_scale;
    options.epilogue.bias = bias;
    options.epilogue.relu = true;
  }
  SpmmExpected expected = expected_spmm(graph, x, {}, options);
  expected.more = call.more;
  const Tensor x_there = x.to(gpu), row_there = on(gpu, row_scale), bias_there = on(gpu, bias);
  if (call.epilogue) {
    options.epilogue.row_scale = row_there;
    options.epilogue.bias = bias_there;
  }
  const Plan plan =
      make_plan(context, there, {OpKind::spmm, call.dtype, 1, call.width, call.reduce, false}, parse_policy(policy));
  ASSERT_EQ(plan.cuda().core, Core::tensor);
  context.reserve(plan.workspace_bytes);
  const auto run = [&] {
    Tensor out = constant(Shape(graph.num_rows(), call.width), call.dtype, std::nan("")).to(gpu);
    spmm(context, plan, there, x_there, {}, out, options);
    return out.to(Device{});
  };
  const Tensor first = run();
  expect_within_bound(first, expected, where);
  EXPECT_TRUE(bitwise_equal(run(), first)) << where;
}

TEST_F(cuda_windows, sum_on_tensor_cores_as_the_reference_does) {
  Context context = Context::cuda();
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"communities", generate("powerlaw:nodes=3000,edges=90000,communities=20,inside=0.9,seed=1").graph});
  graphs.push_back({"dense", generate("uniform:nodes=700,edges=100000,seed=2").graph});
  std::uint64_t seed = 7000;
  for (const BatteryGraph& battery : graphs) {
    if (!battery.graph.is_square() || battery.graph.num_edges() == 0) continue;
    const Graph there = battery.graph.to(gpu);
    for (const WindowShape& shape : shapes)
      for (const std::int64_t width : {8, 64, 72, 128, 264}) {
        ++seed;
        constexpr Dtype dtypes[] = {Dtype::f16, Dtype::bf16, Dtype::f32};
        const Call call{width, dtypes[seed % 3], seed % 4 == 0 ? Reduce::mean : Reduce::sum, seed % 5 == 0};
        const std::string policy = fmt::format("core=tensor,window={},threshold={},layout={}", shape.rows,
                                               shape.threshold, shape.clustered ? "clusters" : "none");
        expect_sum(context, battery, there, call, policy, seed);
        if (HasFailure()) return;
      }
  }
}

TEST_F(cuda_windows, sum_f32_as_tf32_where_the_policy_says_so) {
  Context context = Context::cuda();
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"communities", generate("powerlaw:nodes=3000,edges=90000,communities=20,inside=0.9,seed=1").graph});
  std::uint64_t seed = 7500;
  for (const BatteryGraph& battery : graphs) {
    if (!battery.graph.is_square() || battery.graph.num_edges() == 0) continue;
    const Graph there = battery.graph.to(gpu);
    for (const WindowShape& shape : shapes)
      for (const std::int64_t width : {8, 40, 128}) {
        ++seed;
        // TF32 has 11 bits: 2^-11 of a term are 2^12 times what f32 may be off by.
        const Call call{width, Dtype::f32, seed % 4 == 0 ? Reduce::mean : Reduce::sum, seed % 5 == 0, /*more=*/0x1p12};
        const std::string policy = fmt::format("core=tensor,window={},threshold={},layout={},tf32=yes", shape.rows,
                                               shape.threshold, shape.clustered ? "clusters" : "none");
        expect_sum(context, battery, there, call, policy, seed);
        if (HasFailure()) return;
      }
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
  refused({OpKind::attention, Dtype::f16, 1, 64, Reduce::sum, false}, "attention");
  expect_refused(
      [&] {
        make_plan(context, there, {OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false}, parse_policy("window=64"));
      },
      "core");
}

}  // namespace
}  // namespace weft::test
