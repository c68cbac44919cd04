#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/oracle.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rows of 3, 0 and 2 edges and one of 3000, which is cut into pieces.
Graph graph_with_a_long_row() {
  std::vector<EdgeId> offsets{0, 3, 3, 5, 3005};
  std::vector<NodeId> cols{0, 1, 2, 1, 3};
  for (int k = 0; k < 3000; ++k) cols.push_back(static_cast<NodeId>(k % 4));
  return Graph::from_csr(4, 4, offsets, cols);
}

TEST(edge_softmax, sums_to_one_in_every_row_with_edges) {
  const Graph graph = skewed_graph(50, 6000, 61);
  Context context = Context::cpu(2);
  const Tensor alpha = edge_softmax(context, graph, random_tensor(Shape(graph.num_edges(), 3, 1), Dtype::f32, 62));
  SpmmOptions options;
  options.op = SpmmOp::copy_e;
  const Tensor sums = spmm(context, graph, {}, alpha, options);
  const std::vector<std::int64_t> degrees = degrees_of(graph);
  for (std::size_t i = 0; i < sums.span<float>().size(); ++i)
    EXPECT_NEAR(sums.span<float>()[i], degrees[i / 3] > 0 ? 1.0 : 0.0, 2e-6) << "row " << i / 3;
}

TEST(edge_softmax, masks_single_edges_whole_pieces_and_whole_rows) {
  const Graph graph = graph_with_a_long_row();
  for (const Dtype dtype : floating_dtypes) {
    std::vector<double> scores(3005, 0.5);
    scores[1] = -infinity;                                             // one edge of a row
    scores[3] = scores[4] = -infinity;                                 // all of a row
    for (std::size_t k = 5; k < 5 + 2048; ++k) scores[k] = -infinity;  // the first two pieces of the long row
    const Tensor given = Tensor::from(std::span<const double>(scores), Shape(3005), dtype);
    Context context = Context::cpu(2);
    const Tensor alpha = edge_softmax(context, graph, given);
    expect_within_bound(alpha, expected_softmax(graph, given), std::string(name(dtype)));
    const std::vector<double> values = doubles(alpha);
    EXPECT_EQ(values[0], 0.5);
    EXPECT_EQ(values[1], 0);
    EXPECT_EQ(values[3], 0);
    EXPECT_EQ(values[4], 0);
    EXPECT_EQ(values[5], 0);
  }
}

TEST(edge_softmax, gives_zero_where_every_piece_of_a_long_row_is_masked) {
  const Graph graph = graph_with_a_long_row();
  Context context = Context::cpu(2);
  const Tensor alpha = edge_softmax(context, graph, constant(Shape(3005), Dtype::f32, -infinity));
  expect_values(alpha, std::vector<double>(3005, 0));
}

TEST(edge_softmax, makes_a_row_nan_where_a_score_is_nan_or_plus_infinity) {
  const Graph graph = graph_with_a_long_row();
  for (const Dtype dtype : floating_dtypes) {
    for (const double bad : {nan, infinity}) {
      for (const std::size_t where : {1u, 5u, 1200u, 3004u}) {
        std::vector<double> scores(3005, 0.25);
        scores[where] = bad;
        const Tensor given = Tensor::from(std::span<const double>(scores), Shape(3005), dtype);
        Context context = Context::cpu(2);
        expect_within_bound(edge_softmax(context, graph, given), expected_softmax(graph, given),
                            fmt::format("{} at {} in {}", bad, where, name(dtype)));
      }
    }
  }
}

TEST(edge_softmax, does_not_overflow_in_half_precision) {
  const Graph graph = graph_with_a_long_row();
  Context context = Context::cpu(2);
  const Tensor scores = constant(Shape(3005), Dtype::f16, 60000);
  expect_within_bound(edge_softmax(context, graph, scores), expected_softmax(graph, scores), "60000 in f16");
}

TEST(edge_softmax_backward, agrees_with_the_reference_where_rows_are_masked) {
  const Graph graph = graph_with_a_long_row();
  Context context = Context::cpu(2);
  std::vector<double> scores(3005, 0.5);
  scores[3] = scores[4] = -infinity;
  const Tensor alpha =
      edge_softmax(context, graph, Tensor::from(std::span<const double>(scores), Shape(3005), Dtype::f32));
  const Tensor grad = random_tensor(Shape(3005), Dtype::f32, 63);
  const Tensor result = edge_softmax_backward(context, graph, alpha, grad);
  expect_within_bound(result, expected_softmax_backward(graph, alpha, grad), "masked rows");
  EXPECT_EQ(result.span<float>()[3], 0);
}

struct attention_semantics : ::testing::Test {
  Graph graph = graph_with_a_long_row();
  Context context = Context::cpu(2);
  Tensor value = random_tensor(Shape(4, 2, 5), Dtype::f32, 64);
  Tensor src = random_tensor(Shape(4, 2, 1), Dtype::f32, 65);
  Tensor dst = random_tensor(Shape(4, 2, 1), Dtype::f32, 66);

