// Attention on a GPU whose edges add to leaky_relu's argument: one value per head in gat, vectors in gatv2.
#include <cmath>
#include <tuple>

#include "battery/sweep.hpp"
#include "cuda/attention_on_gpu.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

constexpr Score leaky_scores[] = {Score::gat, Score::gatv2};

class cuda_edge_terms : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_edge_terms, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

/// The reference takes minutes for all graphs: parts of them run side by side.
constexpr int parts = 4;
class cuda_edge_terms_on_graphs : public GpuTest, public ::testing::WithParamInterface<std::tuple<Dtype, int>> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_edge_terms_on_graphs,
                         ::testing::Combine(::testing::ValuesIn(floating_dtypes), ::testing::Range(0, parts)),
                         [](const auto& tested) {
                           return fmt::format("{}_part_{}", name(std::get<0>(tested.param)), std::get<1>(tested.param));
                         });

struct HeadShape {
  std::int64_t heads, width, depth;
};

AttentionCase case_of(const Graph& graph, Score score, Dtype dtype, const HeadShape& shape, bool biased,
                      std::uint64_t seed) {
  AttentionCase inputs(graph, score, dtype, shape.heads, shape.width, shape.depth,
                       biased ? std::optional(statistics_of(dtype)) : std::nullopt, seed);
  inputs.add_edges(graph.num_edges(), seed + 8);
  return inputs;
}

TEST_P(cuda_edge_terms_on_graphs, agree_with_the_reference_for_every_head_count_and_width) {
  Context context = Context::cuda();
  const auto [dtype, part] = GetParam();
  std::uint64_t seed = 8200;
  constexpr HeadShape shapes[] = {{1, 1, 1},   {1, 7, 7},   {8, 8, 8},    {1, 64, 64}, {4, 16, 16},
                                  {4, 64, 64}, {3, 10, 10}, {2, 47, 47},  {1, 16, 5},  {4, 8, 32},
                                  {2, 96, 96}, {1, 300, 2}, {1, 600, 600}};
  std::size_t turn = 0;  // scores take turns: every graph, and every shape, has both
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"a transpose, with ids of its own", battery::power_law_graph().transpose()});
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    if (static_cast<int>(g % parts) != part) {  // its turns are another part's
      turn += std::size(shapes);
      seed += 10 * std::size(shapes);
      continue;
    }
    const BatteryGraph& battery = graphs[g];
    const Graph there = battery.graph.to(gpu);
    for (const HeadShape& shape : shapes) {
      const Score score = leaky_scores[++turn % std::size(leaky_scores)];
      const bool biased = turn % 3 == 0;
      const AttentionCase inputs = case_of(battery.graph, score, dtype, shape, biased, seed += 10);
      const AttentionCase moved = inputs.to(gpu);
      const AttentionExpected expected = expected_attention(battery.graph, inputs.views(), inputs.largest_score);
      for (const char* policy : {"", turn % 4 < 2 ? "edges=16" : "edges=32,order=clusters"}) {
        const std::string where =
            fmt::format("{} {} heads {} width {} depth {}{} policy '{}' seed {}", battery.name, name(score),
                        shape.heads, shape.width, shape.depth, biased ? " biased" : "", policy, seed);
        const AttentionResult r = attention_on_gpu(context, there, moved.views(), policy);
        expect_within_bound(r.out, expected.out, where);
        const double tolerance = (dtype == Dtype::f64 ? 0x1p-52 : 0x1p-23) * 2 *
                                 (error_factor(battery.graph.num_edges()) + expected.out.more);
        expect_near(normalisers(r), normalisers(expected), tolerance, where + " statistics");
        EXPECT_TRUE(bitwise_equal(attention_on_gpu(context, there, moved.views(), policy).out, r.out)) << where;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_edge_terms, that_lie_far_apart_are_as_right_as_others) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  std::uint64_t seed = 8400;
  for (const Score score : leaky_scores)
    for (const HeadShape& shape : {HeadShape{1, 64, 4}, {4, 16, 16}, {3, 7, 5}}) {
      AttentionCase inputs = case_of(graph, score, GetParam(), shape, false, seed += 10);
      // Multiples of 16 up to 240: every type holds them and, of gatv2, their sums of few.
      inputs.edge = random_tensor(inputs.edge.shape(), Dtype::f64, seed + 9, -15, 15);
      for (double& term : inputs.edge.span<double>()) term = 16 * std::round(term);
      inputs.edge = inputs.edge.to(GetParam());
      inputs.largest_score += score == Score::gat ? 240 : 240 * static_cast<double>(shape.depth);
      const AttentionExpected expected = expected_attention(graph, inputs.views(), inputs.largest_score);
      const AttentionCase moved = inputs.to(gpu);
      const std::string where =
          fmt::format("{} heads {} width {} seed {}", name(score), shape.heads, shape.width, seed);
      expect_within_bound(attention_on_gpu(context, there, moved.views(), "").out, expected.out, where);
    }
}

