// Attention on a GPU whose scores come from vectors (gatv2, dot), and the gradients of every score.
#include <algorithm>
#include <cmath>
#include <limits>

#include "battery/sweep.hpp"
#include "cuda/attention_on_gpu.hpp"
#include "support/attention_case.hpp"
#include "support/gradients.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr Score vector_scores[] = {Score::gatv2, Score::dot};

class cuda_vector_attention : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_vector_attention, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

struct HeadShape {
  std::int64_t heads, width, depth;
};

AttentionResult on_gpu(Context& context, const Graph& there, const AttentionCase& inputs, std::string_view policy) {
  const AttentionCase moved = inputs.to(gpu);
  return attention_on_gpu(context, there, moved.views(), policy);
}

TEST_P(cuda_vector_attention, agrees_with_the_reference_on_every_graph_head_count_and_width) {
  Context context = Context::cuda();
  std::uint64_t seed = 1200;
  constexpr HeadShape shapes[] = {{1, 1, 1},   {1, 7, 7},   {8, 8, 8},   {1, 64, 64},   {4, 16, 16}, {4, 64, 64},
                                  {3, 10, 10}, {2, 47, 47}, {6, 33, 33}, {1, 16, 5},    {4, 8, 32},  {3, 32, 32},
                                  {2, 96, 96}, {8, 64, 64}, {1, 300, 2}, {1, 600, 600}, {2, 1, 12}};
  std::size_t turn = 0;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const HeadShape& shape : shapes) {
      for (const Score score : vector_scores) {
        const bool biased = ++turn % 3 == 0;
        const AttentionCase inputs(battery.graph, score, GetParam(), shape.heads, shape.width, shape.depth,
                                   biased ? std::optional(statistics_of(GetParam())) : std::nullopt, seed += 10);
        const AttentionExpected expected = expected_attention(battery.graph, inputs.views(), inputs.largest_score);
        for (const char* policy : {"", turn % 2 == 0 ? "edges=16" : "edges=32,order=clusters"}) {
          const std::string where =
              fmt::format("{} {} heads {} width {} depth {}{} policy '{}' seed {}", battery.name, name(score),
                          shape.heads, shape.width, shape.depth, biased ? " biased" : "", policy, seed);
          const AttentionResult r = on_gpu(context, there, inputs, policy);
          expect_within_bound(r.out, expected.out, where);
          const double tolerance = (GetParam() == Dtype::f64 ? 0x1p-52 : 0x1p-23) * 2 *
                                   (error_factor(battery.graph.num_edges()) + expected.out.more);
          expect_near(normalisers(r), normalisers(expected), tolerance, where + " statistics");
          EXPECT_TRUE(bitwise_equal(on_gpu(context, there, inputs, policy).out, r.out)) << where;
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(cuda_vector_attention, drops_the_edges_that_the_reference_drops) {
  Context context = Context::cuda();
  std::uint64_t seed = 4000;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const HeadShape& shape : {HeadShape{1, 64, 64}, {4, 16, 16}, {5, 7, 3}}) {
      for (const Score score : vector_scores) {
        AttentionCase inputs(battery.graph, score, GetParam(), shape.heads, shape.width, shape.depth, std::nullopt,
                             seed += 10);
        inputs.dropout = 0.4f;
        inputs.seed = seed << 33;
        const AttentionExpected expected = expected_attention(battery.graph, inputs.views(), inputs.largest_score);
        for (const char* policy : {"", "edges=16"})
          expect_within_bound(
              on_gpu(context, there, inputs, policy).out, expected.out,
              fmt::format("{} {} heads {} policy '{}' seed {}", battery.name, name(score), shape.heads, policy, seed));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_vector_attention, masked_edges_and_rows_without_any_other_send_nothing) {
  Context context = Context::cuda();
  // Rows of 150, 2, 0 and 1 edges; the first edge of the first row, whose score its weights are relative to, is masked,
  // and so are all of the second.
  std::vector<NodeId> cols(153);
  for (std::size_t k = 0; k < cols.size(); ++k) cols[k] = static_cast<NodeId>(k % 4);
  const Graph graph = Graph::from_csr(4, 4, std::vector<EdgeId>{0, 150, 152, 152, 153}, cols);
  for (const double mask : {-inf, -1e4}) {
    std::vector<double> bias(153, 0.0);
    bias[0] = mask;
    bias[17] = mask;
    bias[150] = bias[151] = -inf;
    for (const Score score : vector_scores) {
      for (const std::int64_t width : {7, 8, 64}) {
        AttentionCase inputs(graph, score, GetParam(), 1, width, width, statistics_of(GetParam()), 4500);
        inputs.bias = Tensor::from(bias, Shape(153, 1, 1), statistics_of(GetParam()));
        const AttentionExpected expected = expected_attention(graph, inputs.views(), inputs.largest_score);
        for (const char* policy : {"", "edges=16", "schedule=rows", "edges=32,order=clusters"}) {
          const std::string where = fmt::format("{} width {} '{}' mask {}", name(score), width, policy, mask);
          const AttentionResult r = on_gpu(context, graph.to(gpu), inputs, policy);
          expect_within_bound(r.out, expected.out, where);
          for (const std::size_t row : {1, 2}) {
            EXPECT_EQ(doubles(r.out)[row * static_cast<std::size_t>(width)], 0) << where;
            EXPECT_EQ(doubles(r.row_sum)[row], 0) << where;
            EXPECT_EQ(doubles(r.row_max)[row], -inf) << where;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(cuda_vector_attention, one_nan_or_infinite_score_makes_its_row_nan_and_no_other) {
  Context context = Context::cuda();
  // Rows of 100, 3 and 100 edges: the long ones are cut by tasks of 16.
  std::vector<NodeId> cols(203);
  for (std::size_t k = 0; k < cols.size(); ++k) cols[k] = static_cast<NodeId>(k % 3);
  const Graph graph = Graph::from_csr(3, 3, std::vector<EdgeId>{0, 100, 103, 203}, cols);
  for (const double odd : {std::nan(""), inf}) {
    for (const std::size_t where : {0, 50}) {
      for (const std::int64_t width : {7, 16, 64}) {
        AttentionCase inputs(graph, Score::dot, GetParam(), 1, width, width, statistics_of(GetParam()), 4600);
        std::vector<double> bias(203, 0.0);
        bias[where] = odd;
        inputs.bias = Tensor::from(bias, Shape(203, 1, 1), statistics_of(GetParam()));
        for (const char* policy : {"", "edges=16,join=no", "schedule=rows"}) {
          const std::vector<double> out = doubles(on_gpu(context, graph.to(gpu), inputs, policy).out);
          for (std::size_t i = 0; i < out.size(); ++i)
            ASSERT_EQ(std::isnan(out[i]), i < static_cast<std::size_t>(width))
                << odd << " at " << where << " '" << policy << "' width " << width << " " << i;
        }
      }
    }
  }
}

TEST_P(cuda_vector_attention, takes_columns_of_wider_tensors_wherever_they_begin) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  constexpr std::int64_t width = 16;
  for (const std::int64_t before : {0, 1, 4, 8}) {
    for (const Score score : vector_scores) {
      const auto wide = [&](std::int64_t rows, std::uint64_t seed) {
        return random_tensor(Shape(rows, width + 12), GetParam(), seed);
      };
      const Tensor value = wide(graph.num_cols(), 4701), src = wide(graph.num_cols(), 4702),
                   dst = wide(graph.num_rows(), 4703);
      const Tensor attn = random_tensor(Shape(1, 1, width), GetParam(), 4704, -1, 1);
      const Tensor value_there = value.to(gpu), src_there = src.to(gpu), dst_there = dst.to(gpu),
                   attn_there = attn.to(gpu);
      const auto inputs = [&](const Tensor& v, const Tensor& s, const Tensor& d, const Tensor& a) {
        AttentionInputs views;
        views.score = score;
        views.value = columns(v.view(), before, width);
        views.src = columns(s.view(), before, width);
        views.dst = columns(d.view(), before, width);
        if (score == Score::gatv2) views.attn = a;
        views.scale = 0.25f;
        return views;
      };
      const AttentionExpected expected =
          expected_attention(graph, inputs(value, src, dst, attn), 4.0 * static_cast<double>(width));
      const AttentionResult r =
          attention_on_gpu(context, there, inputs(value_there, src_there, dst_there, attn_there), "");
      expect_within_bound(r.out, expected.out, fmt::format("{} columns from {}", name(score), before));
      if (HasFailure()) return;
    }
  }
}

TEST_P(cuda_vector_attention, scores_that_lie_far_apart_are_as_right_as_others) {
  Context context = Context::cuda();
  std::uint64_t seed = 5000;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const double spread : {10.0, 60.0}) {
      for (const HeadShape& shape : {HeadShape{1, 64, 64}, {4, 16, 16}, {3, 7, 4}}) {
        AttentionCase inputs(battery.graph, Score::dot, GetParam(), shape.heads, shape.width, shape.depth, std::nullopt,
                             seed += 10);
        inputs.src = random_tensor(inputs.src.shape(), GetParam(), seed + 6, -spread, spread);
        const AttentionExpected expected =
            expected_attention(battery.graph, inputs.views(), inputs.largest_score * spread / 2);
        for (const char* policy : {"", "edges=16"})
          expect_within_bound(on_gpu(context, there, inputs, policy).out, expected.out,
                              fmt::format("{} spread {} heads {} policy '{}' seed {}", battery.name, spread,
                                          shape.heads, policy, seed));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_vector_attention, weights_and_gradients_are_those_of_the_cpu_in_float64) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const double tolerance = GetParam() == Dtype::f64   ? 1e-9
                           : GetParam() == Dtype::f32 ? 1e-3
                           : GetParam() == Dtype::f16 ? 2e-2
                                                      : 1.5e-1;
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  std::uint64_t seed = 6000;
  for (const Score score : vector_scores) {
    for (const bool biased : {false, true}) {
      for (const HeadShape& shape : {HeadShape{1, 64, 64}, {4, 16, 16}, {3, 7, 5}, {2, 8, 12}, {1, 300, 40}}) {
        AttentionCase inputs(graph, score, GetParam(), shape.heads, shape.width, shape.depth,
                             biased ? std::optional(statistics_of(GetParam())) : std::nullopt, seed += 10);
        inputs.scale /= 4;  // so that weights are not all one edge's
        if (inputs.attn) inputs.attn = random_tensor(inputs.attn.shape(), GetParam(), seed + 7, -0.1, 0.1);
        inputs.dropout = shape.heads == 4 ? 0.25f : 0.0f;
        inputs.seed = seed;
        AttentionCase exact = inputs.to(Dtype::f64);
        const Tensor grad = random_tensor(Shape(graph.num_rows(), shape.heads, shape.width), GetParam(), seed + 8);
        const AttentionCase moved = inputs.to(gpu);
        const AttentionResult wanted = attention(cpu, graph, exact.views());
        const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
        const AttentionResult result = attention(context, there, moved.views());
        const AttentionGradients by_gpu = attention_backward(context, there, moved.views(), result, grad.to(gpu));
        exact.dropout = 0;
        const Tensor weights = attention_weights(cpu, graph, exact.views(), wanted);
        const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what) {
          const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
          ASSERT_EQ(got.size(), expected.size()) << what;
          for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])))
                << what << " " << name(score) << " heads " << shape.heads << " width " << shape.width
                << (biased ? " biased" : "") << " element " << i << " seed " << seed;
        };
        alike(attention_weights(context, there, moved.views(), result), weights, "weights");
        alike(by_gpu.value, by_cpu.value, "value");
        alike(by_gpu.src, by_cpu.src, "src");
        alike(by_gpu.dst, by_cpu.dst, "dst");
        EXPECT_EQ(static_cast<bool>(by_gpu.attn), score == Score::gatv2);
        if (score == Score::gatv2) alike(by_gpu.attn, by_cpu.attn, "attn");
        if (biased) alike(by_gpu.bias, by_cpu.bias, "bias");
        for (const Tensor* g : {&by_gpu.value, &by_gpu.src, &by_gpu.dst}) EXPECT_EQ(g->dtype(), GetParam());
        if (HasFailure()) return;
      }
    }
  }
}

class cuda_attention_gradients : public GpuTest {};

/// Where one edge of a row weighs nearly all, gradients of scores are small differences of large numbers.
TEST_F(cuda_attention_gradients, of_steep_scores_are_those_of_the_cpu_in_float64) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  for (const Score score : vector_scores) {
    AttentionCase inputs(graph, score, Dtype::f32, 3, 4, 4, std::nullopt, 6500);
    if (score == Score::dot) inputs.scale = 5;
    if (inputs.attn) inputs.attn = random_tensor(inputs.attn.shape(), Dtype::f32, 6507, -8, 8);
    const AttentionCase exact = inputs.to(Dtype::f64), moved = inputs.to(gpu);
    const Tensor grad = random_tensor(Shape(graph.num_rows(), 3, 4), Dtype::f32, 6508);
    const AttentionGradients by_cpu =
        attention_backward(cpu, graph, exact.views(), attention(cpu, graph, exact.views()), grad.to(Dtype::f64));
    const AttentionGradients by_gpu =
        attention_backward(context, there, moved.views(), attention(context, there, moved.views()), grad.to(gpu));
    const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what) {
      const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
      double largest = 0, off = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        largest = std::max(largest, std::fabs(expected[i]));
        off = std::max(off, std::fabs(got[i] - expected[i]));
      }
      EXPECT_LE(off, 3e-6 * largest) << what << " " << name(score);
    };
    alike(by_gpu.src, by_cpu.src, "src");
    alike(by_gpu.dst, by_cpu.dst, "dst");
  }
}

TEST_F(cuda_attention_gradients, agree_with_differences_through_the_whole_op) {
  Context context = Context::cuda();
  const Graph graph = tangled_graph(), there = graph.to(gpu);
  for (const Score score : score_kinds) {
    for (const bool biased : {false, true}) {
      for (const float dropout : {0.0f, 0.3f}) {
        for (const HeadShape& shape : {HeadShape{1, 8, 8}, {2, 4, 4}, {3, 5, 2}}) {
          AttentionCase inputs(graph, score, Dtype::f64, shape.heads, shape.width, shape.depth,
                               biased ? std::optional(Dtype::f64) : std::nullopt, 7000);
          inputs.dropout = dropout;
          inputs.seed = 7100;
          const std::string text = fmt::format("{}{} dropout {} heads {} width {}", name(score),
                                               biased ? " biased" : "", dropout, shape.heads, shape.width);
          const AttentionCase moved = inputs.to(gpu);
          const AttentionResult result = attention(context, there, moved.views());
          const Tensor out_grad = random_tensor(result.out.shape(), Dtype::f64, 7200);
          const AttentionGradients g = attention_backward(context, there, moved.views(), result, out_grad.to(gpu));
          const auto loss = [&] {
            return weighted_sum(attention(context, there, inputs.to(gpu).views()).out.to(Device{}), out_grad);
          };
          expect_gradient(inputs.value, g.value.to(Device{}), loss, text + ": value", 3);
          expect_gradient(inputs.src, g.src.to(Device{}), loss, text + ": src");
          expect_gradient(inputs.dst, g.dst.to(Device{}), loss, text + ": dst");
          if (inputs.attn) expect_gradient(inputs.attn, g.attn.to(Device{}), loss, text + ": attn");
          if (inputs.bias) expect_gradient(inputs.bias, g.bias.to(Device{}), loss, text + ": bias", 3);
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