  AttentionInputs inputs() {
    AttentionInputs views;
    views.value = value;
    views.src = src;
    views.dst = dst;
    return views;
  }
};

TEST_F(attention_semantics, rows_without_edges_give_zero_and_their_statistics_say_so) {
  const AttentionResult result = attention(context, graph, inputs());
  for (std::size_t i = 10; i < 20; ++i) EXPECT_EQ(result.out.span<float>()[i], 0);
  EXPECT_EQ(doubles(result.row_max)[2], -infinity);
  EXPECT_EQ(doubles(result.row_sum)[2], 0);
}

TEST_F(attention_semantics, a_bias_of_minus_infinity_masks_edges_pieces_and_rows) {
  Tensor bias = Tensor::zeros(Shape(3005, 2, 1), Dtype::f32);
  const auto mask = [&](std::size_t edge) { bias.span<float>()[edge * 2] = -std::numeric_limits<float>::infinity(); };
  mask(1);
  mask(3);
  mask(4);
  for (std::size_t k = 5; k < 5 + 2048; ++k) mask(k);
  AttentionInputs views = inputs();
  views.bias = bias;
  const AttentionExpected expected = expected_attention(graph, views, 4);
  const AttentionResult result = attention(context, graph, views);
  expect_within_bound(result.out, expected.out, "masked");
  for (std::size_t f = 0; f < 5; ++f) EXPECT_EQ(result.out.span<float>()[20 + f], 0) << "row 2, head 0";
  EXPECT_EQ(doubles(result.row_max)[4], -infinity);
  EXPECT_EQ(doubles(result.row_sum)[4], 0);
  const std::vector<double> alpha = doubles(attention_weights(context, graph, views, result));
  for (const std::size_t edge : {1u, 3u, 4u, 5u, 2052u}) EXPECT_EQ(alpha[edge * 2], 0) << "edge " << edge;
}

TEST_F(attention_semantics, everything_masked_gives_zero_forward_and_backward) {
  const Tensor bias = constant(Shape(3005, 2, 1), Dtype::f32, -infinity);
  AttentionInputs views = inputs();
  views.bias = bias;
  const AttentionResult result = attention(context, graph, views);
  expect_values(result.out, std::vector<double>(40, 0));
  const Tensor out_grad = random_tensor(Shape(4, 2, 5), Dtype::f32, 67);
  const AttentionGradients gradients = attention_backward(context, graph, views, result, out_grad);
  expect_values(gradients.value, std::vector<double>(40, 0), "value");
  expect_values(gradients.src, std::vector<double>(8, 0), "src");
  expect_values(gradients.dst, std::vector<double>(8, 0), "dst");
  expect_values(gradients.bias, std::vector<double>(6010, 0), "bias");
}

TEST_F(attention_semantics, everything_masked_gives_zero_even_where_values_are_infinite) {
  const Tensor bias = constant(Shape(3005, 2, 1), Dtype::f32, -infinity);
  value.span<float>()[0] = static_cast<float>(infinity);
  AttentionInputs views = inputs();
  views.bias = bias;
  expect_values(attention(context, graph, views).out, std::vector<double>(40, 0));
}

TEST_F(attention_semantics, equal_scores_average_the_values) {
  src = Tensor::zeros(Shape(4, 2, 1), Dtype::f32);
  dst = Tensor::zeros(Shape(4, 2, 1), Dtype::f32);
  SpmmOptions mean;
  mean.op = SpmmOp::copy_u;
  mean.reduce = Reduce::mean;
  const Tensor averaged = spmm(context, graph, value, {}, mean);
  expect_near(attention(context, graph, inputs()).out, doubles(averaged), 1e-6, "mean");
}

TEST_F(attention_semantics, a_nan_score_makes_its_row_nan_and_no_other) {
  dst.span<float>()[0] = std::numeric_limits<float>::quiet_NaN();  // row 0, head 0
  const AttentionResult result = attention(context, graph, inputs());
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(result.out.span<float>()[i]), i < 5) << i;
}

TEST_F(attention_semantics, large_scores_do_not_overflow_in_half_precision) {
  value = random_tensor(Shape(4, 2, 5), Dtype::f16, 68);
  src = random_tensor(Shape(4, 2, 8), Dtype::f16, 69, -200, 200);
  dst = random_tensor(Shape(4, 2, 8), Dtype::f16, 70, -200, 200);
  AttentionInputs views = inputs();
  views.score = Score::dot;
  const AttentionResult result = attention(context, graph, views);
  for (const double out : doubles(result.out)) EXPECT_TRUE(std::isfinite(out));
  expect_within_bound(result.out, expected_attention(graph, views, 8 * 40000.0).out, "large scores");
}

TEST_F(attention_semantics, weights_do_not_depend_on_the_values) {
  AttentionInputs views = inputs();
  const Tensor first = attention_weights(context, graph, views, attention(context, graph, views));
  const Tensor other = random_tensor(Shape(4, 2, 5), Dtype::f32, 71);
  views.value = other;
  EXPECT_TRUE(bitwise_equal(first, attention_weights(context, graph, views, attention(context, graph, views))));
}

}  // namespace
}  // namespace weft::test
