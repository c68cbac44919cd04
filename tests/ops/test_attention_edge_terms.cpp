// What edges add to leaky_relu's argument in gat and gatv2: gradients, plans, samples and refusals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/attention_gradients.hpp"
#include "support/bad_views.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr Score leaky_scores[] = {Score::gat, Score::gatv2};

AttentionCase case_of(const Graph& graph, Score score, Dtype dtype, std::int64_t heads, std::int64_t width,
                      std::int64_t depth, bool biased, std::uint64_t seed) {
  AttentionCase inputs(graph, score, dtype, heads, width, depth, biased ? std::optional(dtype) : std::nullopt, seed);
  inputs.add_edges(graph.num_edges(), seed + 7);
  return inputs;
}

TEST(attention_edge_terms, have_gradients_that_agree_with_differences) {
  const Graph graph = tangled_graph();
  for (const Score score : leaky_scores)
    for (const bool biased : {false, true})
      for (const std::int64_t heads : {1, 2, 5})
        for (const std::int64_t depth : {1, 5, 16})
          for (const float dropout : {0.0f, 0.4f}) {
            if (score == Score::gat && depth > 1) continue;
            AttentionCase inputs = case_of(graph, score, Dtype::f64, heads, 3, depth, biased, 310);
            inputs.dropout = dropout;
            inputs.seed = 311;
            inputs.slope = depth == 5 ? 0.0f : 0.3f;
            expect_attention_gradients(graph, inputs,
                                       fmt::format("{}{} heads {} depth {} dropout {}", name(score),
                                                   biased ? " biased" : "", heads, depth, dropout));
          }
}

TEST(attention_edge_terms, have_gradients_that_agree_with_differences_in_rows_that_are_cut) {
  const Graph graph = skewed_graph(4, 5000, 312);
  for (const Score score : leaky_scores) {
    AttentionCase inputs = case_of(graph, score, Dtype::f64, 2, 3, 2, false, 313);
    expect_attention_gradients(graph, inputs, fmt::format("{} long rows", name(score)), 331);
  }
}

TEST(attention_edge_terms, of_zero_change_nothing) {
  const Graph graph = battery::power_law_graph();
  Context context = Context::cpu(2);
  for (const Score score : leaky_scores)
    for (const Dtype dtype : floating_dtypes) {
      AttentionCase inputs = case_of(graph, score, dtype, 2, 8, 6, true, 314);
      inputs.edge = Tensor::zeros(inputs.edge.shape(), dtype);
      AttentionInputs without = inputs.views();
      without.edge = {};
      const AttentionResult a = attention(context, graph, inputs.views()), b = attention(context, graph, without);
      EXPECT_TRUE(bitwise_equal(a.out, b.out)) << name(score) << " " << name(dtype);
      const Tensor grad = random_tensor(a.out.shape(), dtype, 315);
      const AttentionGradients with_terms = attention_backward(context, graph, inputs.views(), a, grad);
      const AttentionGradients plain = attention_backward(context, graph, without, b, grad);
      EXPECT_TRUE(bitwise_equal(with_terms.src, plain.src)) << name(score) << " " << name(dtype);
      EXPECT_TRUE(bitwise_equal(with_terms.dst, plain.dst)) << name(score) << " " << name(dtype);
      EXPECT_EQ(name(with_terms.edge.dtype()), name(dtype));
      EXPECT_FALSE(plain.edge);
    }
}

