// Which calls are known to be what row windows have kernels for; a plan serves others all the same.
#include <gtest/gtest.h>

#include <limits>

#include "ops/attention_inputs.hpp"
#include "ops/sddmm_inputs.hpp"
#include "ops/spmm_inputs.hpp"
#include "support/compare.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

struct fits_windows : ::testing::Test {
  Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  std::int64_t rows = graph.num_rows(), cols = graph.num_cols(), edges = graph.num_edges();
};

TEST_F(fits_windows, sums_of_sources_times_one_value_in_their_type) {
  const Tensor x = random_tensor(Shape(cols, 8), Dtype::f16, 1),
               heads = random_tensor(Shape(cols, 2, 4), Dtype::f16, 2);
  const Tensor scale = random_tensor(Shape(cols), Dtype::f32, 3);
  const auto fits = [&](const Tensor& of, const Shape& shape, SpmmOptions options, Dtype edge = Dtype::f16) {
    const Tensor values = random_tensor(shape, edge, 4, 0.5, 2);
    return resolve(context, graph, of, values, options).desc.fits_windows;
  };
  EXPECT_TRUE(fits(x, Shape(edges), {}));
  EXPECT_TRUE(fits(x, Shape(edges), {.reduce = Reduce::mean}));
  EXPECT_FALSE(fits(x, Shape(edges), {.op = SpmmOp::u_add_e}));
  EXPECT_FALSE(fits(x, Shape(edges, 8), {})) << "a value for every feature";
  EXPECT_FALSE(fits(heads, Shape(edges, 2, 1), {})) << "a value for every head";
  EXPECT_FALSE(fits(x, Shape(edges), {}, Dtype::f32)) << "wider than x";
  SpmmOptions scaled;
  scaled.epilogue.col_scale = scale;
  EXPECT_FALSE(fits(x, Shape(edges), scaled));
}

TEST_F(fits_windows, dot_products_of_both_ends) {
  const Tensor u = random_tensor(Shape(cols, 8), Dtype::f16, 1), v = random_tensor(Shape(rows, 8), Dtype::f16, 2);
  const Tensor e = random_tensor(Shape(edges, 8), Dtype::f16, 3), one = random_tensor(Shape(rows, 1), Dtype::f16, 4);
  const auto fits = [&](const Tensor& lhs, const Tensor& rhs, const SddmmOptions& options) {
    return resolve(context, graph, lhs, rhs, options).desc.fits_windows;
  };
  EXPECT_TRUE(fits(u, v, {}));
  EXPECT_TRUE(fits(v, u, {SddmmOp::dot, Target::v, Target::u}));
  EXPECT_FALSE(fits(u, v, {SddmmOp::mul}));
  EXPECT_FALSE(fits(u, e, {SddmmOp::dot, Target::u, Target::e}));
  EXPECT_FALSE(fits(u, one, {})) << "spread over the features";
}

TEST_F(fits_windows, gat_without_bias_and_dropout) {
  const Tensor value = random_tensor(Shape(cols, 1, 8), Dtype::f16, 1),
               src = random_tensor(Shape(cols, 1, 1), Dtype::f16, 2);
  const Tensor dst = random_tensor(Shape(rows, 1, 1), Dtype::f16, 3),
               bias = random_tensor(Shape(edges, 1, 1), Dtype::f16, 4);
  AttentionInputs gat;
  gat.value = value;
  gat.src = src;
  gat.dst = dst;
  const auto fits = [&](const auto& change) {
    AttentionInputs in = gat;
    change(in);
    return resolve(context, graph, in).desc.fits_windows;
  };
  EXPECT_TRUE(fits([](AttentionInputs&) {}));
  EXPECT_FALSE(fits([](AttentionInputs& in) { in.dropout = 0.5f; }));
  EXPECT_FALSE(fits([](AttentionInputs& in) { in.slope = 1.5f; }));
  EXPECT_FALSE(fits([&](AttentionInputs& in) { in.bias = bias; }));
  EXPECT_FALSE(fits([](AttentionInputs& in) { in.score = Score::dot; })) << "products over one feature";
}

TEST_F(fits_windows, dot_product_attention_over_whole_packs_of_features) {
  const Tensor value = random_tensor(Shape(cols, 2, 8), Dtype::f16, 1);
  const auto fits = [&](std::int64_t depth, float scale, Score score = Score::dot) {
    const Tensor src = random_tensor(Shape(cols, 2, depth), Dtype::f16, 2),
                 dst = random_tensor(Shape(rows, 2, depth), Dtype::f16, 3),
                 attn = random_tensor(Shape(1, 2, depth), Dtype::f16, 4);
    AttentionInputs in;
    in.score = score;
    in.value = value;
    in.src = src;
    in.dst = dst;
    if (score == Score::gatv2) in.attn = attn;
    in.scale = scale;
    return resolve(context, graph, in).desc.fits_windows;
  };
  EXPECT_TRUE(fits(8, 0.5f));
  EXPECT_TRUE(fits(64, 1));
  EXPECT_FALSE(fits(12, 1));
  EXPECT_FALSE(fits(72, 1));
  EXPECT_FALSE(fits(8, 0));
  EXPECT_FALSE(fits(8, -1));
  EXPECT_FALSE(fits(8, std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(fits(8, 1, Score::gatv2));
}

TEST_F(fits_windows, says_nothing_of_which_calls_a_plan_serves) {
  const Tensor x = random_tensor(Shape(cols, 8), Dtype::f16, 1), values = random_tensor(Shape(edges), Dtype::f16, 2);
  const SpmmOptions product, addition{.op = SpmmOp::u_add_e};
  OpDesc desc{OpKind::spmm, Dtype::f16, 1, 8, Reduce::sum, true};
  std::vector<Tensor> results;
  for (const bool known : {false, true}) {
    desc.fits_windows = known;
    const Plan plan = make_plan(context, graph, desc);
    context.reserve(plan.workspace_bytes);
    for (const SpmmOptions& options : {product, addition}) {
      Tensor out = Tensor::empty(Shape(rows, 8), Dtype::f16);
      spmm(context, plan, graph, x, values, out, options);
      results.push_back(std::move(out));
    }
  }
  EXPECT_TRUE(bitwise_equal(results[0], results[2]));
  EXPECT_TRUE(bitwise_equal(results[1], results[3]));
}

}  // namespace
}  // namespace weft::test
