// GAT by row windows: weights of edges made on the way into tensor cores keep to the bound of all other kernels.
#include <cmath>
#include <limits>

#include "cuda/attention_on_gpu.hpp"
#include "cuda/replay.hpp"
#include "cuda/windows_on_gpu.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"
#include "support/score_noise.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

class cuda_window_attention : public GpuTest, public ::testing::WithParamInterface<Dtype> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (!has_hopper_windows()) GTEST_SKIP() << "attention by windows runs on Hopper alone";
  }
};
INSTANTIATE_TEST_SUITE_P(storage, cuda_window_attention, ::testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

constexpr const char* policies[] = {"core=tensor", "core=tensor,threshold=1", "core=tensor,threshold=2,layout=none"};

AttentionCase gat_of(const Graph& graph, Dtype dtype, std::int64_t heads, std::int64_t width, std::uint64_t seed) {
  return {graph, Score::gat, dtype, heads, width, 1, {}, seed};
}

TEST_P(cuda_window_attention, agrees_with_the_reference_on_every_square_graph_and_width) {
  Context context = Context::cuda();
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 8}, {1, 40}, {1, 64}, {1, 128}, {1, 200}, {3, 64}};
  std::uint64_t seed = 2000;
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    for (const auto& [heads, width] : shapes) {
      AttentionCase gat = gat_of(battery.graph, GetParam(), heads, width, seed += 10);
      gat.slope = seed % 30 == 0 ? 1.0f : seed % 30 == 10 ? 0.0f : 0.2f;
      const AttentionCase on_gpu = gat.to(gpu);
      const AttentionExpected expected = expected_attention(battery.graph, gat.views(), gat.largest_score);
      const double tolerance = 0x1p-22 * (error_factor(battery.graph.num_edges()) + expected.out.more);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} heads {} width {} slope {} policy '{}' seed {}", battery.name, heads,
                                              width, gat.slope, policy, seed);
        const AttentionResult r = attention_on_gpu(context, there, on_gpu.views(), policy);
        expect_within_bound(r.out, expected.out, where);
        expect_near(normalisers(r), normalisers(expected), tolerance, where + " statistics");
        EXPECT_TRUE(bitwise_equal(attention_on_gpu(context, there, on_gpu.views(), policy).out, r.out)) << where;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_window_attention, scores_that_lie_far_apart_are_as_right_as_others) {
  Context context = Context::cuda();
  std::uint64_t seed = 2980;
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    for (const double spread : {8.0, 25.0, 70.0, 200.0}) {
      AttentionCase gat = gat_of(battery.graph, GetParam(), 1, 64, seed += 10);
      gat.src = random_tensor(gat.src.shape(), GetParam(), seed + 5, -spread, spread);
      const AttentionExpected expected = expected_attention(battery.graph, gat.views(), spread + 2);
      const AttentionCase on_gpu = gat.to(gpu);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} spread {} policy '{}' seed {}", battery.name, spread, policy, seed);
        expect_within_bound(attention_on_gpu(context, there, on_gpu.views(), policy).out, expected.out, where);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_window_attention, sources_that_are_masked_send_nothing) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=300,edges=9000,communities=3,inside=0.9,seed=5").graph;
  for (const bool all : {false, true}) {
    AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 3100);
    std::vector<double> sources = doubles(gat.src);
    for (std::size_t u = 0; u < sources.size(); ++u)
      if (all || u % 3 == 0) sources[u] = -inf;
    gat.src = Tensor::from(sources, gat.src.shape(), GetParam());
    const AttentionExpected expected = expected_attention(graph, gat.views(), gat.largest_score);
    const AttentionCase on_gpu = gat.to(gpu);
    for (const char* policy : policies) {
      const AttentionResult r = attention_on_gpu(context, graph.to(gpu), on_gpu.views(), policy);
      expect_within_bound(r.out, expected.out, policy);
      if (!all) continue;
      for (const double value : doubles(r.out)) ASSERT_EQ(value, 0) << policy;
      for (const double sum : doubles(r.row_sum)) ASSERT_EQ(sum, 0) << policy;
      for (const double top : doubles(r.row_max)) ASSERT_EQ(top, -inf) << policy;
    }
  }
}

TEST_P(cuda_window_attention, what_is_not_finite_reaches_its_own_neighbours_alone) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=400,edges=12000,communities=3,inside=0.9,seed=7").graph;
  for (const bool in_score : {false, true}) {
    AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 3200);
    std::vector<double> values = doubles(in_score ? gat.src : gat.value);
    const std::size_t width = in_score ? 1 : 64, bad = 17;
    for (std::size_t f = 0; f < width; ++f) values[bad * width + f] = f % 2 == 0 ? std::nan("") : inf;
    (in_score ? gat.src : gat.value) = Tensor::from(values, (in_score ? gat.src : gat.value).shape(), GetParam());
    const AttentionCase on_gpu = gat.to(gpu);
    const Graph there = graph.to(gpu);
    const std::vector<double> usual = doubles(attention_on_gpu(context, there, on_gpu.views(), "core=cuda").out);
    for (const char* policy : policies) {
      const std::vector<double> got = doubles(attention_on_gpu(context, there, on_gpu.views(), policy).out);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(std::isnan(got[i]), std::isnan(usual[i])) << policy << " element " << i;
        ASSERT_EQ(std::isinf(got[i]), std::isinf(usual[i])) << policy << " element " << i;
        if (std::isfinite(usual[i])) {
          ASSERT_NEAR(got[i], usual[i], 0.02 * (1 + std::fabs(usual[i]))) << policy << " element " << i;
        }
      }
    }
  }
}

