// Sums over neighbours that meet weights, in one kernel and in several: against plain loops in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "plan/tuning/fusion.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/linear_case.hpp"
#include "support/small_graphs.hpp"

namespace weft {
namespace {

using test::LinearCase;
using test::LinearTerms;

struct Widths {
  std::int64_t in, out;
};

TEST(spmm_linear, of_every_graph_and_term_is_that_of_plain_loops_fused_or_not) {
  Context context = Context::cpu(2);
  std::uint64_t seed = 1;
  for (const BatteryGraph& graph : battery_graphs()) {
    if (graph.graph.num_edges() > 20'000) continue;
    for (const LinearTerms& terms : test::linear_terms()) {
      const LinearCase c(graph.graph, Dtype::f32, 24, 17, terms, ++seed);
      const auto wanted = test::expected_linear(c);
      for (const bool fuse : {false, true})
        test::expect_linear(test::run_linear(context, c, fuse), wanted, c.dtype,
                            graph.name + describe(terms) + (fuse ? " fused" : "") + ", seed " + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(spmm_linear, of_every_storage_type_and_width_is_that_of_plain_loops) {
  Context context = Context::cpu(2);
  const Graph graph = test::skewed_graph(300, 1500, 3);
  std::uint64_t seed = 100;
  for (const Dtype dtype : test::floating_dtypes)
    for (const auto& [in, out] : {Widths{1, 1}, {3, 5}, {16, 16}, {33, 20}, {64, 64}, {300, 9}})
      for (const LinearTerms& terms : test::linear_terms()) {
        const LinearCase c(graph, dtype, in, out, terms, ++seed);
        const auto wanted = test::expected_linear(c);
        for (const bool fuse : {false, true})
          test::expect_linear(test::run_linear(context, c, fuse), wanted, dtype,
                              std::string(name(dtype)) + " " + std::to_string(in) + "x" + std::to_string(out) +
                                  describe(terms) + (fuse ? " fused" : "") + ", seed " + std::to_string(seed));
        if (HasFatalFailure()) return;
      }
}

TEST(spmm_linear, of_rows_of_every_length_is_that_of_plain_loops) {
  Context context = Context::cpu(2);
  const Graph graph = test::graph_of_every_longest_row(36);
  for (const LinearTerms& terms : test::linear_terms()) {
    const LinearCase c(graph, Dtype::f32, 24, 16, terms, 15);
    test::expect_linear(test::run_linear(context, c, true), test::expected_linear(c), c.dtype, describe(terms));
  }
}

TEST(spmm_linear, keeps_the_rows_that_spmm_stores_to_the_bit_and_multiplies_them_as_a_product_does) {
  const Graph graph = test::skewed_graph(500, 9000, 5);
  for (const Dtype dtype : test::floating_dtypes) {
    Context context = Context::cpu(2);
    const LinearCase c(graph, dtype, 40, 24, {.edges = true, .row_scale = true, .col_scale = true}, 7);
    const auto r = test::run_linear(context, c, true);
    SpmmOptions sums;
    sums.epilogue = c.options().rows;
    const Tensor rows = spmm(context, graph, c.x, c.edge, sums);
    EXPECT_TRUE(test::bitwise_equal(r.rows, rows)) << name(dtype);
    Tensor out = Tensor::zeros(r.out.shape(), dtype);
    MatrixProduct multiply(context);
    multiply(rows, c.weight, out);
    EXPECT_TRUE(test::bitwise_equal(r.out, out)) << name(dtype);
  }
}

TEST(spmm_linear, gives_the_same_bits_for_every_number_of_threads) {
  const Graph graph = test::skewed_graph(2000, 9000, 6);
  const LinearCase c(graph, Dtype::f32, 48, 32, {.edges = true, .self = true, .eps = true}, 8);
  Context one = Context::cpu(1);
  const auto first = test::run_linear(one, c, true);
  for (const int threads : {1, 2, 5}) {
    Context context = Context::cpu(threads);
    const auto r = test::run_linear(context, c, true);
    EXPECT_TRUE(test::bitwise_equal(r.out, first.out)) << threads;
    EXPECT_TRUE(test::bitwise_equal(r.x_grad, first.x_grad)) << threads;
    EXPECT_TRUE(test::bitwise_equal(r.weight_grad, first.weight_grad)) << threads;
  }
}

TEST(spmm_linear, has_the_gradients_that_differences_of_its_results_have) {
  Context context = Context::cpu(2);
  const Graph graph = test::tangled_graph();
  LinearCase c(graph, Dtype::f64, 3, 4,
               {.edges = true, .mean = true, .row_scale = true, .col_scale = true, .self = true, .eps = true}, 9);
  const auto r = test::run_linear(context, c, true);
  const auto loss = [&] {
    const Tensor out = spmm_linear(context, graph, c.x, c.edge, c.weight, c.options(), Reduce::mean);
    double sum = 0;
    for (std::size_t i = 0; i < out.span<double>().size(); ++i)
      sum += out.span<double>()[i] * c.out_grad.span<double>()[i];
    return sum;
  };
  const auto check = [&](Tensor& of, const Tensor& grad, const char* what) {
    for (std::size_t i = 0; i < of.span<double>().size(); ++i) {
      const double before = of.span<double>()[i], step = 0.5;  // the result is linear in each
      of.span<double>()[i] = before + step;
      const double above = loss();
      of.span<double>()[i] = before - step;
      const double below = loss();
      of.span<double>()[i] = before;
      EXPECT_NEAR(grad.span<double>()[i], (above - below) / (2 * step), 1e-11) << what << " " << i;
    }
  };
  check(c.x, r.x_grad, "x");
  check(c.weight, r.weight_grad, "weight");
}

TEST(spmm_linear, gives_the_gradient_of_weights_alone) {
  Context context = Context::cpu(1);
  const LinearCase c(test::random_graph(50, 60, 200, 4), Dtype::f32, 18, 20, {}, 10);
  SpmmLinear layer(context, c.graph, c.desc(true, true));
  Tensor grad = Tensor::zeros(c.weight.shape(), Dtype::f32);
  layer.backward(c.x, {}, c.weight, c.out_grad, {{}, grad});
  test::expect_linear(grad, test::expected_linear(c).weight_grad, Dtype::f32, "weights alone");
}

TEST(spmm_linear, saturates_rows_and_results_past_the_range_of_f16_where_asked) {
  Context context = Context::cpu(1);
  const std::vector<NodeId> sources{0, 1}, destinations{0, 0};
  const Graph graph = Graph::from_edges(2, {sources, destinations});
  const Tensor x = Tensor::from(std::vector<float>{60000, 60000}, Shape(2, 1), Dtype::f16),
               weight = Tensor::from(std::vector<float>{2}, Shape(1, 1), Dtype::f16);
  for (const bool fuse : {false, true}) {
    SpmmLinear layer(context, graph, {Dtype::f16, 1, 1, Reduce::sum, false, false, fuse});
    Tensor out = Tensor::zeros(Shape(2, 1), Dtype::f16), rows = Tensor::zeros(Shape(2, 1), Dtype::f16);
    SpmmLinearOptions options;
    options.kept = rows;
    layer(x, {}, weight, out, options);
    EXPECT_TRUE(std::isinf(static_cast<float>(rows.span<Half>()[0]))) << fuse;
    EXPECT_TRUE(std::isinf(static_cast<float>(out.span<Half>()[0]))) << fuse;
    options.rows.saturate = options.saturate = true;
    layer(x, {}, weight, out, options);
    EXPECT_EQ(static_cast<float>(rows.span<Half>()[0]), 65504) << fuse;
    EXPECT_EQ(static_cast<float>(out.span<Half>()[0]), 65504) << fuse;
    EXPECT_EQ(static_cast<float>(out.span<Half>()[1]), 0) << "a row without edges, " << fuse;
  }
}

TEST(spmm_linear, fuses_where_rows_are_short_and_wide_enough_and_does_as_it_is_told) {
  Context context = Context::cpu(1);
  const auto fused = [&](const Graph& graph, std::int64_t in, std::optional<bool> wish) {
    return SpmmLinear(context, graph, {Dtype::f32, in, 64, Reduce::sum, false, false, wish}).fused();
  };
  const Graph molecules = battery::molecule_graph(400), hub = test::hub_graph(5000);
  EXPECT_TRUE(fused(molecules, 64, {}));
  EXPECT_FALSE(fused(molecules, 4, {}));
  EXPECT_FALSE(fused(hub, 64, {}));
  EXPECT_FALSE(fused(molecules, 64, false));
  EXPECT_TRUE(fused(hub, 64, true));
}

TEST(spmm_linear, pays_on_a_gpu_where_it_was_measured_to) {
  // bench/records/h200/fused.json
  const tuning::FusionCase yeast{DeviceKind::cuda, 1'710'902, 3'636'546, 4, 64, 64};
  EXPECT_TRUE(tuning::fusion_pays(yeast));
  tuning::FusionCase other = yeast;
  other.in = other.out = 128;
  EXPECT_FALSE(tuning::fusion_pays(other));
  other = yeast;
  other.edges = 3 * yeast.rows;
  EXPECT_FALSE(tuning::fusion_pays(other)) << "tiles with more edges than slots";
  other = yeast;
  other.adds_self = true;
  EXPECT_TRUE(tuning::fusion_pays(other));
  other.edges = yeast.rows * 24 / 10;
  EXPECT_FALSE(tuning::fusion_pays(other)) << "slots are taken by the rows' own";
  other.adds_self = false;
  EXPECT_TRUE(tuning::fusion_pays(other));
  other = yeast;
  other.longest_row = 100;
  EXPECT_FALSE(tuning::fusion_pays(other));
  other = yeast;
  other.stored = true;
  EXPECT_FALSE(tuning::fusion_pays(other));
  other.scaled = true;
  EXPECT_FALSE(tuning::fusion_pays(other));
  other.scaled = false;
  other.in = 32;
  EXPECT_TRUE(tuning::fusion_pays(other));
  other.in = 64;
  other.dtype = Dtype::f16;
  EXPECT_TRUE(tuning::fusion_pays(other));
  other.in = 32;
  EXPECT_TRUE(tuning::fusion_pays(other));
  other.scaled = true;
  EXPECT_FALSE(tuning::fusion_pays(other));
}

TEST(spmm_linear, refuses_what_does_not_fit_in_one_line) {
  Context context = Context::cpu(1);
  const Graph graph = test::tangled_graph();  // 6 rows, 5 columns, 14 edges
  const LinearCase c(graph, Dtype::f32, 4, 3, {}, 11);
  const auto refused = [](const std::string& text, const std::function<void()>& call) {
    const std::string message = test::refusal_of(call);
    EXPECT_NE(message.find(text), message.npos) << "'" << message << "' does not say: " << text;
    EXPECT_EQ(message.find('\n'), message.npos);
  };
  Tensor out = Tensor::zeros(Shape(6, 3), Dtype::f32);
  for (const bool fuse : {false, true}) {
    SpmmLinear layer(context, graph, c.desc(fuse));
    const Tensor halves = c.x.to(Dtype::f16), edge = test::random_tensor(Shape(14), Dtype::f32, 1);
    refused("x is f16 [5, 4]: expected f32 [5, 4]", [&] { layer(halves, {}, c.weight, out); });
    refused("weight is f32 [5, 4]: expected f32 [4, 3]", [&] { layer(c.x, {}, c.x, out); });
    refused("out is f32 [5, 4]: expected f32 [6, 3]", [&] {
      Tensor wrong = c.x.clone();
      layer(c.x, {}, c.weight, wrong);
    });
    refused("edge is given: the desc says that edges have none", [&] { layer(c.x, edge, c.weight, out); });
    SpmmLinearOptions options;
    options.bias = c.x;
    refused("bias is f32 [5, 4]: expected f32 [3]", [&] { layer(c.x, {}, c.weight, out, options); });
    refused("expected a desc that says backward", [&] { layer.backward(c.x, {}, c.weight, c.out_grad, {{}, {}}); });
    SpmmLinear weighted(context, graph, {Dtype::f32, 4, 3, Reduce::sum, true, true, fuse});
    refused("edge is missing", [&] { weighted(c.x, {}, c.weight, out); });
    refused("edge is f32 [5, 4]: expected f32 [14]", [&] { weighted(c.x, c.x, c.weight, out); });
    options = {};
    options.rows.relu = true;
    refused("rows have a bias or relu", [&] { weighted.backward(c.x, edge, c.weight, c.out_grad, {{}, {}}, options); });
  }
  refused("reduce is max: expected sum or mean", [&] { SpmmLinear(context, graph, {Dtype::f32, 4, 3, Reduce::max}); });
  refused("weights are [0, 3]", [&] { SpmmLinear(context, graph, {Dtype::f32, 0, 3}); });
  refused("dtype is i32", [&] { SpmmLinear(context, graph, {Dtype::i32, 4, 3}); });
  refused("weight is missing", [&] { spmm_linear(context, graph, c.x, {}, {}); });
}

}  // namespace
}  // namespace weft
