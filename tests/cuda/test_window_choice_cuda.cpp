// Windows that the planner chooses by itself: where runs are expected that pay for them, and nowhere else.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cuda/replay.hpp"
#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/plan_view.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class cuda_window_choice : public GpuTest {};

constexpr OpDesc sums{OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, false};

/// Enough windows to fill an H200.
Graph communities() { return generate("powerlaw:nodes=40000,edges=8000000,communities=80,inside=0.95,seed=3").graph; }

/// Weighted sums, dot products and GAT that windows have kernels for.
std::array<OpDesc, 3> of_values() {
  std::array<OpDesc, 3> all{OpDesc{OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum, true},
                            OpDesc{OpKind::sddmm, Dtype::f16, 1, 64, Reduce::sum, false},
                            OpDesc{OpKind::attention, Dtype::f16, 1, 64, Reduce::sum, true}};
  for (OpDesc& desc : all) desc.fits_windows = true;
  return all;
}

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
  for (const OpDesc& desc : of_values())
    EXPECT_EQ(make_plan(expecting(100'000), there, desc).cuda().core, Core::cuda) << name(desc.kind);
}

TEST_F(cuda_window_choice, takes_windows_for_values_of_edges_where_calls_are_known_to_fit) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph there = communities().to(gpu);
  const Context context = expecting(100'000);
  for (OpDesc desc : of_values()) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      desc.dtype = dtype;
      const PlanReport report = explain_plan(context, there, desc);
      const Plan plan = make_plan(context, there, desc);
      EXPECT_EQ(plan.cuda().core, Core::tensor) << name(desc.kind) << " " << name(dtype) << ": " << report.reason;
      EXPECT_NE(report.reason.find("100000 runs"), std::string::npos) << report.reason;
      EXPECT_EQ(make_plan(expecting(1), there, desc).cuda().core, Core::cuda) << name(desc.kind);
      EXPECT_EQ(make_plan(context, there, desc, parse_policy("core=cuda")).cuda().core, Core::cuda) << name(desc.kind);
    }
    desc.fits_windows = false;
    EXPECT_EQ(make_plan(context, there, desc).cuda().core, Core::cuda) << name(desc.kind) << ": not known to fit";
    desc.fits_windows = true;
    desc.dtype = Dtype::f32;
    EXPECT_EQ(make_plan(context, there, desc).cuda().core, Core::cuda) << name(desc.kind) << " f32";
  }
}

