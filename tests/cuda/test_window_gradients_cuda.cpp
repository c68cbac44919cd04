// GAT's gradients by row windows: as right as those of one visit of the edges, and the same bits each time.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/attention_on_gpu.hpp"
#include "cuda/replay.hpp"
#include "cuda/windows_on_gpu.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

class cuda_window_gradients : public GpuTest, public ::testing::WithParamInterface<Dtype> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (!has_hopper_windows()) GTEST_SKIP() << "attention's gradients by windows run on Hopper alone";
  }
};
INSTANTIATE_TEST_SUITE_P(storage, cuda_window_gradients, ::testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

constexpr const char* policies[] = {"core=tensor", "core=tensor,threshold=1", "core=tensor,threshold=2,layout=none"};

AttentionCase gat_of(const Graph& graph, Dtype dtype, std::int64_t heads, std::int64_t width, std::uint64_t seed) {
  return {graph, Score::gat, dtype, heads, width, 1, {}, seed};
}
Tensor gradient_for(const Graph& graph, const AttentionCase& gat, std::uint64_t seed) {
  const Shape& shape = gat.value.shape();
  return random_tensor(Shape(graph.num_rows(), shape.heads, shape.width), gat.value.dtype(), seed);
}

/// A layer on the GPU whose forward wrote f32, so that means of gradients are not of a rounded output.
struct Layer {
  Graph there;
  AttentionCase gat;
  Tensor out_grad;
  AttentionResult result;
  AttentionGradients gradients;

  Layer(Context& context, const Graph& graph, const AttentionCase& here, const Tensor& grad)
      : there(graph.to(gpu, context.stream())) {
    const auto placed = [&](const Tensor& t) { return t.to(gpu, context.stream()); };
    gat.value = placed(here.value);
    gat.src = placed(here.src);
    gat.dst = placed(here.dst);
    gat.slope = here.slope;
    gat.dropout = here.dropout;
    out_grad = placed(grad);
    const Shape by_head(graph.num_rows(), grad.shape().heads, 1);
    const auto unwritten = [&](const Shape& shape, Dtype dtype) { return placed(constant(shape, dtype, 77)); };
    result = {unwritten(grad.shape(), Dtype::f32), unwritten(by_head, Dtype::f32), unwritten(by_head, Dtype::f32)};
    const Plan forward =
        make_plan(context, there,
                  {OpKind::attention, here.value.dtype(), grad.shape().heads, grad.shape().width, Reduce::sum, true});
    context.reserve(forward.workspace_bytes);
    attention(context, forward, there, gat.views(), result.out, result.row_max, result.row_sum);
    gradients.value = unwritten(here.value.shape(), here.value.dtype());
    gradients.src = unwritten(here.src.shape(), here.value.dtype());
    gradients.dst = unwritten(here.dst.shape(), here.value.dtype());
  }
  AttentionBackwardPlan plan(Context& context, const char* policy) {
    const Policy wanted = parse_policy(policy);
    AttentionBackwardPlan made = plan_attention_backward(context, there, gat.views(), wanted);
    EXPECT_TRUE(made.at_once) << policy;
    EXPECT_EQ(made.gather.cuda().core, *wanted.core) << policy;
    context.reserve(made.workspace_bytes);
    return made;
  }
  void run(Context& context, const AttentionBackwardPlan& plan) {
    attention_backward(context, plan, there, gat.views(), result, out_grad,
                       {gradients.value, gradients.src, gradients.dst, {}, {}});
  }
  AttentionGradients on_host(CUstream_st* stream) const {
    return {gradients.value.to(Device{}, stream),
            gradients.src.to(Device{}, stream),
            gradients.dst.to(Device{}, stream),
            {},
            {}};
  }
  AttentionGradients run_on_host(Context& context, const char* policy) {
    run(context, plan(context, policy));
    return on_host(context.stream());
  }
};

/// In float64 on the CPU, and what the gradients are made of added up without signs.
struct Expected64 {
  AttentionGradients gradients, absolute;

  Expected64(const Graph& graph, const AttentionCase& gat, const Tensor& grad) {
    Context cpu = Context::cpu();
    const AttentionCase exact = gat.to(Dtype::f64);
    const AttentionResult forward = attention(cpu, graph, exact.views());
    gradients = attention_backward(cpu, graph, exact.views(), forward, grad.to(Dtype::f64));
    std::vector<double> sizes = doubles(grad);
    for (double& size : sizes) size = std::fabs(size);
    absolute = attention_backward(cpu, graph, exact.views(), forward, Tensor::from(sizes, grad.shape(), Dtype::f64));
  }
};

/// One rounding to the storage type, weights that are off by `weights`, and sums in f32.
void expect_value_within_bound(const Tensor& got_there, const Expected64& expected, EdgeId edges, double weights,
                               const std::string& where) {
  const bool half = got_there.dtype() == Dtype::f16;
  const std::vector<double> got = doubles(got_there), want = doubles(expected.gradients.value),
                            sizes = doubles(expected.absolute.value);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double bound = (half ? 0x1p-11 : 0x1p-8) * std::fabs(want[i]) +
                         (weights + 0x1p-24 * error_factor(edges)) * sizes[i] + (half ? 0x1p-24 : 0x1p-130);
    ASSERT_NEAR(got[i], want[i], bound) << where << " value's gradient, element " << i;
  }
}
void expect_near(const Tensor& got_there, const Tensor& want_there, const std::string& where) {
  const double tolerance = got_there.dtype() == Dtype::f16 ? 2e-3 : 1.6e-2;  // of one rounding, and sums in f32
  const std::vector<double> got = doubles(got_there), want = doubles(want_there);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << where << " element " << i;
}

