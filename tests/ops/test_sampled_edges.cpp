// Operators over sampled edges: what they compute, to the bit, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "support/attention_case.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr EdgeSampling methods[] = {EdgeSampling::bucket, EdgeSampling::fastrand, EdgeSampling::strata,
                                    EdgeSampling::fresh};

SpmmOptions with_sample(EdgeSample sample, SpmmOp op = SpmmOp::u_mul_e, Reduce reduce = Reduce::sum) {
  SpmmOptions options;
  options.op = op;
  options.reduce = reduce;
  options.sample = sample;
  return options;
}

void expect_text(std::string_view text, const std::function<void()>& call) {
  EXPECT_NE(refusal_of(call).find(text), std::string::npos) << "expected '" << text << "' in: " << refusal_of(call);
}

TEST(sampled_spmm, adds_own_rows_of_x_whole) {
  Context context = Context::cpu(1);
  // Rows of 3, 0 and 1 edges.
  const Graph graph = Graph::from_csr(3, 3, std::vector<EdgeId>{0, 3, 3, 4}, std::vector<NodeId>{0, 1, 2, 1});
  const Tensor x = tensor_of(Shape(3), {1, 10, 100}), own = tensor_of(Shape(3), {1000, 2000, 3000});
  EdgeSample sample{EdgeSampling::bucket, 2};
  SpmmOptions options = with_sample(sample, SpmmOp::copy_u);
  options.epilogue.self_scale = own;
  expect_values(spmm(context, graph, x, {}, options), {1011, 20000, 300010});
  options.sample->norm = SampleNorm::scaled;
  expect_values(spmm(context, graph, x, {}, options), {1016.5, 20000, 300010});
}

TEST(sampled_spmm, sums_the_first_edges_of_a_row_by_bucket) {
  Context context = Context::cpu(1);
  // Rows of 3 and 1 edges.
  const Graph graph = Graph::from_csr(2, 3, std::vector<EdgeId>{0, 3, 4}, std::vector<NodeId>{0, 1, 2, 1});
  const Tensor x = tensor_of(Shape(3), {1, 10, 100});
  const Tensor edge = tensor_of(Shape(4), {2, 3, 5, 7});
  EdgeSample sample{EdgeSampling::bucket, 2};
  expect_values(spmm(context, graph, x, edge, with_sample(sample)), {32, 70});
  expect_values(spmm(context, graph, x, edge, with_sample(sample, SpmmOp::u_mul_e, Reduce::mean)), {16, 70});
  sample.norm = SampleNorm::scaled;
  expect_values(spmm(context, graph, x, edge, with_sample(sample)), {48, 70});
  expect_values(spmm(context, graph, x, edge, with_sample(sample, SpmmOp::u_mul_e, Reduce::mean)), {16, 70});
}

TEST(sampled_spmm, has_the_bits_of_the_same_edges_written_out) {
  const Graph graph = battery::power_law_graph();
  std::uint64_t seed = 70;
  for (const int threads : {1, 2, 3}) {
    Context context = Context::cpu(threads);
    for (const EdgeSampling method : methods)
      for (const std::int64_t width : {1, 8, 33}) {
        const EdgeSample sample{method, width, 5, 2};
        const Derived kept = sample_edges(graph, sample);
        for (const std::int64_t features : {1, 7, 64})
          for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
            const Tensor x = random_tensor(Shape(graph.num_cols(), features), Dtype::f32, ++seed);
            const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, ++seed);
            SpmmOptions all;
            all.reduce = reduce;
            EXPECT_TRUE(bitwise_equal(spmm(context, graph, x, edge, with_sample(sample, SpmmOp::u_mul_e, reduce)),
                                      spmm(context, kept.graph, x, carry_values(kept.origin, edge), all)))
                << name(method) << " of " << width << ", " << features << " features, " << name(reduce);
          }
      }
  }
}

TEST(sampled_spmm, has_the_bits_of_all_edges_where_no_row_is_longer_than_the_sample) {
  Context context = Context::cpu(2);
  const Graph graph = battery::power_law_graph();
  const Tensor x = random_tensor(Shape(graph.num_cols(), 33), Dtype::f32, 1);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 2);
  const std::vector<std::int64_t> degrees = degrees_of(graph);
  const std::int64_t longest = *std::max_element(degrees.begin(), degrees.end());
  for (const EdgeSampling method : methods)
    for (const std::int64_t width : {longest, longest + 1, std::int64_t{1} << 40})
      EXPECT_TRUE(
          bitwise_equal(spmm(context, graph, x, edge, with_sample({method, width})), spmm(context, graph, x, edge)))
          << name(method) << " of " << width;
}

