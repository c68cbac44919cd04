#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/raw_graph.hpp"

namespace weft::test {
namespace {

using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double slope = static_cast<double>(0.25f);

Values softmax(const Values& scores) {
  Values out(5, -1);
  const RawGraph graph = five_edges();
  reference::softmax_forward({graph.view(), 1, scalars(scores), {}, output(out, 1)});
  return out;
}

void expect_near(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-14) << "element " << i;
}

TEST(reference_softmax, shares_each_row_by_exponentials) {
  // Row 0: ids 3, 1; row 2: ids 0, 4, 2.
  expect_near(softmax({std::log(1), std::log(3), std::log(2), std::log(1), std::log(5)}),
              {1.0 / 8, 3.0 / 4, 2.0 / 8, 1.0 / 4, 5.0 / 8});
}

TEST(reference_softmax, does_not_overflow) {
  expect_near(softmax({1000, 800, 1000, 800, 1000}), {1.0 / 3, 0.5, 1.0 / 3, 0.5, 1.0 / 3});
}

TEST(reference_softmax, masks_with_minus_infinity_and_gives_zero_where_all_is_masked) {
  expect_near(softmax({1, -infinity, -infinity, -infinity, 1}), {0.5, 0, 0, 0, 0.5});
}

TEST(reference_softmax, makes_a_row_nan_where_a_score_is_nan_or_infinite) {
  for (const double bad : {std::nan(""), infinity}) {
    const Values out = softmax({bad, 0, 1, 0, 2});
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[2]) && std::isnan(out[4]));
    EXPECT_EQ(out[1], 0.5);
  }
}

TEST(reference_softmax, backward_is_alpha_times_grad_less_its_weighted_mean) {
  const Values alpha{0.125, 0.75, 0.25, 0.25, 0.625}, grad{8, 4, -4, 2, 1};
  Values out(5);
  const RawGraph graph = five_edges();
  reference::softmax_backward({graph.view(), 1, scalars(alpha), scalars(grad), output(out, 1)});
  // Row 0: 0.25 * 2 + 0.75 * 4 = 3.5; row 2: 1 + 0.625 - 1 = 0.625.
  expect_near(out, {0.125 * 7.375, 0.75 * 0.5, 0.25 * -4.625, 0.25 * -1.5, 0.625 * 0.375});
}

struct reference_attention : ::testing::Test {
  RawGraph graph = five_edges();
  Values value{1, 10, 2, 20, 3, 30};
  Values src{0, std::log(2), -2}, dst{1, 0, 0};
  Values out = Values(6), row_max = Values(3), row_sum = Values(3), absolute = Values(6);

  AttentionArgs arguments(Score score) {
    AttentionArgs args;
    args.graph = graph.view();
    args.score = score;
    args.width = 2;
    args.value = vectors(value, 2);
    args.src = scalars(src);
    args.dst = scalars(dst);
    args.slope = 0.25f;
    args.out = output(out, 2);
    args.row_max = output(row_max, 1);
    args.row_sum = output(row_sum, 1);
    return args;
  }
};

TEST_F(reference_attention, weighs_values_by_gat_scores) {
  reference::attention_forward(arguments(Score::gat), absolute.data());
  // Row 0: scores 1 and 0.25 * -1; row 2: log 2, log 2, 0, so weights 2/5, 2/5, 1/5.
  const double a = 1 / (1 + std::exp(-1.25)), b = 1 - a;
  expect_near(out, {a + 3 * b, 10 * a + 30 * b, 0, 0, 1.8, 18});
  expect_near(absolute, out);
  EXPECT_NEAR(row_max[0], 1, 1e-15);
  EXPECT_NEAR(row_sum[0], 1 + std::exp(-1.25), 1e-15);
  EXPECT_NEAR(row_sum[2], 2.5, 1e-15);
  EXPECT_EQ(row_max[1], -infinity);
  EXPECT_EQ(row_sum[1], 0);
}

TEST_F(reference_attention, adds_the_bias_after_leaky_relu) {
  const Values bias{0, 1.25, -infinity, 0, -infinity};
  AttentionArgs args = arguments(Score::gat);
  args.bias = scalars(bias);
  reference::attention_forward(args);
  expect_near(out, {2, 20, 0, 0, 2, 20});  // row 0 evened out; row 2: only the first of its edges is left
}

