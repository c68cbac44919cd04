// Windows that the planner chooses by itself: where runs are expected that pay for them, and nowhere else.
#include <cmath>
#include <limits>

#include "cuda/replay.hpp"
#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class cuda_window_choice : public GpuTest {};

constexpr OpDesc sums{OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false};

Graph communities() { return generate("powerlaw:nodes=20000,edges=4000000,communities=40,inside=0.95,seed=3").graph; }

Context expecting(std::int64_t runs) {
  Context context = Context::cuda();
  context.expect_runs(runs);
  return context;
}

TEST_F(cuda_window_choice, takes_windows_where_enough_runs_are_expected) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph there = communities().to(gpu);
  EXPECT_EQ(make_plan(expecting(1), there, sums).cuda().core, Core::cuda);
  EXPECT_EQ(make_plan(expecting(10), there, sums).cuda().core, Core::cuda);
  const Context context = expecting(100'000);
  EXPECT_EQ(make_plan(context, there, sums).cuda().core, Core::tensor);
  EXPECT_EQ(make_plan(context, there, sums, parse_policy("core=cuda")).cuda().core, Core::cuda);
  EXPECT_EQ(make_plan(expecting(10), there, sums).cuda().core, Core::cuda) << "as before they were made";
  const PlanReport report = explain_plan(context, there, sums);
  EXPECT_GT(report.candidates.size(), 1u);
  EXPECT_NE(report.reason.find("100000 runs"), std::string::npos) << report.reason;
}

TEST_F(cuda_window_choice, leaves_graphs_without_communities_as_they_are) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph there = generate("uniform:nodes=200000,edges=4000000,seed=4").graph.to(gpu);
  EXPECT_EQ(make_plan(expecting(100'000), there, sums).cuda().core, Core::cuda);
  OpDesc weighted = sums;
  weighted.weighted = true;
  EXPECT_EQ(make_plan(expecting(100'000), communities().to(gpu), weighted).cuda().core, Core::cuda);
}

TEST_F(cuda_window_choice, estimates_what_windows_then_have) {
  for (const char* spec : {"powerlaw:nodes=20000,edges=4000000,communities=40,inside=0.95,seed=3",
                           "powerlaw:nodes=30000,edges=900000,communities=100,inside=0.7,seed=5",
                           "uniform:nodes=3000,edges=600000,seed=6"}) {
    const Graph there = generate(spec).graph.to(gpu);
    for (const WindowLayout layout : {WindowLayout::none, WindowLayout::clusters, WindowLayout::loa}) {
      const WindowShape shape{.rows = 128, .threshold = 3, .layout = layout};
      const WindowEstimate seen = GraphInternals::estimate_windows(there, shape, nullptr);
      const auto made = GraphInternals::row_windows(there, shape, nullptr);
      const double share = static_cast<double>(made->dense_edges()) / static_cast<double>(there.num_edges());
      const double tiles = static_cast<double>(made->tiles());
      EXPECT_NEAR(seen.dense_share, share, 0.05) << spec << ", layout " << name(layout);
      EXPECT_NEAR(seen.tiles, tiles, 0.15 * tiles + 8) << spec << ", layout " << name(layout);
      EXPECT_EQ(GraphInternals::estimate_windows(there, shape, nullptr).tiles, seen.tiles);
    }
  }
}

TEST_F(cuda_window_choice, sums_scaled_sources_by_windows_in_f32_and_without_them_in_halves) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph graph = communities(), there = graph.to(gpu);
  Context context = expecting(100'000);
  const Tensor scale = random_tensor(Shape(graph.num_cols()), Dtype::f32, 42, 0.5, 2);
  const Tensor scale_there = scale.to(gpu);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    OpDesc desc = sums;
    desc.dtype = dtype;
    const Plan plan = make_plan(context, there, desc);
    // By a policy nothing runs without windows.
    const Plan by_windows = make_plan(context, there, desc, parse_policy("core=tensor"));
    ASSERT_EQ(plan.cuda().core, Core::tensor) << name(dtype);
    context.reserve(std::max(plan.workspace_bytes, by_windows.workspace_bytes));
    std::vector<double> values = doubles(random_tensor(Shape(graph.num_cols(), 64), dtype, 41));
    for (const bool finite : {true, false}) {
      // What is not finite reaches its neighbours, and no other row.
      if (!finite) values[17 * 64 + 5] = std::numeric_limits<double>::infinity();
      const Tensor x = Tensor::from(values, Shape(graph.num_cols(), 64), dtype), x_there = x.to(gpu);
      for (const bool scaled : {false, true}) {
        SpmmOptions options;
        options.op = SpmmOp::copy_u;
        if (scaled) options.epilogue.col_scale = scale;
        const SpmmExpected expected = expected_spmm(graph, x, {}, options);
        if (scaled) options.epilogue.col_scale = scale_there;
        Tensor out = constant(Shape(graph.num_rows(), 64), dtype, std::nan("")).to(gpu);
        spmm(context, plan, there, x_there, {}, out, options);
        const std::string where = fmt::format("{}{}{}, seeds 41 and 42", name(dtype), scaled ? " with col_scale" : "",
                                              finite ? "" : " with an infinity");
        expect_within_bound(out.to(Device{}), expected, where);
        const auto run_by_windows = [&] { spmm(context, by_windows, there, x_there, {}, out, options); };
        if (scaled && dtype != Dtype::f32) {
          expect_refused(run_by_windows, "col_scale", ErrorCode::unsupported);
          continue;
        }
        run_by_windows();
        expect_within_bound(out.to(Device{}), expected, where + ", core=tensor");
      }
    }
  }
}

TEST_F(cuda_window_choice, runs_in_a_graph_that_is_replayed_and_allocates_nothing) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Stream stream;
  const Graph graph = communities(), there = graph.to(gpu, stream);
  for (const Dtype dtype : {Dtype::f16, Dtype::f32}) {
    Context context = Context::cuda(0, stream);
    context.expect_runs(100'000);
    OpDesc desc = sums;
    desc.dtype = dtype;
    const Plan plan = make_plan(context, there, desc);
    ASSERT_EQ(plan.cuda().core, Core::tensor) << name(dtype);
    context.reserve(plan.workspace_bytes);
    const Tensor first = random_tensor(Shape(graph.num_cols(), 64), dtype, 51);
    const Tensor second = random_tensor(Shape(graph.num_cols(), 64), dtype, 52);
    Tensor x = first.to(gpu, stream), out = Tensor::zeros(Shape(graph.num_rows(), 64), dtype, "out", gpu, stream);
    const auto work = [&] { spmm(context, plan, there, x, {}, out, {.op = SpmmOp::copy_u}); };
    work();
    const std::size_t before = memory_stats(gpu).allocations;
    replay(stream, 2, work, [&] {
      ASSERT_EQ(cudaMemcpyAsync(x.view().mutable_data(), second.view().data, second.bytes(), cudaMemcpyDefault, stream),
                cudaSuccess);
    });
    EXPECT_EQ(memory_stats(gpu).allocations, before);
    expect_within_bound(out.to(Device{}, stream), expected_spmm(graph, second, {}, {.op = SpmmOp::copy_u}),
                        fmt::format("{} replayed, seed 52", name(dtype)));
  }
}

}  // namespace
}  // namespace weft::test
