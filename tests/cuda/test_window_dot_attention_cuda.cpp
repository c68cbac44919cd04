// Dot-product attention by row windows: scores, softmax and values of a tile on tensor cores keep to the bound of all
// other kernels.
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

constexpr double inf = std::numeric_limits<double>::infinity();

class cuda_window_dot_attention : public GpuTest, public ::testing::WithParamInterface<Dtype> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (!has_hopper_windows()) GTEST_SKIP() << "attention by windows runs on Hopper alone";
  }
};
INSTANTIATE_TEST_SUITE_P(storage, cuda_window_dot_attention, ::testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

constexpr const char* policies[] = {"core=tensor", "core=tensor,threshold=1", "core=tensor,threshold=2,layout=none"};

AttentionCase dots_of(const Graph& graph, Dtype dtype, std::int64_t heads, std::int64_t width, std::int64_t depth,
                      std::uint64_t seed) {
  return {graph, Score::dot, dtype, heads, width, depth, {}, seed};
}

TEST_P(cuda_window_dot_attention, agrees_with_the_reference_on_every_square_graph_and_width) {
  Context context = Context::cuda();
  struct DotShape {
    std::int64_t heads, width, depth;
  };
  constexpr DotShape shapes[] = {{1, 8, 8}, {1, 40, 64}, {1, 64, 16}, {1, 128, 40}, {1, 200, 64}, {3, 64, 64}};
  std::uint64_t seed = 6000;
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    for (const DotShape& shape : shapes) {
      const AttentionCase dots = dots_of(battery.graph, GetParam(), shape.heads, shape.width, shape.depth, seed += 10);
      const AttentionCase on_gpu = dots.to(gpu);
      const AttentionExpected expected = expected_attention(battery.graph, dots.views(), dots.largest_score);
      const double tolerance = 0x1p-22 * (error_factor(battery.graph.num_edges()) + expected.out.more);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} heads {} width {} depth {} policy '{}' seed {}", battery.name,
                                              shape.heads, shape.width, shape.depth, policy, seed);
        const AttentionResult r = attention_on_gpu(context, there, on_gpu.views(), policy);
        expect_within_bound(r.out, expected.out, where);
        expect_near(normalisers(r), normalisers(expected), tolerance, where + " statistics");
        EXPECT_TRUE(bitwise_equal(attention_on_gpu(context, there, on_gpu.views(), policy).out, r.out)) << where;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_window_dot_attention, scores_that_lie_far_apart_are_as_right_as_others) {
  Context context = Context::cuda();
  std::uint64_t seed = 6980;
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    for (const std::int64_t depth : {8, 64}) {
      for (const double times : {0.01, 8.0, 30.0}) {
        AttentionCase dots = dots_of(battery.graph, GetParam(), 1, 64, depth, seed += 10);
        dots.dst = random_tensor(dots.dst.shape(), GetParam(), seed + 5, -2 * times, 2 * times);
        const AttentionExpected expected = expected_attention(battery.graph, dots.views(), dots.largest_score * times);
        const AttentionCase on_gpu = dots.to(gpu);
        for (const char* policy : policies) {
          const std::string where =
              fmt::format("{} depth {} times {} policy '{}' seed {}", battery.name, depth, times, policy, seed);
          expect_within_bound(attention_on_gpu(context, there, on_gpu.views(), policy).out, expected.out, where);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Scores that grow from one tile to the next, or fall: the largest of a row so far moves every time, or never again.
TEST_P(cuda_window_dot_attention, scores_that_grow_from_tile_to_tile_lose_nothing) {
  Context context = Context::cuda();
  const Graph graph = generate("uniform:nodes=1500,edges=300000,seed=4").graph, there = graph.to(gpu);
  for (const double last : {-60.0, 60.0}) {
    AttentionCase dots = dots_of(graph, GetParam(), 1, 64, 8, 6990);
    std::vector<double> src(static_cast<std::size_t>(graph.num_cols()) * 8), dst(src.size());
    for (std::size_t i = 0; i < src.size(); ++i) {
      src[i] = i % 8 == 0 ? last * static_cast<double>(i) / static_cast<double>(src.size()) : 0;
      dst[i] = i % 8 == 0 ? 1 + static_cast<double>(i / 8 % 3) : 0;
    }
    dots.src = Tensor::from(src, dots.src.shape(), GetParam());
    dots.dst = Tensor::from(dst, dots.dst.shape(), GetParam());
    dots.scale = 1;
    const AttentionExpected expected = expected_attention(graph, dots.views(), 3 * std::fabs(last));
    const AttentionCase on_gpu = dots.to(gpu);
    for (const char* policy : policies)
      expect_within_bound(attention_on_gpu(context, there, on_gpu.views(), policy).out, expected.out,
                          fmt::format("to {} policy '{}'", last, policy));
  }
}

TEST_P(cuda_window_dot_attention, what_is_not_finite_reaches_its_own_neighbours_alone) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=400,edges=12000,communities=3,inside=0.9,seed=7").graph;
  const Graph there = graph.to(gpu);
  for (Tensor AttentionCase::*const where : {&AttentionCase::value, &AttentionCase::src, &AttentionCase::dst}) {
    for (const bool infinite : {false, true}) {
      AttentionCase dots = dots_of(graph, GetParam(), 1, 64, 64, 7200);
      std::vector<double> values = doubles(dots.*where);
      const std::size_t bad = 17;
      for (std::size_t f = 0; f < 64; ++f) values[bad * 64 + f] = infinite || f % 2 == 1 ? inf : std::nan("");
      dots.*where = Tensor::from(values, (dots.*where).shape(), GetParam());
      const AttentionCase on_gpu = dots.to(gpu);
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
}

TEST_P(cuda_window_dot_attention, leaves_statistics_that_the_backward_can_use) {
  Context cpu = Context::cpu(2), context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=600,edges=20000,communities=5,inside=0.9,seed=3").graph;
  const Graph there = graph.to(gpu);
  AttentionCase dots = dots_of(graph, GetParam(), 1, 64, 32, 7300);
  dots.scale /= 4;  // so that weights are not all one edge's
  const AttentionCase on_gpu = dots.to(gpu), exact = dots.to(Dtype::f64);
  const Tensor grad = random_tensor(Shape(graph.num_rows(), 1, 64), GetParam(), 7301);
  const AttentionResult wanted = attention(cpu, graph, exact.views());
  const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
  const AttentionResult here = attention_on_gpu(context, there, on_gpu.views(), "core=tensor,threshold=2");
  const AttentionResult result{here.out.to(gpu), here.row_max.to(gpu), here.row_sum.to(gpu)};
  const AttentionGradients by_gpu = attention_backward(context, there, on_gpu.views(), result, grad.to(gpu));
  const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what, double tolerance) {
    const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << what << " element " << i;
  };
  const bool half = GetParam() == Dtype::f16;
  alike(attention_weights(context, there, on_gpu.views(), result), attention_weights(cpu, graph, exact.views(), wanted),
        "weights", half ? 1e-3 : 8e-3);
  alike(by_gpu.value, by_cpu.value, "value", half ? 2e-3 : 2e-2);
  alike(by_gpu.src, by_cpu.src, "src", half ? 2e-2 : 1.5e-1);
  alike(by_gpu.dst, by_cpu.dst, "dst", half ? 2e-2 : 1.5e-1);
}

TEST_P(cuda_window_dot_attention, takes_columns_of_wider_tensors) {
  Context context = Context::cuda();
  const Graph graph = graph_of_communities(), there = graph.to(gpu);
  constexpr std::int64_t width = 24;
  const auto wide = [&](std::uint64_t seed) {
    return random_tensor(Shape(graph.num_rows(), width + 16), GetParam(), seed);
  };
  const Tensor value = wide(7401), src = wide(7402), dst = wide(7403);
  const Tensor value_there = value.to(gpu), src_there = src.to(gpu), dst_there = dst.to(gpu);
  const auto inputs = [&](const Tensor& v, const Tensor& s, const Tensor& d) {
    AttentionInputs views;
    views.score = Score::dot;
    views.value = columns(v.view(), 8, width);
    views.src = columns(s.view(), 16, width);
    views.dst = columns(d.view(), 0, width);
    views.scale = 0.25f;
    return views;
  };
  const AttentionExpected expected =
      expected_attention(graph, inputs(value, src, dst), 4.0 * static_cast<double>(width));
  for (const char* policy : policies)
    expect_within_bound(attention_on_gpu(context, there, inputs(value_there, src_there, dst_there), policy).out,
                        expected.out, policy);
}

TEST_P(cuda_window_dot_attention, runs_in_a_graph_that_is_replayed_and_allocates_nothing) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = graph_of_communities(), there = graph.to(gpu, stream);
  const AttentionCase first = dots_of(graph, GetParam(), 1, 64, 40, 7450),
                      second = dots_of(graph, GetParam(), 1, 64, 40, 7460);
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
                      "replayed, seed 7460");
}

TEST_P(cuda_window_dot_attention, what_windows_cannot_do_is_refused_in_words) {
  Context context = Context::cuda();
  const Graph graph = generate("powerlaw:nodes=300,edges=9000,communities=3,inside=0.9,seed=5").graph;
  const Graph there = graph.to(gpu);
  const auto is_refused = [&](const AttentionInputs& inputs, const char* words) {
    expect_refused([&] { attention_on_gpu(context, there, inputs, "core=tensor"); }, words, ErrorCode::unsupported);
  };
  for (const std::int64_t depth : {12, 72})
    is_refused(dots_of(graph, GetParam(), 1, 64, depth, 7500).to(gpu).views(), "up to 64 features, a multiple of 8");
  AttentionCase dots = dots_of(graph, GetParam(), 1, 64, 16, 7501).to(gpu);
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity()}) {
    dots.scale = scale;
    is_refused(dots.views(), "scaled by a finite number above 0");
  }
  dots.scale = 1;
  dots.dropout = 0.5f;
  is_refused(dots.views(), "without bias and dropout");
  const AttentionCase biased(graph, Score::dot, GetParam(), 1, 64, 16, GetParam(), 7502);
  is_refused(biased.to(gpu).views(), "without bias and dropout");
  const Tensor wide = random_tensor(Shape(graph.num_cols(), 32), GetParam(), 7503).to(gpu);
  dots.dropout = 0;
  AttentionInputs odd = dots.views();
  odd.src = columns(wide.view(), 4, 16);
  is_refused(odd, "no multiples of 16 bytes");
  odd.src = dots.views().src;
  odd.dst = columns(wide.view(), 4, 16);
  is_refused(odd, "no multiples of 16 bytes");
}

}  // namespace
}  // namespace weft::test