TEST_F(reference_attention, gives_zero_and_no_nan_where_every_edge_is_masked) {
  const Values bias(5, -infinity);
  AttentionArgs args = arguments(Score::gat);
  args.bias = scalars(bias);
  reference::attention_forward(args, absolute.data());
  EXPECT_EQ(out, Values(6, 0));
  EXPECT_EQ(row_sum, Values(3, 0));
  EXPECT_EQ(row_max, Values(3, -infinity));
}

TEST_F(reference_attention, scores_gatv2_with_attn_after_leaky_relu) {
  const Values src2{0, 1, 1, -1, 2, 0}, dst2{1, -2, 0, 0, -1, 1}, attn{1, 2};
  AttentionArgs args = arguments(Score::gatv2);
  args.score_width = 2;
  args.src = vectors(src2, 2);
  args.dst = vectors(dst2, 2);
  args.attn = {attn.data(), Dtype::f64, 0, 2, 1};
  reference::attention_forward(args);
  // Row 0: u0: 1 + 2 * -0.25 = 0.5; u2: 3 + 2 * -0.5 = 2. Row 2: u1: 0 + 0 = 0; u0: -0.25 + 4 = 3.75.
  EXPECT_NEAR(row_max[0], 2, 1e-15);
  EXPECT_NEAR(row_sum[0], 1 + std::exp(-1.5), 1e-15);
  EXPECT_NEAR(row_max[2], 3.75, 1e-15);
  EXPECT_NEAR(row_sum[2], 1 + 2 * std::exp(-3.75), 1e-15);
}

TEST_F(reference_attention, adds_what_edges_say_before_leaky_relu) {
  const Values terms{-0.5 - std::log(2), -3, 0.5, 0.75, 0};
  AttentionArgs args = arguments(Score::gat);
  args.edge = scalars(terms);
  reference::attention_forward(args);
  // Row 0: 0 + 1 + 0.75 by edge 3, 0.25 * (-2 + 1 - 3) by edge 1; row 2: 0.25 * -0.5 by 0, log 2 by 4, 0.5 by 2.
  EXPECT_NEAR(row_max[0], 1.75, 1e-15);
  EXPECT_NEAR(row_sum[0], 1 + std::exp(-2.75), 1e-15);
  EXPECT_NEAR(row_max[2], std::log(2), 1e-15);
  EXPECT_NEAR(row_sum[2], 1 + (std::exp(-0.125) + std::exp(0.5)) / 2, 1e-15);
}

TEST_F(reference_attention, adds_vectors_of_edges_before_gatv2s_leaky_relu) {
  const Values src2{0, 1, 1, -1, 2, 0}, dst2{1, -2, 0, 0, -1, 1}, attn{1, 2};
  const Values terms{0, 0, -7, 3, 0, 0, 1, 1, 4, -1};
  AttentionArgs args = arguments(Score::gatv2);
  args.score_width = 2;
  args.src = vectors(src2, 2);
  args.dst = vectors(dst2, 2);
  args.edge = vectors(terms, 2);
  args.attn = {attn.data(), Dtype::f64, 0, 2, 1};
  reference::attention_forward(args);
  // Row 0: u0 by edge 3: (2, 0) scores 2; u2 by edge 1: (-4, 1) scores -1 + 2. Row 2: u1 by 0: 0, by 4: (4, -1) scores
  // 4 - 0.5; u0 by 2: -0.25 + 4.
  EXPECT_NEAR(row_max[0], 2, 1e-15);
  EXPECT_NEAR(row_sum[0], 1 + std::exp(-1.0), 1e-15);
  EXPECT_NEAR(row_max[2], 3.75, 1e-15);
  EXPECT_NEAR(row_sum[2], 1 + std::exp(-3.75) + std::exp(-0.25), 1e-15);

  const Values score_grad{1, 10, 100, 1000, 10000};
  Values edge_grad(10);
  AttentionTermArgs terms_args{args, scalars(score_grad), output(edge_grad, 2)};
  reference::attention_terms(terms_args);
  EXPECT_EQ(edge_grad, (Values{0.25, 0.5, 2.5, 20, 25, 200, 1000, 500, 10000, 5000}));
}