TEST_P(cuda_window_attention, leaves_statistics_that_the_backward_can_use) {
  Context cpu = Context::cpu(2), context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=600,edges=20000,communities=5,inside=0.9,seed=3").graph;
  const Graph there = graph.to(gpu);
  const AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 3300);
  const AttentionCase on_gpu = gat.to(gpu), exact = gat.to(Dtype::f64);
  const Tensor grad = random_tensor(Shape(graph.num_rows(), 1, 64), GetParam(), 3301);
  const AttentionResult wanted = attention(cpu, graph, exact.views());
  const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
  const AttentionResult here = attention_on_gpu(context, there, on_gpu.views(), "core=tensor,threshold=2");
  const AttentionResult result{here.out.to(gpu), here.row_max.to(gpu), here.row_sum.to(gpu)};
  const AttentionGradients by_gpu = attention_backward(context, there, on_gpu.views(), result, grad.to(gpu));
  const ScoreNoise noise(graph, GetParam(), wanted.out, grad, attention_weights(cpu, graph, exact.views(), wanted));
  const double tolerance = GetParam() == Dtype::f16 ? 2e-3 : 2e-2;
  const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what,
                         const std::vector<double>& more) {
    const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])) + (more.empty() ? 0 : more.at(i)))
          << what << " element " << i;
  };
  alike(by_gpu.value, by_cpu.value, "value", {});
  alike(by_gpu.src, by_cpu.src, "src", noise.src);
  alike(by_gpu.dst, by_cpu.dst, "dst", noise.dst);
}

TEST_P(cuda_window_attention, runs_in_a_graph_that_is_replayed_and_allocates_nothing) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = graph_of_communities(), there = graph.to(gpu, stream);
  const AttentionCase first = gat_of(graph, GetParam(), 1, 64, 3350), second = gat_of(graph, GetParam(), 1, 64, 3360);
  const Plan plan =
      make_plan(context, there, {OpKind::attention, GetParam(), 1, 64, Reduce::sum, true}, parse_policy("core=tensor"));
  context.reserve(plan.workspace_bytes);
  AttentionCase on_gpu = first.to(gpu);
  AttentionResult r;
  r.out = Tensor::zeros(Shape(graph.num_rows(), 1, 64), GetParam(), "out", gpu, stream);
  r.row_max = Tensor::zeros(Shape(graph.num_rows(), 1, 1), Dtype::f32, "row_max", gpu, stream);
  r.row_sum = Tensor::zeros(Shape(graph.num_rows(), 1, 1), Dtype::f32, "row_sum", gpu, stream);
  const auto work = [&] { attention(context, plan, there, on_gpu.views(), r.out, r.row_max, r.row_sum); };
  work();
  const std::size_t before = memory_stats(gpu).allocations;
  replay(stream, 2, work, [&] {
    for (const auto& [to, from] :
         {std::pair(&on_gpu.value, &second.value), {&on_gpu.src, &second.src}, {&on_gpu.dst, &second.dst}})
      ASSERT_EQ(cudaMemcpyAsync(to->view().mutable_data(), from->view().data, from->bytes(), cudaMemcpyDefault, stream),
                cudaSuccess);
  });
  EXPECT_EQ(memory_stats(gpu).allocations, before);
  expect_within_bound(r.out.to(Device{}, stream), expected_attention(graph, second.views(), second.largest_score).out,
                      "replayed, seed 3360");
}

TEST_P(cuda_window_attention, what_windows_cannot_do_is_refused_in_words) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=300,edges=9000,communities=3,inside=0.9,seed=5").graph;
  const Graph there = graph.to(gpu);
  const auto is_refused = [&](const AttentionCase& gat, const char* words) {
    const AttentionCase on_gpu = gat.to(gpu);
    expect_refused([&] { attention_on_gpu(context, there, on_gpu.views(), "core=tensor"); }, words,
                   ErrorCode::unsupported);
  };
  AttentionCase gat = gat_of(graph, GetParam(), 1, 64, 3400);
  gat.slope = 1.5f;
  is_refused(gat, "leaky_relu's slope lies from 0 to 1");
  gat.slope = 0.2f;
  gat.dropout = 0.5f;
  is_refused(gat, "without bias and dropout");
  is_refused({graph, Score::gat, GetParam(), 1, 64, 1, GetParam(), 3401}, "without bias and dropout");
  is_refused({graph, Score::gatv2, GetParam(), 1, 64, 16, {}, 3402}, "only scores of gat and dot");
  is_refused(gat_of(graph, GetParam(), 4, 16, 3403), "heads of whole 64 features");
  is_refused(gat_of(graph, GetParam(), 1, 12, 3404), "multiple of 8");
  is_refused(gat_of(graph, Dtype::f32, 1, 64, 3405), "attention by scores of gat and dot in f16");
}

}  // namespace
}  // namespace weft::test