TEST(sampled_spmm, of_fresh_takes_other_edges_in_another_step_and_the_same_in_the_same) {
  Context context = Context::cpu(2);
  const Graph graph = hub_graph(300);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 8), Dtype::f32, 1);
  const auto sum = [&](std::int64_t step) {
    return spmm(context, graph, x, {}, with_sample({EdgeSampling::fresh, 16, 9, step}, SpmmOp::copy_u));
  };
  EXPECT_TRUE(bitwise_equal(sum(3), sum(3)));
  EXPECT_FALSE(bitwise_equal(sum(3), sum(4)));
}

TEST(sampled_spmm, of_a_plan_runs_every_sample_of_its_width_and_no_other) {
  Context context = Context::cpu(2);
  const Graph graph = battery::power_law_graph();
  OpDesc desc{OpKind::spmm, Dtype::f32, 1, 8, Reduce::sum, false};
  desc.sample_width = 16;
  const Plan plan = make_plan(context, graph, desc);
  context.reserve(plan.workspace_bytes);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 8), Dtype::f32, 1);
  Tensor out = Tensor::zeros(Shape(graph.num_rows(), 8), Dtype::f32, "out");
  for (const EdgeSampling method : methods) {
    spmm(context, plan, graph, x, {}, out, with_sample({method, 16}, SpmmOp::copy_u));
    EXPECT_TRUE(bitwise_equal(out, spmm(context, graph, x, {}, with_sample({method, 16}, SpmmOp::copy_u))));
  }
  SpmmOptions all;
  all.op = SpmmOp::copy_u;
  expect_text("plan is of at most 16 edges per row, but spmm of all was called",
              [&] { spmm(context, plan, graph, x, {}, out, all); });
  expect_text("plan is of at most 16 edges per row, but spmm of at most 8 was called", [&] {
    spmm(context, plan, graph, x, {}, out, with_sample({EdgeSampling::bucket, 8}, SpmmOp::copy_u));
  });
}

TEST(sampled_attention, has_the_bits_of_the_same_edges_written_out) {
  const Graph graph = battery::power_law_graph();
  for (const int threads : {1, 3}) {
    Context context = Context::cpu(threads);
    for (const Score score : {Score::gat, Score::gatv2, Score::dot})
      for (const EdgeSampling method : methods) {
        const EdgeSample sample{method, 8, 5, 2};
        const Derived kept = sample_edges(graph, sample);
        const AttentionCase inputs(graph, score, Dtype::f32, 2, 16, 4, Dtype::f32, 12);
        AttentionInputs sampled = inputs.views(), written = inputs.views();
        sampled.sample = sample;
        const Tensor bias = carry_values(kept.origin, inputs.bias);
        written.bias = bias;
        const AttentionResult a = attention(context, graph, sampled), b = attention(context, kept.graph, written);
        EXPECT_TRUE(bitwise_equal(a.out, b.out)) << name(score) << " " << name(method);
        EXPECT_TRUE(bitwise_equal(a.row_max, b.row_max)) << name(score) << " " << name(method);
        EXPECT_TRUE(bitwise_equal(a.row_sum, b.row_sum)) << name(score) << " " << name(method);
      }
  }
}

TEST(sampled_operators, refuse_samples_that_are_none_and_operators_that_take_none) {
  Context context = Context::cpu(1);
  const Graph graph = tangled_graph();
  const Tensor x = random_tensor(Shape(graph.num_cols(), 4), Dtype::f32, 1);
  const Tensor out = random_tensor(Shape(graph.num_rows(), 4), Dtype::f32, 1);
  for (const std::int64_t width : {0, -3})
    expect_text("sample width is", [&] {
      spmm(context, graph, x, {}, with_sample({EdgeSampling::bucket, width}, SpmmOp::copy_u));
    });
  expect_text("sample method is", [&] {
    spmm(context, graph, x, {}, with_sample({static_cast<EdgeSampling>(9), 4}, SpmmOp::copy_u));
  });
  expect_text("sample is given, but spmm_backward takes all edges of its graph", [&] {
    spmm_backward(context, graph, x, {}, out, with_sample({EdgeSampling::bucket, 4}, SpmmOp::copy_u));
  });
  const AttentionCase inputs(graph, Score::gat, Dtype::f32, 1, 4, 1, std::nullopt, 3);
  AttentionInputs views = inputs.views();
  const AttentionResult result = attention(context, graph, views);
  views.sample = EdgeSample{EdgeSampling::bucket, 4};
  expect_text("sample is given, but attention_backward takes all edges of its graph",
              [&] { attention_backward(context, graph, views, result, result.out); });
  expect_text("sample is given, but attention_weights takes all edges of its graph",
              [&] { attention_weights(context, graph, views, result); });
  OpDesc desc{OpKind::sddmm, Dtype::f32, 1, 4, Reduce::sum, false};
  desc.sample_width = 4;
  expect_text("sddmm does not sample edges", [&] { make_plan(context, graph, desc); });
  desc.kind = OpKind::spmm;
  desc.sample_width = -1;
  expect_text("sample_width is -1", [&] { make_plan(context, graph, desc); });
}

}  // namespace
}  // namespace weft::test