TEST_F(reference_attention, scores_dot_products_with_a_scale) {
  const Values src2{1, 1, 2, 0, 0, 3}, dst2{1, 2, 0, 0, 1, -1};
  AttentionArgs args = arguments(Score::dot);
  args.score_width = 2;
  args.scale = 0.5f;
  args.src = vectors(src2, 2);
  args.dst = vectors(dst2, 2);
  reference::attention_forward(args);
  // Row 0: 1.5 and 3; row 2: 1, 1, 0.
  EXPECT_NEAR(row_max[0], 3, 1e-15);
  EXPECT_NEAR(row_sum[0], 1 + std::exp(-1.5), 1e-15);
  EXPECT_NEAR(row_sum[2], 2 + std::exp(-1.0), 1e-15);
}

TEST_F(reference_attention, keeps_heads_apart) {
  // Head 1 has the scores of head 0 with the mask of every edge but id 3.
  const Values two_src{0, 0, std::log(2), std::log(2), -2, -2}, two_dst{1, 1, 0, 0, 0, 0};
  const Values bias{0, -infinity, 0, -infinity, 0, -infinity, 0, 0, 0, -infinity};
  AttentionArgs args = arguments(Score::gat);
  args.heads = 2;
  args.width = 1;
  args.value = heads(value, 2);
  args.src = heads(two_src, 2);
  args.dst = heads(two_dst, 2);
  args.bias = heads(bias, 2);
  Values max2(6), sum2(6);
  args.row_max = output(max2, 2);
  args.row_sum = output(sum2, 2);
  reference::attention_forward(args);
  const double a = 1 / (1 + std::exp(-1.25));
  expect_near(out, {a + 3 * (1 - a), 10, 0, 0, 1.8, 0});
}

TEST_F(reference_attention, edges_give_alpha_and_the_gradients_of_scores) {
  const Values grad{1, 0, 1, 1, 0, 0.1};
  AttentionArgs args = arguments(Score::gat);
  reference::attention_forward(args);
  Values alpha(5), score_grad(5), bias_grad(5);
  reference::attention_edges({args, vectors(grad, 2), output(alpha, 1), output(score_grad, 1), output(bias_grad, 1)});
  const double a = 1 / (1 + std::exp(-1.25)), b = 1 - a;
  expect_near(alpha, {0.4, b, 0.2, a, 0.4});
  // Row 0: grad . value is 1 for id 3, 3 for id 1, and grad . out is a + 3b. Row 2: 2, 2, 1 against 1.8.
  const Values of_score{0.08, b * 2 * a, -0.16, -a * 2 * b, 0.08};
  expect_near(bias_grad, of_score);
  // src + dst is -1 on id 1 and exactly 0 on id 2: both take the slope.
  expect_near(score_grad, {0.08, of_score[1] * slope, -0.16 * slope, of_score[3], 0.08});
}

TEST_F(reference_attention, edges_write_only_what_is_wanted) {
  AttentionArgs args = arguments(Score::gat);
  reference::attention_forward(args);
  Values alpha(5);
  reference::attention_edges({args, {}, output(alpha, 1), {}, {}});
  EXPECT_NEAR(alpha[0], 0.4, 1e-15);
}

TEST_F(reference_attention, edges_of_masked_rows_have_no_weight_and_no_gradient) {
  const Values bias(5, -infinity), grad(6, 1);
  AttentionArgs args = arguments(Score::gat);
  args.bias = scalars(bias);
  reference::attention_forward(args);
  Values alpha(5, -1), score_grad(5, -1), bias_grad(5, -1);
  reference::attention_edges({args, vectors(grad, 2), output(alpha, 1), output(score_grad, 1), output(bias_grad, 1)});
  EXPECT_EQ(alpha, Values(5, 0));
  EXPECT_EQ(score_grad, Values(5, 0));
  EXPECT_EQ(bias_grad, Values(5, 0));
}

}  // namespace
}  // namespace weft::test