TEST_P(cuda_window_gradients, agree_with_float64_on_every_square_graph_and_width) {
  Context context = Context::cuda();
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 8},   {1, 40}, {1, 64}, {1, 104},
                                                              {1, 128}, {3, 64}, {2, 128}};
  std::uint64_t seed = 4000;
  std::vector<BatteryGraph> graphs = graphs_with_windows();
  graphs.push_back({"a transpose, with ids of its own", battery::power_law_graph().transpose()});
  for (const BatteryGraph& battery : graphs)
    for (const auto& [heads, width] : shapes) {
      AttentionCase gat = gat_of(battery.graph, GetParam(), heads, width, seed += 10);
      gat.slope = seed % 30 == 0 ? 1.0f : seed % 30 == 10 ? -0.5f : 0.2f;
      const Tensor grad = gradient_for(battery.graph, gat, seed + 6);
      const Expected64 expected(battery.graph, gat, grad);
      Layer layer(context, battery.graph, gat, grad);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} heads {} width {} slope {} policy '{}' seed {}", battery.name, heads,
                                              width, gat.slope, policy, seed);
        const AttentionGradients got = layer.run_on_host(context, policy);
        // Of scores up to 4 in units of ln 2, and the exponential itself.
        expect_value_within_bound(got.value, expected, battery.graph.num_edges(), 0x1p-19, where);
        expect_near(got.src, expected.gradients.src, where + " src");
        expect_near(got.dst, expected.gradients.dst, where + " dst");
        const AttentionGradients again = layer.run_on_host(context, policy);
        EXPECT_TRUE(bitwise_equal(again.value, got.value)) << where;
        EXPECT_TRUE(bitwise_equal(again.src, got.src)) << where;
        EXPECT_TRUE(bitwise_equal(again.dst, got.dst)) << where;
        if (HasFailure()) return;
      }
    }
}

TEST_P(cuda_window_gradients, of_scores_that_lie_far_apart_are_as_right_as_others) {
  Context context = Context::cuda();
  std::uint64_t seed = 4980;
  for (const BatteryGraph& battery : graphs_with_windows())
    for (const double spread : {8.0, 25.0, 70.0}) {
      AttentionCase gat = gat_of(battery.graph, GetParam(), 1, 64, seed += 10);
      gat.src = random_tensor(gat.src.shape(), GetParam(), seed + 5, -spread, spread);
      const Tensor grad = gradient_for(battery.graph, gat, seed + 6);
      const Expected64 expected(battery.graph, gat, grad);
      Layer layer(context, battery.graph, gat, grad);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} spread {} policy '{}' seed {}", battery.name, spread, policy, seed);
        const AttentionGradients got = layer.run_on_host(context, policy);
        expect_value_within_bound(got.value, expected, battery.graph.num_edges(), 0x1p-21 * (spread + 4), where);
        expect_near(got.src, expected.gradients.src, where + " src");
        expect_near(got.dst, expected.gradients.dst, where + " dst");
        if (HasFailure()) return;
      }
    }
}

TEST_P(cuda_window_gradients, what_is_not_finite_reaches_its_own_neighbours_alone) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=400,edges=12000,communities=3,inside=0.9,seed=7").graph;
  for (const bool in_value : {false, true}) {
    AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 4200);
    Tensor grad = gradient_for(graph, gat, 4201);
    Tensor& spoilt = in_value ? gat.value : grad;
    std::vector<double> values = doubles(spoilt);
    for (std::size_t f = 0; f < 64; ++f)
      values[17 * 64 + f] = f % 2 == 0 ? std::nan("") : std::numeric_limits<double>::infinity();
    spoilt = Tensor::from(values, spoilt.shape(), GetParam());
    Layer layer(context, graph, gat, grad);
    const AttentionGradients usual = layer.run_on_host(context, "core=cuda");
    for (const char* policy : policies) {
      const AttentionGradients got = layer.run_on_host(context, policy);
      for (const auto& [one, other, what] : {std::tuple(&got.value, &usual.value, "value"),
                                             {&got.src, &usual.src, "src"},
                                             {&got.dst, &usual.dst, "dst"}}) {
        const std::vector<double> a = doubles(*one), b = doubles(*other);
        for (std::size_t i = 0; i < a.size(); ++i) {
          ASSERT_EQ(std::isfinite(a[i]), std::isfinite(b[i])) << what << " '" << policy << "' element " << i;
          if (std::isfinite(b[i])) {
            ASSERT_NEAR(a[i], b[i], 0.02 * (1 + std::fabs(b[i]))) << what << " '" << policy << "' element " << i;
          }
        }
      }
    }
  }
}