/// What a call gives by the plan that knows of many runs, and by one without windows.
template <class Run>
void expect_same_without_windows(const Graph& there, const OpDesc& desc, const char* what, const Run& run) {
  const Plan plan = make_plan(expecting(100'000), there, desc), usual = make_plan(expecting(1), there, desc);
  ASSERT_EQ(plan.cuda().core, Core::tensor) << what;
  ASSERT_EQ(usual.cuda().core, Core::cuda) << what;
  Context context = Context::cuda();
  context.reserve(std::max(plan.workspace_bytes, usual.workspace_bytes));
  EXPECT_TRUE(bitwise_equal(run(context, plan), run(context, usual))) << what;
}

TEST_F(cuda_window_choice, runs_calls_that_windows_do_not_fit_without_them) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph graph = communities(), there = graph.to(gpu);
  const std::int64_t nodes = graph.num_rows(), edges = graph.num_edges();
  const std::array<OpDesc, 3> all = of_values();
  const Tensor x = random_tensor(Shape(nodes, 64), Dtype::f16, 61).to(gpu);
  const Tensor y = random_tensor(Shape(nodes, 64), Dtype::f16, 62).to(gpu);
  const Tensor values = random_tensor(Shape(edges), Dtype::f16, 63, 0.5, 2).to(gpu);
  expect_same_without_windows(there, all[0], "u_add_e", [&](Context& context, const Plan& plan) {
    Tensor out = constant(Shape(nodes, 64), Dtype::f16, std::nan("")).to(gpu);
    spmm(context, plan, there, x, values, out, {.op = SpmmOp::u_add_e});
    return out.to(Device{});
  });
  expect_same_without_windows(there, all[1], "products of both ends", [&](Context& context, const Plan& plan) {
    Tensor out = constant(Shape(edges, 64), Dtype::f16, std::nan("")).to(gpu);
    sddmm(context, plan, there, x, y, out, {SddmmOp::mul});
    return out.to(Device{});
  });
  // Rows that begin between multiples of 16 bytes.
  const Tensor wide = random_tensor(Shape(nodes * 65), Dtype::f16, 64).to(gpu);
  ConstTensorView odd = wide;
  odd.shape = Shape(nodes, 64);
  odd.ld = 65;
  expect_same_without_windows(there, all[1], "rows of 65 values", [&](Context& context, const Plan& plan) {
    Tensor out = constant(Shape(edges), Dtype::f16, std::nan("")).to(gpu);
    sddmm(context, plan, there, odd, y, out, {});
    return out.to(Device{});
  });
  const auto expect_same_attention = [&](const AttentionCase& other, const char* what) {
    const AttentionCase on_gpu = other.to(gpu);
    expect_same_without_windows(there, all[2], what, [&](Context& context, const Plan& plan) {
      Tensor out = constant(Shape(nodes, 1, 64), Dtype::f16, std::nan("")).to(gpu);
      Tensor row_max = Tensor::zeros(Shape(nodes, 1, 1), Dtype::f32, "row_max", gpu);
      Tensor row_sum = Tensor::zeros(Shape(nodes, 1, 1), Dtype::f32, "row_sum", gpu);
      attention(context, plan, there, on_gpu.views(), out, row_max, row_sum);
      return out.to(Device{});
    });
  };
  AttentionCase drops(graph, Score::gat, Dtype::f16, 1, 64, 1, {}, 65);
  drops.dropout = 0.5f;
  expect_same_attention(drops, "dropout");
  expect_same_attention({graph, Score::gat, Dtype::f16, 1, 64, 1, Dtype::f16, 66}, "bias");
  expect_same_attention({graph, Score::gatv2, Dtype::f16, 1, 64, 8, {}, 67}, "gatv2");
  expect_same_attention({graph, Score::dot, Dtype::f16, 1, 64, 12, {}, 68}, "dot over no whole packs of 8 features");
}

TEST_F(cuda_window_choice, keeps_to_the_bound_with_values_of_edges) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph graph = communities(), there = graph.to(gpu);
  Context context = expecting(100'000);
  SumOperands sum(graph, Dtype::f16, 64, true, 71);
  const DotOperands dot(graph, Dtype::f16, 64, 75);
  OpDesc weighted = sum.desc({}), dots = dot.desc();
  weighted.fits_windows = dots.fits_windows = true;
  sum.expect_by(context, there, make_plan(context, there, weighted), {}, "weighted sums, seed 71");
  dot.expect_by(context, there, make_plan(context, there, dots), false, "dot products, seed 75");
  const AttentionCase gat(graph, Score::gat, Dtype::f16, 1, 64, 1, {}, 79), on_gpu = gat.to(gpu);
  const Plan plan = make_plan(context, there, of_values()[2]);
  ASSERT_EQ(plan.cuda().core, Core::tensor);
  context.reserve(plan.workspace_bytes);
  Tensor out = constant(Shape(graph.num_rows(), 1, 64), Dtype::f16, std::nan("")).to(gpu);
  Tensor row_max = Tensor::zeros(Shape(graph.num_rows(), 1, 1), Dtype::f32, "row_max", gpu);
  Tensor row_sum = Tensor::zeros(Shape(graph.num_rows(), 1, 1), Dtype::f32, "row_sum", gpu);
  attention(context, plan, there, on_gpu.views(), out, row_max, row_sum);
  expect_within_bound(out.to(Device{}), expected_attention(graph, gat.views(), gat.largest_score).out, "GAT, seed 79");
}

TEST_F(cuda_window_choice, takes_windows_for_gradients_of_gat_unless_edges_are_dropped) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  const Graph graph = communities(), there = graph.to(gpu);
  AttentionCase gat(graph, Score::gat, Dtype::f16, 1, 64, 1, {}, 81);
  const AttentionCase on_gpu = gat.to(gpu);
  const Tensor grad = random_tensor(Shape(graph.num_rows(), 1, 64), Dtype::f16, 82).to(gpu);
  const auto unwritten = [](const Tensor& like) { return constant(like.shape(), Dtype::f16, 77).to(gpu); };
  Context context = expecting(100'000);
  const AttentionResult forward = attention(context, there, on_gpu.views());
  std::vector<AttentionGradients> gradients;
  for (const std::int64_t runs : {1, 100'000}) {
    context = expecting(runs);
    const AttentionBackwardPlan plan = plan_attention_backward(context, there, on_gpu.views());
    EXPECT_EQ(plan.gather.cuda().core, runs == 1 ? Core::cuda : Core::tensor);
    AttentionGradients& g = gradients.emplace_back();
    g.value = unwritten(gat.value);
    g.src = unwritten(gat.src);
    g.dst = unwritten(gat.dst);
    const auto run = [&](Context& by, const AttentionInputs& in) {
      attention_backward(by, plan, there, in, forward, grad, {g.value, g.src, g.dst, {}, {}});
    };
    Context small = Context::cuda();
    small.reserve(plan.workspace_bytes - 1);
    expect_refused([&] { run(small, on_gpu.views()); }, "workspace");
    context.reserve(plan.workspace_bytes);
    if (runs > 1) {
      AttentionInputs dropping = on_gpu.views();
      dropping.dropout = 0.5f;
      expect_refused([&] { run(context, dropping); }, "plan visits edges by row windows, but gradients of edges that",
                     ErrorCode::unsupported);
    }
    run(context, on_gpu.views());
  }
  for (const auto of : {&AttentionGradients::value, &AttentionGradients::src, &AttentionGradients::dst}) {
    const std::vector<double> usual = doubles((gradients[0].*of).to(Device{})),
                              got = doubles((gradients[1].*of).to(Device{}));
    for (std::size_t i = 0; i < usual.size(); ++i)
      ASSERT_NEAR(got[i], usual[i], 2e-3 * (1 + std::fabs(usual[i]))) << "element " << i << ", seeds 81 and 82";
  }
  AttentionInputs dropping = on_gpu.views();
  dropping.dropout = 0.5f;
  EXPECT_EQ(plan_attention_backward(context, there, dropping).gather.cuda().core, Core::cuda);
}

TEST_F(cuda_window_choice, asks_for_no_ids_that_windows_list_themselves) {
  if (!has_hopper_windows()) GTEST_SKIP() << "windows were measured on compute capability 9.0 alone";
  // Large enough that a transpose on a GPU makes its edges' ids on demand.
  const Graph graph = generate("powerlaw:nodes=100000,edges=17000000,communities=200,inside=0.9,seed=1").graph;
  const Graph there = graph.to(gpu).transpose();
  const Plan plan = make_plan(Context::cuda(), there, of_values()[0], parse_policy("core=tensor"));
  EXPECT_EQ(view_by(plan, there).edge_ids, nullptr);
}

TEST_F(cuda_window_choice, estimates_what_windows_then_have) {
  for (const char* spec : {"powerlaw:nodes=20000,edges=4000000,communities=40,inside=0.95,seed=3",
                           "powerlaw:nodes=30000,edges=900000,communities=100,inside=0.7,seed=5",
                           "uniform:nodes=3000,edges=600000,seed=6"}) {
    const Graph there = generate(spec).graph.to(gpu);
    for (const auto& [layout, threshold] : {std::pair{WindowLayout::none, 3},
                                            {WindowLayout::clusters, 3},
                                            {WindowLayout::loa, 3},
                                            {WindowLayout::clusters, 6}}) {
      const WindowShape shape{.rows = 128, .threshold = threshold, .layout = layout};
      const WindowEstimate seen = GraphInternals::estimate_windows(there, shape, nullptr);
      const auto made = GraphInternals::row_windows(there, shape, nullptr);
      const double share = static_cast<double>(made->dense_edges()) / static_cast<double>(there.num_edges());
      const double tiles = static_cast<double>(made->tiles());
      EXPECT_NEAR(seen.dense_share, share, 0.05) << spec << ", layout " << name(layout) << ", threshold " << threshold;
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
