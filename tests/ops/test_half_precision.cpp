#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/oracle.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t million = std::int64_t{1} << 20;

const Graph& hub_of_a_million() {
  static const Graph graph = hub_graph(million);
  return graph;
}

Tensor reduced(const Graph& graph, ConstTensorView x, Reduce reduce, ConstTensorView edge = {}) {
  Context context = Context::cpu(2);
  SpmmOptions options;
  options.op = edge ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  options.reduce = reduce;
  return spmm(context, graph, x, edge, options);
}

TEST(half_precision, the_mean_over_a_million_neighbours_of_60000_is_60000) {
  const Tensor x = constant(Shape(million, 2), Dtype::f16, 60000);
  expect_values(reduced(hub_of_a_million(), x, Reduce::mean), {0, 0, 60000, 60000, 0, 0});
}

TEST(half_precision, the_mean_over_a_million_ones_is_one_in_every_type) {
  for (const Dtype dtype : floating_dtypes)
    expect_values(reduced(hub_of_a_million(), constant(Shape(million), dtype, 1), Reduce::mean), {0, 1, 0},
                  std::string(name(dtype)));
}

TEST(half_precision, a_sum_past_the_largest_half_is_infinite_and_exact_where_it_fits) {
  expect_values(reduced(hub_of_a_million(), constant(Shape(million), Dtype::f16, 1), Reduce::sum), {0, infinity, 0});
  expect_values(reduced(hub_of_a_million(), constant(Shape(million), Dtype::f16, -1), Reduce::sum), {0, -infinity, 0});
  for (const Dtype dtype : {Dtype::bf16, Dtype::f32, Dtype::f64})
    expect_values(reduced(hub_of_a_million(), constant(Shape(million), dtype, 1), Reduce::sum),
                  {0, static_cast<double>(million), 0}, std::string(name(dtype)));
}

TEST(half_precision, partial_sums_may_pass_the_largest_half) {
  // 60000 up to the middle, then -60000: every partial sum is far outside f16, the whole is 0.
  std::vector<float> values(static_cast<std::size_t>(million), 60000.0f);
  std::fill(values.begin() + million / 2, values.end(), -60000.0f);
  const Tensor x = Tensor::from(std::span<const float>(values), Shape(million), Dtype::f16);
  expect_values(reduced(hub_of_a_million(), x, Reduce::sum), {0, 0, 0});
}

TEST(half_precision, the_row_scale_applies_before_the_one_rounding) {
  const Tensor x = constant(Shape(million), Dtype::f16, 60000);
  const Tensor scale = constant(Shape(3), Dtype::f32, 1.0 / static_cast<double>(million));
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  options.epilogue.row_scale = scale;
  Context context = Context::cpu(2);
  expect_values(spmm(context, hub_of_a_million(), x, {}, options), {0, 60000, 0});
}

TEST(half_precision, equal_inputs_of_a_tenth_stay_within_the_bound) {
  const Graph graph = hub_graph(100'000);
  for (const Dtype dtype : floating_dtypes) {
    for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
      const Tensor x = constant(Shape(100'000, 3), dtype, 0.1), edge = constant(Shape(100'000), dtype, 0.1);
      SpmmOptions options;
      options.reduce = reduce;
      const std::string text = fmt::format("{} {}", name(dtype), name(reduce));
      expect_within_bound(reduced(graph, x, reduce, edge), expected_spmm(graph, x, edge, options), text);
      options.op = SpmmOp::copy_u;
      expect_within_bound(reduced(graph, x, reduce), expected_spmm(graph, x, {}, options), text + " without edges");
    }
  }
}

TEST(half_precision, sums_that_cancel_stay_within_the_bound) {
  const Graph graph = hub_graph(100'000);
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (i % 2 == 0 ? 1 : -1) * (1.0 + 1e-3 * double(i % 7));
  for (const Dtype dtype : floating_dtypes) {
    const Tensor x = Tensor::from(std::span<const double>(values), Shape(100'000), dtype);
    SpmmOptions options;
    options.op = SpmmOp::copy_u;
    expect_within_bound(reduced(graph, x, Reduce::sum), expected_spmm(graph, x, {}, options), std::string(name(dtype)));
  }
}

TEST(half_precision, subnormal_halves_are_kept) {
  const Graph graph = hub_graph(3);
  const Tensor x = constant(Shape(3), Dtype::f16, 0x1p-24);  // the smallest half
  expect_values(reduced(graph, x, Reduce::sum), {0, 3 * 0x1p-24, 0});
  expect_values(reduced(graph, x, Reduce::mean), {0, 0x1p-24, 0});
}

TEST(half_precision, dot_products_are_summed_in_float32) {
  const Graph graph = hub_graph(4);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const Tensor lhs = constant(Shape(4, 4096), dtype, 16), rhs = constant(Shape(3, 4096), dtype, 0.5);
    Context context = Context::cpu(1);
    expect_values(sddmm(context, graph, lhs, rhs), std::vector<double>(4, 32768), std::string(name(dtype)));
  }
}

TEST(half_precision, attention_over_a_million_equal_scores_averages) {
  Context context = Context::cpu(2);
  const Tensor value = constant(Shape(million, 1, 1), Dtype::f16, 60000);
  const Tensor src = constant(Shape(million, 1, 1), Dtype::f16, 3), dst = constant(Shape(3, 1, 1), Dtype::f16, 5);
  AttentionInputs inputs;
  inputs.value = value;
  inputs.src = src;
  inputs.dst = dst;
  const AttentionResult result = attention(context, hub_of_a_million(), inputs);
  expect_values(result.out, {0, 60000, 0});
  EXPECT_EQ(doubles(result.row_sum)[1], static_cast<double>(million));
}

TEST(half_precision, gradients_of_a_million_neighbours_are_summed_in_float32) {
  // Each source has one edge; the hub's gradient of 1 reaches every one of them divided by the degree.
  Context context = Context::cpu(2);
  const Tensor x = constant(Shape(million), Dtype::bf16, 1);
  const Tensor out_grad = constant(Shape(3), Dtype::bf16, 1);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  options.reduce = Reduce::mean;
  const SpmmGradients gradients = spmm_backward(context, hub_of_a_million(), x, {}, out_grad, options);
  expect_values(gradients.x, std::vector<double>(static_cast<std::size_t>(million), 0x1p-20));
}

}  // namespace
}  // namespace weft::test