TEST_P(cuda_window_gradients, of_sources_that_hardly_count_are_not_lost) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=600,edges=30000,communities=3,inside=0.9,seed=9").graph;
  AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 4300);
  std::vector<double> sources = doubles(gat.src);
  // Of half of the sources weights are some 2^-17 of the others'; in bf16 2^-60.
  for (std::size_t u = 0; u < sources.size(); u += 2) sources[u] -= GetParam() == Dtype::f16 ? 12 : 40;
  gat.src = Tensor::from(sources, gat.src.shape(), GetParam());
  gat.slope = 1;
  std::vector<double> large = doubles(gradient_for(graph, gat, 4301));
  if (GetParam() == Dtype::f16)
    for (double& value : large) value *= 1024;
  const Tensor grad = Tensor::from(large, Shape(graph.num_rows(), 1, 64), GetParam());
  const Expected64 expected(graph, gat, grad);
  Layer layer(context, graph, gat, grad);
  for (const char* policy : policies)
    expect_value_within_bound(layer.run_on_host(context, policy).value, expected, graph.num_edges(), 0x1p-17, policy);
}

TEST_P(cuda_window_gradients, allocate_nothing_and_take_exactly_the_planned_workspace) {
  const Graph graph = graph_of_communities();
  for (const char* policy : policies) {
    Context context = Context::cuda(), small = Context::cuda(), other = Context::cuda();
    const AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 4400);
    Layer layer(other, graph, gat, gradient_for(graph, gat, 4401));
    other.synchronise();
    const AttentionBackwardPlan plan = layer.plan(context, policy);
    EXPECT_EQ(context.workspace_bytes(), plan.workspace_bytes);
    layer.run(context, plan);
    const MemoryStats there = memory_stats(gpu), here = memory_stats();
    layer.run(context, plan);
    EXPECT_EQ(memory_stats(gpu).allocations, there.allocations) << policy;
    EXPECT_EQ(memory_stats().allocations, here.allocations) << policy;
    small.reserve(plan.workspace_bytes - 1);
    expect_refused([&] { layer.run(small, plan); }, "workspace");
    context.synchronise();
  }
}

TEST_P(cuda_window_gradients, replayed_on_new_gradients_have_the_bits_of_a_direct_run) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = graph_of_communities();
  const AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 4500);
  Layer layer(context, graph, gat, gradient_for(graph, gat, 4501));
  const AttentionBackwardPlan plan = layer.plan(context, "core=tensor");
  const auto work = [&] { layer.run(context, plan); };
  work();
  const Tensor second = gradient_for(graph, gat, 4502);
  replay(stream, 2, work, [&] {
    ASSERT_EQ(cudaMemcpyAsync(layer.out_grad.view().mutable_data(), second.view().data, second.bytes(),
                              cudaMemcpyDefault, stream),
              cudaSuccess);
  });
  const AttentionGradients replayed = layer.on_host(stream);
  work();
  const AttentionGradients direct = layer.on_host(stream);
  EXPECT_TRUE(bitwise_equal(direct.value, replayed.value));
  EXPECT_TRUE(bitwise_equal(direct.src, replayed.src));
  EXPECT_TRUE(bitwise_equal(direct.dst, replayed.dst));
  expect_value_within_bound(replayed.value, Expected64(graph, gat, second), graph.num_edges(), 0x1p-19, "replayed");
}

TEST_P(cuda_window_gradients, that_windows_cannot_have_are_refused_in_words) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=300,edges=9000,communities=3,inside=0.9,seed=5").graph;
  const auto is_refused = [&](const AttentionCase& gat, const char* words) {
    Layer layer(context, graph, gat, gradient_for(graph, gat, 4601));
    expect_refused([&] { layer.run_on_host(context, "core=tensor"); }, words, ErrorCode::unsupported);
  };
  AttentionCase dropping = gat_of(graph, GetParam(), 1, 64, 4600);
  dropping.dropout = 0.5f;
  is_refused(dropping, "edges that are dropped");
  is_refused(gat_of(graph, GetParam(), 4, 16, 4602), "heads of whole 64 features");
  is_refused(gat_of(graph, GetParam(), 1, 192, 4603), "up to 128 features per head");
  is_refused(gat_of(graph, GetParam(), 1, 12, 4604), "multiple of 8");
  is_refused(gat_of(graph, Dtype::f32, 1, 64, 4605), "gat and dot in f16 and bf16");
}

}  // namespace
}  // namespace weft::test
