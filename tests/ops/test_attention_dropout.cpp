#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.hpp"
#include "support/oracle.hpp"
#include "support/small_graphs.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

struct Layer {
  Tensor value, src, dst, attn;
  AttentionInputs inputs;

  Layer(const Graph& graph, Dtype dtype, Score score, std::int64_t heads, std::int64_t width) {
    const std::int64_t depth = score == Score::gat ? 1 : 4;
    value = random_tensor(Shape(graph.num_cols(), heads, width), dtype, 11);
    src = random_tensor(Shape(graph.num_cols(), heads, depth), dtype, 12);
    dst = random_tensor(Shape(graph.num_rows(), heads, depth), dtype, 13);
    inputs.score = score;
    inputs.value = value;
    inputs.src = src;
    inputs.dst = dst;
    inputs.seed = 14;
    if (score != Score::gatv2) return;
    attn = random_tensor(Shape(1, heads, depth), dtype, 15);
    inputs.attn = attn;
  }
};

TEST(attention_dropout, agrees_with_the_reference_for_every_score_and_any_number_of_threads) {
  const Graph graph = skewed_graph(40, 6000, 16);
  for (const Dtype dtype : floating_dtypes) {
    for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
      Layer layer(graph, dtype, score, 3, 5);
      layer.inputs.dropout = 0.4f;
      const AttentionExpected expected = expected_attention(graph, layer.inputs, 32);
      Context one = Context::cpu(1), three = Context::cpu(3);
      const AttentionResult result = attention(one, graph, layer.inputs);
      expect_within_bound(result.out, expected.out, fmt::format("{} {}", name(score), name(dtype)));
      EXPECT_TRUE(bitwise_equal(attention(three, graph, layer.inputs).out, result.out)) << name(score);
    }
  }
}

TEST(attention_dropout, drops_about_as_many_as_asked_and_scales_up_the_others) {
  constexpr std::int64_t leaves = 40'000;
  const Graph graph = generate(StarSpec{leaves + 1});
  Layer layer(graph, Dtype::f64, Score::gat, 4, 1);
  layer.value = constant(layer.value.shape(), Dtype::f64, 1);
  layer.src = constant(layer.src.shape(), Dtype::f64, 0);
  layer.inputs.value = layer.value;
  layer.inputs.src = layer.src;
  Context context = Context::cpu(2);
  for (const float rate : {0.01f, 0.3f, 0.9f}) {
    layer.inputs.dropout = rate;
    const AttentionResult result = attention(context, graph, layer.inputs);
    const std::vector<double> out = doubles(result.out), sums = doubles(result.row_sum);
    for (std::size_t head = 0; head < 4; ++head) {  // of the hub, whose weights are all alike
      const double kept = 1 - static_cast<double>(rate);
      EXPECT_NEAR(out[head], 1, 5 * std::sqrt((1 - kept) / kept / leaves)) << rate << " head " << head;
      EXPECT_NE(out[head], out[(head + 1) % 4]) << "heads drop edges of their own";
      EXPECT_NEAR(sums[head], leaves, 1e-6) << "the softmax comes before";
    }
  }
}

TEST(attention_dropout, follows_the_seed) {
  const Graph graph = skewed_graph(40, 2000, 17);
  Layer layer(graph, Dtype::f32, Score::gat, 2, 3);
  Context context = Context::cpu(2);
  const Tensor without = attention(context, graph, layer.inputs).out;
  layer.inputs.dropout = 0.5f;
  const Tensor out = attention(context, graph, layer.inputs).out;
  EXPECT_TRUE(bitwise_equal(attention(context, graph, layer.inputs).out, out));
  EXPECT_FALSE(bitwise_equal(without, out));
  layer.inputs.seed += std::uint64_t{1} << 40;
  EXPECT_FALSE(bitwise_equal(attention(context, graph, layer.inputs).out, out));
}

TEST(attention_dropout, leaves_the_weights_that_are_asked_for_as_they_are) {
  const Graph graph = skewed_graph(20, 500, 18);
  Layer layer(graph, Dtype::f64, Score::dot, 2, 3);
  Context context = Context::cpu(1);
  const Tensor before = attention_weights(context, graph, layer.inputs, attention(context, graph, layer.inputs));
  layer.inputs.dropout = 0.5f;
  const Tensor after = attention_weights(context, graph, layer.inputs, attention(context, graph, layer.inputs));
  EXPECT_TRUE(bitwise_equal(before, after));
}

TEST(attention_dropout, refuses_what_is_no_probability_below_one) {
  const Graph graph = tangled_graph();
  Layer layer(graph, Dtype::f32, Score::gat, 1, 2);
  Context context = Context::cpu(1);
  for (const float rate : {-0.1f, 1.0f, 7.0f, std::numeric_limits<float>::quiet_NaN()}) {
    layer.inputs.dropout = rate;
    expect_refused([&] { attention(context, graph, layer.inputs); }, "dropout");
  }
}

}  // namespace
}  // namespace weft::test