TEST(attention_edge_terms, give_the_same_bits_for_any_threads_and_with_ids_of_their_own) {
  const Graph graph = battery::power_law_graph().transpose();
  for (const Score score : leaky_scores) {
    const AttentionCase inputs = case_of(graph, score, Dtype::f32, 4, 8, 8, true, 316);
    const Tensor grad = random_tensor(Shape(graph.num_rows(), 4, 8), Dtype::f32, 317);
    std::optional<AttentionGradients> first;
    for (const int threads : {1, 2, 3}) {
      Context context = Context::cpu(threads);
      const AttentionResult result = attention(context, graph, inputs.views());
      const AttentionBackwardPlan plan = plan_attention_backward(context, graph, inputs.views());
      context.reserve(plan.workspace_bytes);
      const auto room = [](const Tensor& like) { return constant(like.shape(), like.dtype(), 77); };
      AttentionGradients g{room(inputs.value), room(inputs.src),
                           room(inputs.dst),   inputs.attn ? room(inputs.attn) : Tensor(),
                           room(inputs.bias),  room(inputs.edge)};
      const std::size_t before = memory_stats().allocations;
      attention_backward(context, plan, graph, inputs.views(), result, grad,
                         {g.value, g.src, g.dst, g.attn, g.bias, g.edge});
      EXPECT_EQ(memory_stats().allocations, before);
      if (!first) {
        first = std::move(g);
        continue;
      }
      EXPECT_TRUE(bitwise_equal(g.edge, first->edge)) << name(score) << " threads " << threads;
      EXPECT_TRUE(bitwise_equal(g.src, first->src)) << name(score) << " threads " << threads;
    }
  }
}

TEST(attention_edge_terms, of_a_sample_are_those_of_its_edges) {
  const Graph graph = battery::power_law_graph();
  Context context = Context::cpu(2);
  for (const Score score : leaky_scores) {
    const EdgeSample sample{EdgeSampling::fastrand, 8, 5, 2};
    const Derived kept = sample_edges(graph, sample);
    const AttentionCase inputs = case_of(graph, score, Dtype::f32, 2, 16, 4, false, 318);
    AttentionInputs sampled = inputs.views(), written = inputs.views();
    sampled.sample = sample;
    const Tensor terms = carry_values(kept.origin, inputs.edge);
    written.edge = terms;
    EXPECT_TRUE(bitwise_equal(attention(context, graph, sampled).out, attention(context, kept.graph, written).out))
        << name(score);
  }
}

TEST(attention_edge_terms, that_do_not_fit_are_refused_by_name) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  const AttentionCase gat = case_of(graph, Score::gat, Dtype::f32, 2, 3, 1, false, 319),
                      gatv2 = case_of(graph, Score::gatv2, Dtype::f32, 2, 3, 4, false, 320);
  const auto refused = [&](const AttentionCase& inputs, ConstTensorView edge) {
    AttentionInputs bad = inputs.views();
    bad.edge = edge;
    expect_refused([&] { attention(context, graph, bad); }, "edge");
  };
  refused(gat, gatv2.edge);
  refused(gatv2, gat.edge);
  refused(gat, as_shape(gat.edge.view(), Shape(13, 2, 1)));
  refused(gat, without_memory(gat.edge.view()));
  refused(gat, on_cuda(gat.edge.view()));
  const Tensor doubled = gat.edge.to(Dtype::f64);
  refused(gat, doubled);
  AttentionCase dot(graph, Score::dot, Dtype::f32, 2, 3, 4, std::nullopt, 321);
  refused(dot, gatv2.edge);

  const AttentionResult result = attention(context, graph, gat.views());
  const AttentionGradients g = attention_backward(context, graph, gat.views(), result, result.out);
  const AttentionBackwardPlan plan = plan_attention_backward(context, graph, gat.views());
  context.reserve(plan.workspace_bytes);
  const Tensor out_grad = random_tensor(result.out.shape(), Dtype::f32, 322);
  const auto into = [&](TensorView edge) {
    Tensor value = g.value.to(Dtype::f32), src = g.src.to(Dtype::f32), dst = g.dst.to(Dtype::f32);
    attention_backward(context, plan, graph, gat.views(), result, out_grad, {value, src, dst, {}, {}, edge});
  };
  Tensor fits = constant(gat.edge.shape(), Dtype::f32, 77);
  EXPECT_NO_THROW(into(fits));
  expect_refused([&] { into({}); }, "into.edge");
  expect_refused([&] { into(as_shape(fits.view(), Shape(13, 2, 1))); }, "into.edge");
}

}  // namespace
}  // namespace weft::test
