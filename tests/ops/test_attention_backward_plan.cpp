// The planned backward of attention on the CPU, where it is the composition that the call without a plan takes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/attention_case.hpp"
#include "support/bad_views.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

/// A layer with its forward's result, and room for its gradients.
struct Layer {
  Graph graph;
  AttentionCase given;
  Tensor out_grad, value_grad, src_grad, dst_grad, attn_grad, bias_grad;
  AttentionInputs inputs;
  AttentionResult result;

  Layer(Context& context, const Graph& of, Score score, Dtype dtype, bool biased, std::int64_t width = 9)
      : graph(of), given(of, score, dtype, 2, width, 5, biased ? std::optional(dtype) : std::nullopt, 600) {
    out_grad = random_tensor(Shape(graph.num_rows(), 2, width), dtype, 606);
    value_grad = constant(given.value.shape(), dtype, 77);
    src_grad = constant(given.src.shape(), dtype, 77);
    dst_grad = constant(given.dst.shape(), dtype, 77);
    if (given.attn) attn_grad = constant(given.attn.shape(), dtype, 77);
    if (given.bias) bias_grad = constant(given.bias.shape(), dtype, 77);
    inputs = given.views();
    result = attention(context, graph, inputs);
  }
  AttentionGradientViews into() { return {value_grad, src_grad, dst_grad, attn_grad, bias_grad}; }
  void run(Context& context, const AttentionBackwardPlan& plan, const AttentionGradientViews& to) {
    attention_backward(context, plan, graph, inputs, result, out_grad, to);
  }
};

TEST(planned_attention_backward, gives_the_bits_of_the_call_without_a_plan) {
  for (const Graph& graph : {tangled_graph(), skewed_graph(70, 9000, 607)})
    for (const Score score : {Score::gat, Score::gatv2, Score::dot})
      for (const Dtype dtype : floating_dtypes)
        for (const bool biased : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {}{}", name(score), name(dtype), biased ? " biased" : ""));
          Context context = Context::cpu(2);
          Layer layer(context, graph, score, dtype, biased);
          const AttentionBackwardPlan plan = plan_attention_backward(context, graph, layer.inputs);
          context.reserve(plan.workspace_bytes);
          layer.run(context, plan, layer.into());
          const AttentionGradients g = attention_backward(context, graph, layer.inputs, layer.result, layer.out_grad);
          EXPECT_TRUE(bitwise_equal(layer.value_grad, g.value));
          EXPECT_TRUE(bitwise_equal(layer.src_grad, g.src));
          EXPECT_TRUE(bitwise_equal(layer.dst_grad, g.dst));
          if (layer.given.attn) {
            EXPECT_TRUE(bitwise_equal(layer.attn_grad, g.attn));
          }
          if (biased) {
            EXPECT_TRUE(bitwise_equal(layer.bias_grad, g.bias));
          }
        }
}

TEST(planned_attention_backward, is_one_visit_of_the_edges_for_gat_in_accumulators) {
  Context context = Context::cpu(2);
  const auto visits_once = [&](Score score, Dtype dtype, bool biased) {
    const Layer layer(context, tangled_graph(), score, dtype, biased);
    const AttentionBackwardPlan plan = plan_attention_backward(context, layer.graph, layer.inputs);
    EXPECT_EQ(plan.gather.backing.graph, layer.graph.transpose().identity());
    return plan.at_once;
  };
  EXPECT_TRUE(visits_once(Score::gat, Dtype::f32, false));
  EXPECT_TRUE(visits_once(Score::gat, Dtype::f64, false));
  EXPECT_FALSE(visits_once(Score::gat, Dtype::f32, true));
  EXPECT_FALSE(visits_once(Score::gat, Dtype::f16, false));
  EXPECT_FALSE(visits_once(Score::gat, Dtype::bf16, false));
  EXPECT_FALSE(visits_once(Score::gatv2, Dtype::f32, false));
  EXPECT_FALSE(visits_once(Score::dot, Dtype::f32, false));
}