TEST_P(cuda_edge_terms, have_weights_and_gradients_of_the_cpu_in_float64) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const double tolerance = GetParam() == Dtype::f64   ? 1e-9
                           : GetParam() == Dtype::f32 ? 1e-3
                           : GetParam() == Dtype::f16 ? 2e-2
                                                      : 1.5e-1;
  std::uint64_t seed = 8600;
  for (const Graph& graph : {battery::power_law_graph(), battery::power_law_graph().transpose()}) {
    const Graph there = graph.to(gpu);
    for (const Score score : leaky_scores)
      for (const bool biased : {false, true})
        for (const HeadShape& shape : {HeadShape{1, 64, 64}, {4, 16, 16}, {3, 7, 5}, {2, 8, 12}, {1, 300, 40}}) {
          AttentionCase inputs = case_of(graph, score, GetParam(), shape, biased, seed += 10);
          // So that weights are not all one edge's.
          if (inputs.attn) inputs.attn = random_tensor(inputs.attn.shape(), GetParam(), seed + 7, -0.1, 0.1);
          inputs.dropout = shape.heads == 4 ? 0.25f : 0.0f;
          inputs.seed = seed;
          AttentionCase exact = inputs.to(Dtype::f64);
          const Tensor grad = random_tensor(Shape(graph.num_rows(), shape.heads, shape.width), GetParam(), seed + 9);
          const AttentionCase moved = inputs.to(gpu);
          const AttentionResult wanted = attention(cpu, graph, exact.views());
          const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
          const AttentionResult result = attention(context, there, moved.views());
          const Tensor grad_there = grad.to(gpu);
          const AttentionBackwardPlan plan = plan_attention_backward(context, there, moved.views());
          EXPECT_FALSE(plan.at_once);
          context.reserve(plan.workspace_bytes);
          const auto room = [&](const Tensor& like) {
            return like ? constant(like.shape(), like.dtype(), 77).to(gpu) : Tensor();
          };
          AttentionGradients g{room(inputs.value), room(inputs.src),  room(inputs.dst),
                               room(inputs.attn),  room(inputs.bias), room(inputs.edge)};
          const std::size_t before = memory_stats(gpu).allocations;
          attention_backward(context, plan, there, moved.views(), result, grad_there,
                             {g.value, g.src, g.dst, g.attn, g.bias, g.edge});
          EXPECT_EQ(memory_stats(gpu).allocations, before);
          exact.dropout = 0;
          const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what) {
            const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
            ASSERT_EQ(got.size(), expected.size()) << what;
            for (std::size_t i = 0; i < got.size(); ++i)
              ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])))
                  << what << " " << name(score) << " heads " << shape.heads << " width " << shape.width
                  << (biased ? " biased" : "") << " element " << i << " seed " << seed;
          };
          alike(attention_weights(context, there, moved.views(), result),
                attention_weights(cpu, graph, exact.views(), wanted), "weights");
          alike(g.value, by_cpu.value, "value");
          alike(g.src, by_cpu.src, "src");
          alike(g.dst, by_cpu.dst, "dst");
          alike(g.edge, by_cpu.edge, "edge");
          if (inputs.attn) alike(g.attn, by_cpu.attn, "attn");
          if (biased) alike(g.bias, by_cpu.bias, "bias");
          if (HasFailure()) return;
        }
  }
}

TEST_P(cuda_edge_terms, of_a_sample_are_those_of_its_edges) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  for (const Score score : leaky_scores) {
    const AttentionCase inputs = case_of(graph, score, GetParam(), {2, 16, 4}, false, 8900);
    const AttentionCase moved = inputs.to(gpu);
    const EdgeSample sample{EdgeSampling::fastrand, 8, 5, 2};
    const Derived kept = sample_edges(graph, sample);
    const Tensor terms = carry_values(kept.origin, inputs.edge);
    AttentionInputs written = inputs.views(), sampled = moved.views();
    written.edge = terms;
    sampled.sample = sample;
    const AttentionExpected expected = expected_attention(kept.graph, written, inputs.largest_score);
    expect_within_bound(attention(context, there, sampled).out.to(Device{}), expected.out, std::string(name(score)));
  }
}

TEST_P(cuda_edge_terms, are_nothing_for_row_windows) {
  if (GetParam() == Dtype::f64) return;
  Context context = Context::cuda();
  const Graph there = battery::power_law_graph().to(gpu);
  const AttentionCase inputs =
      case_of(battery::power_law_graph(), Score::gat, GetParam(), {1, 64, 1}, false, 8950).to(gpu);
  expect_refused([&] { attention_on_gpu(context, there, inputs.views(), "core=tensor,threshold=1"); }, "edge",
                 ErrorCode::unsupported);
}

}  // namespace
}  // namespace weft::test
