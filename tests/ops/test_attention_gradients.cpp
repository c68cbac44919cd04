#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/attention_gradients.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr Score score_kinds[] = {Score::gat, Score::gatv2, Score::dot};

TEST(edge_softmax_backward, agrees_with_differences) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(2);
  for (const Shape& shape : {Shape(14), Shape(14, 1, 1), Shape(14, 3, 1)}) {
    Tensor scores = random_tensor(shape, Dtype::f64, 81);
    const Tensor weight = random_tensor(shape, Dtype::f64, 82);
    const Tensor alpha = edge_softmax(context, graph, scores);
    const Tensor gradient = edge_softmax_backward(context, graph, alpha, weight);
    const auto loss = [&] { return weighted_sum(edge_softmax(context, graph, scores), weight); };
    expect_gradient(scores, gradient, loss, to_string(shape));
  }
}

TEST(edge_softmax_backward, agrees_with_differences_in_rows_that_are_cut) {
  const Graph graph = skewed_graph(5, 6000, 83);
  Context context = Context::cpu(2);
  Tensor scores = random_tensor(Shape(6000), Dtype::f64, 84);
  const Tensor weight = random_tensor(Shape(6000), Dtype::f64, 85, -1000, 1000);
  const Tensor gradient = edge_softmax_backward(context, graph, edge_softmax(context, graph, scores), weight);
  const auto loss = [&] { return weighted_sum(edge_softmax(context, graph, scores), weight); };
  expect_gradient(scores, gradient, loss, "long rows", 61);
}

using Inputs = AttentionCase;

Inputs inputs_of(const Graph& graph, Score kind, std::int64_t heads, std::int64_t width, std::int64_t depth,
                 bool biased) {
  return {graph, kind, Dtype::f64, heads, width, depth, biased ? std::optional(Dtype::f64) : std::nullopt, 85};
}

TEST(attention_backward, agrees_with_differences_for_every_score_with_and_without_bias) {
  const Graph graph = tangled_graph();
  for (const Score score : score_kinds) {
    for (const bool biased : {false, true}) {
      for (const std::int64_t heads : {1, 2, 4}) {
        for (const std::int64_t width : {1, 3, 8}) {
          for (const std::int64_t depth : {1, 5}) {
            if (score == Score::gat && depth > 1) continue;
            Inputs inputs = inputs_of(graph, score, heads, width, depth, biased);
            expect_attention_gradients(graph, inputs,
                                       fmt::format("{}{} heads {} width {} score width {}", name(score),
                                                   biased ? " biased" : "", heads, width, depth));
          }
        }
      }
    }
  }
}

TEST(attention_backward, agrees_with_differences_for_other_slopes_and_scales) {
  const Graph graph = tangled_graph();
  for (const float slope : {0.0f, 0.01f, 1.0f, -0.5f}) {
    for (const Score score : {Score::gat, Score::gatv2}) {
      Inputs inputs = inputs_of(graph, score, 2, 3, 4, false);
      inputs.slope = slope;
      expect_attention_gradients(graph, inputs, fmt::format("{} slope {}", name(score), slope));
    }
  }
  Inputs inputs = inputs_of(graph, Score::dot, 2, 3, 4, false);
  inputs.scale = -1.5f;
  expect_attention_gradients(graph, inputs, "dot scale -1.5");
}

TEST(attention_backward, agrees_with_differences_where_weights_are_dropped) {
  const Graph graph = tangled_graph();
  for (const Score score : score_kinds) {
    for (const float dropout : {0.1f, 0.6f}) {
      for (const bool biased : {false, true}) {
        Inputs inputs = inputs_of(graph, score, 5, 3, 4, biased);
        inputs.dropout = dropout;
        inputs.seed = 94;
        expect_attention_gradients(graph, inputs,
                                   fmt::format("{}{} dropout {}", name(score), biased ? " biased" : "", dropout));
      }
    }
  }
}

TEST(attention_backward, agrees_with_differences_in_rows_that_are_cut) {
  const Graph graph = skewed_graph(4, 5000, 92);
  for (const Score score : score_kinds) {
    Inputs inputs = inputs_of(graph, score, 2, 3, 2, true);
    expect_attention_gradients(graph, inputs, fmt::format("{} long rows", name(score)), 331);
    inputs.dropout = 0.3f;
    expect_attention_gradients(graph, inputs, fmt::format("{} long rows, dropout 0.3", name(score)), 331);
  }
}

TEST(attention_backward, gives_gradients_of_the_shapes_of_their_inputs) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  for (const Score score : score_kinds) {
    Inputs inputs = inputs_of(graph, score, 1, 3, 4, false);
    const std::int64_t depth = score == Score::gat ? 1 : 4;
    inputs.value = random_tensor(Shape(graph.num_cols(), 3), Dtype::f64, 95);
    inputs.dst = random_tensor(Shape(graph.num_rows(), depth), Dtype::f64, 96);
    const AttentionResult result = attention(context, graph, inputs.views());
    const AttentionGradients gradients = attention_backward(context, graph, inputs.views(), result, result.out);
    EXPECT_EQ(to_string(gradients.value.shape()), to_string(inputs.value.shape())) << name(score);
    EXPECT_EQ(to_string(gradients.src.shape()), to_string(inputs.src.shape())) << name(score);
    EXPECT_EQ(to_string(gradients.dst.shape()), to_string(inputs.dst.shape())) << name(score);
  }
}

TEST(attention_backward, keeps_the_storage_type) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  for (const Dtype dtype : floating_dtypes) {
    Inputs inputs = inputs_of(graph, Score::gatv2, 2, 3, 4, true);
    for (Tensor* tensor : {&inputs.value, &inputs.src, &inputs.dst, &inputs.attn, &inputs.bias})
      *tensor = tensor->to(dtype);
    const AttentionResult result = attention(context, graph, inputs.views());
    const Tensor out_grad = random_tensor(result.out.shape(), dtype, 93);
    const AttentionGradients gradients = attention_backward(context, graph, inputs.views(), result, out_grad);
    for (const Tensor* tensor : {&gradients.value, &gradients.src, &gradients.dst, &gradients.attn, &gradients.bias})
      EXPECT_EQ(name(tensor->dtype()), name(dtype));
  }
}

}  // namespace
}  // namespace weft::test