TEST(planned_attention_backward, allocates_nothing_and_takes_exactly_the_planned_workspace) {
  for (const Score score : {Score::gat, Score::gatv2, Score::dot})
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      SCOPED_TRACE(fmt::format("{} {}", name(score), name(dtype)));
      Context context = Context::cpu(2), small = Context::cpu(2), other = Context::cpu(2);
      Layer layer(other, skewed_graph(70, 900, 608), score, dtype, dtype == Dtype::f16);  // f32 in one visit, too
      const AttentionBackwardPlan plan = plan_attention_backward(context, layer.graph, layer.inputs);
      context.reserve(plan.workspace_bytes);
      EXPECT_EQ(context.workspace_bytes(), plan.workspace_bytes);
      const std::size_t before = memory_stats().allocations;
      attention_backward(context, plan, layer.graph, layer.inputs, layer.result, layer.out_grad, layer.into());
      EXPECT_EQ(memory_stats().allocations, before);
      small.reserve(plan.workspace_bytes - 1);
      expect_refused(
          [&] {
            attention_backward(small, plan, layer.graph, layer.inputs, layer.result, layer.out_grad, layer.into());
          },
          "workspace");
    }
}

TEST(planned_attention_backward, leaves_what_stands_beside_its_columns_as_it_was) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), Score::gat, Dtype::f32, false, 4);
  const AttentionBackwardPlan plan = plan_attention_backward(context, layer.graph, layer.inputs);
  context.reserve(plan.workspace_bytes);
  const AttentionGradients g = attention_backward(context, layer.graph, layer.inputs, layer.result, layer.out_grad);
  Tensor wide = constant(Shape(5, 10), Dtype::f32, 77);
  TensorView middle = columns(wide.view(), 1, 8);
  middle.shape = Shape(5, 2, 4);
  layer.run(context, plan, {middle, layer.src_grad, layer.dst_grad, {}, {}});
  const std::vector<double> got = doubles(wide), wanted = doubles(g.value);
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(got[r * 10], 77);
    EXPECT_EQ(got[r * 10 + 9], 77);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(got[r * 10 + 1 + i], wanted[r * 8 + i]) << r << " " << i;
  }
}

TEST(planned_attention_backward, takes_an_output_in_f32_beside_halves) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16})
    for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
      SCOPED_TRACE(fmt::format("{} {}", name(score), name(dtype)));
      Context context = Context::cpu(2);
      const Graph graph = skewed_graph(70, 9000, 612);
      Layer layer(context, graph, score, dtype, false);
      const Plan forward = make_plan(context, graph, {OpKind::attention, dtype, 2, 9, Reduce::sum, true});
      const AttentionBackwardPlan plan = plan_attention_backward(context, graph, layer.inputs);
      context.reserve(std::max(forward.workspace_bytes, plan.workspace_bytes));
      AttentionResult wide{constant(layer.result.out.shape(), Dtype::f32, 77),
                           constant(layer.result.row_max.shape(), Dtype::f32, 77),
                           constant(layer.result.row_sum.shape(), Dtype::f32, 77)};
      attention(context, forward, graph, layer.inputs, wide.out, wide.row_max, wide.row_sum);
      EXPECT_TRUE(bitwise_equal(wide.out.to(dtype), layer.result.out)) << "rounded once, it is what the others get";
      const AttentionCase exact = layer.given.to(Dtype::f64);
      const std::vector<double> got = doubles(wide.out), wanted = doubles(attention(context, graph, exact.views()).out);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 2e-5) << i;
      attention_backward(context, plan, graph, layer.inputs, wide, layer.out_grad, layer.into());
      const AttentionGradients g = attention_backward(context, graph, layer.inputs, layer.result, layer.out_grad);
      EXPECT_TRUE(bitwise_equal(layer.value_grad, g.value));
      EXPECT_TRUE(bitwise_equal(layer.src_grad, g.src));
      EXPECT_TRUE(bitwise_equal(layer.dst_grad, g.dst));
    }
}

TEST(planned_attention_backward, refuses_the_plan_of_something_else) {
  Context context = Context::cpu(2), more_threads = Context::cpu(3);
  const Graph graph = skewed_graph(70, 900, 608), other = skewed_graph(70, 900, 608);
  Layer layer(context, graph, Score::gat, Dtype::f32, false);
  const auto refused = [&](const AttentionBackwardPlan& plan) {
    expect_refused([&] { layer.run(context, plan, layer.into()); }, "plan");
  };
  refused(AttentionBackwardPlan{});
  refused(plan_attention_backward(context, other, layer.inputs));
  refused(plan_attention_backward(more_threads, graph, layer.inputs));
  const Layer wider(context, graph, Score::gat, Dtype::f32, false, 10);
  refused(plan_attention_backward(context, graph, wider.inputs));
  const Layer doubled(context, graph, Score::gat, Dtype::f64, false);
  refused(plan_attention_backward(context, graph, doubled.inputs));
  AttentionBackwardPlan forward = plan_attention_backward(context, graph, layer.inputs);
  forward.gather = make_plan(context, graph, forward.gather.desc);  // over the graph instead of its transpose
  refused(forward);
  EXPECT_EQ(doubles(layer.value_grad), doubles(constant(layer.given.value.shape(), Dtype::f32, 77)));
}

TEST(planned_attention_backward, refuses_the_plan_of_another_score_or_depth_before_it_writes) {
  Context context = Context::cpu(2);
  const Graph graph = skewed_graph(70, 900, 609);
  for (const Score score : {Score::gatv2, Score::dot}) {
    SCOPED_TRACE(name(score));
    Layer layer(context, graph, score, Dtype::f32, false);
    const AttentionCase deeper(graph, score, Dtype::f32, 2, 9, 64, std::nullopt, 610);
    const AttentionCase plain(graph, Score::gat, Dtype::f32, 2, 9, 1, std::nullopt, 611);
    for (const AttentionCase* other : {&deeper, &plain}) {
      const AttentionBackwardPlan plan = plan_attention_backward(context, graph, other->views());
      context.reserve(plan.workspace_bytes);
      expect_refused([&] { layer.run(context, plan, layer.into()); }, "plan");
    }
    EXPECT_EQ(doubles(layer.value_grad), doubles(constant(layer.given.value.shape(), Dtype::f32, 77)));
    EXPECT_EQ(doubles(layer.src_grad), doubles(constant(layer.given.src.shape(), Dtype::f32, 77)));
  }
}

TEST(planned_attention_backward, refuses_gradients_that_do_not_fit) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), Score::gatv2, Dtype::f32, true);
  const AttentionBackwardPlan plan = plan_attention_backward(context, layer.graph, layer.inputs);
  const std::pair<TensorView AttentionGradientViews::*, const char*> fields[] = {
      {&AttentionGradientViews::value, "into.value"},
      {&AttentionGradientViews::src, "into.src"},
      {&AttentionGradientViews::dst, "into.dst"},
      {&AttentionGradientViews::attn, "into.attn"},
      {&AttentionGradientViews::bias, "into.bias"}};
  for (const auto& [field, text] : fields) {
    const TensorView good = layer.into().*field;
    const Shape fewer(good.shape.rows, 1, good.shape.width);
    for (const TensorView& bad : {TensorView(), without_memory(good), as_shape(good, fewer), as_dtype(good, Dtype::i32),
                                  as_dtype(good, Dtype::f16), on_cuda(good)}) {
      AttentionGradientViews into = layer.into();
      into.*field = bad;
      expect_refused([&] { layer.run(context, plan, into); }, text);
    }
  }
  AttentionGradientViews shared = layer.into();
  shared.src = as_shape(layer.given.src.view(), layer.given.src.shape());
  expect_refused([&] { layer.run(context, plan, shared); }, "into.src");
  Layer plain(context, tangled_graph(), Score::gat, Dtype::f32, false);
  const AttentionBackwardPlan plain_plan = plan_attention_backward(context, plain.graph, plain.inputs);
  AttentionGradientViews too_many = plain.into();
  too_many.attn = layer.attn_grad;
  expect_refused([&] { plain.run(context, plain_plan, too_many); }, "into.attn");
  too_many = plain.into();
  too_many.bias = layer.bias_grad;
  expect_refused([&] { plain.run(context, plain_plan, too_many); }, "into.bias");
}

}  // namespace
}  // namespace weft::test
