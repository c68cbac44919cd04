#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "battery/sweep.hpp"
#include "support/attention_case.hpp"

namespace weft::test {
namespace {

class softmax_battery : public ::testing::TestWithParam<Dtype> {};

TEST_P(softmax_battery, forward_and_backward_agree_with_the_reference_on_every_graph) {
  const Dtype dtype = GetParam();
  std::vector<Way> ways = ways_to_run();
  std::uint64_t seed = 300;
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const std::int64_t heads : {0, 1, 2, 4, 8}) {  // 0: scores [E]
      for (Way& way : ways) {
        const Shape shape = heads == 0 ? Shape(battery.graph.num_edges()) : Shape(battery.graph.num_edges(), heads, 1);
        const Tensor scores = random_tensor(shape, dtype, ++seed);
        const std::string context =
            fmt::format("{} {} scores {} {} seed={}", battery.name, name(dtype), to_string(shape), way.name, seed);
        const Plan plan = planned(way, battery.graph, {OpKind::softmax, dtype, shape.heads, 1, Reduce::sum, true});
        Tensor alpha = constant(shape, dtype, std::nan(""));
        edge_softmax(way.context, plan, battery.graph, scores, alpha);
        expect_within_bound(alpha, expected_softmax(battery.graph, scores), context);

        const Tensor grad = random_tensor(shape, dtype, seed + 1);
        const Tensor backward = edge_softmax_backward(way.context, battery.graph, alpha, grad);
        EXPECT_EQ(backward.dtype(), dtype);
        expect_within_bound(backward, expected_softmax_backward(battery.graph, alpha, grad), context + " backward");
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(softmax_battery, stays_exact_enough_for_scores_far_apart) {
  const Dtype dtype = GetParam();
  Context context = Context::cpu(2);
  for (const BatteryGraph& battery : battery_graphs()) {
    const Tensor scores = random_tensor(Shape(battery.graph.num_edges()), dtype, 7, -60, 60);
    Expected expected = expected_softmax(battery.graph, scores);
    // The argument score - max is rounded once: up to 120 * 2^-24 in the exponent, as a factor on the weight.
    expected.more += 120;
    // Weights below float32's normal range may be flushed to 0.
    for (double& magnitude : expected.absolute) magnitude += dtype == Dtype::f64 ? 0 : 0x1p-126 / 0x1p-23;
    expect_within_bound(edge_softmax(context, battery.graph, scores), expected, battery.name);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(storage, softmax_battery, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

AttentionCase inputs_of(const Graph& graph, Score score, Dtype dtype, std::int64_t heads, std::int64_t width,
                        std::int64_t depth, bool biased, std::uint64_t seed) {
  return {graph, score, dtype, heads, width, depth, biased ? std::optional(dtype) : std::nullopt, seed};
}

class attention_battery : public ::testing::TestWithParam<Dtype> {};

TEST_P(attention_battery, agrees_with_the_reference_on_every_graph_score_width_and_head_count) {
  const Dtype dtype = GetParam();
  std::vector<Way> ways = ways_to_run();
  Sweep sweep(2048);
  std::set<std::tuple<Score, std::int64_t, bool>> seen;
  std::set<std::pair<Score, std::int64_t>> seen_with_edges;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    for (const Score score : score_kinds) {
      for (const std::int64_t width : battery_widths) {
        for (const std::int64_t heads : {1, 2, 4}) {
          for (const bool biased : {false, true}) {
            if (heads > 1 && width > 128) continue;
            if (!sweep.next((graph.num_edges() + graph.num_rows()) * width * heads * 2)) continue;
            Way& way = way_for(ways, sweep.seed());
            const std::int64_t depth = battery_widths[sweep.seed() % 14];
            AttentionCase inputs = inputs_of(graph, score, dtype, heads, width, depth, biased, sweep.seed());
            const bool with_edges = score != Score::dot && sweep.seed() % 3 == 0;
            if (with_edges) inputs.add_edges(graph.num_edges(), sweep.seed() + 8);
            const AttentionExpected expected = expected_attention(graph, inputs.views(), inputs.largest_score);
            const std::string context = fmt::format(
                "{} {} {} heads {} width {} score width {}{}{} {} seed={}", battery.name, name(dtype), name(score),
                heads, width, depth, biased ? " biased" : "", with_edges ? " with edges" : "", way.name, sweep.seed());
            const Plan plan = planned(way, graph, {OpKind::attention, dtype, heads, width, Reduce::sum, true});
            const Dtype statistics = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
            const Shape by_head(graph.num_rows(), heads, 1);
            Tensor out = constant(expected.out.shape, dtype, std::nan(""));
            Tensor row_max = constant(by_head, statistics, std::nan(""));
            Tensor row_sum = constant(by_head, statistics, std::nan(""));
            attention(way.context, plan, graph, inputs.views(), out, row_max, row_sum);
            expect_within_bound(out, expected.out, context);
            const double tolerance =
                (dtype == Dtype::f64 ? 0x1p-52 : 0x1p-23) * 2 * (error_factor(graph.num_edges()) + expected.out.more);
            expect_near(row_max, expected.row_max, tolerance, context + " row_max");
            expect_near(row_sum, expected.row_sum, tolerance, context + " row_sum");
            if (HasFailure()) return;
            seen.insert({score, width, biased});
            if (with_edges) seen_with_edges.insert({score, width});
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size(score_kinds) * std::size(battery_widths) * 2);
  EXPECT_EQ(seen_with_edges.size(), 2 * std::size(battery_widths));
}

TEST_P(attention_battery, short_form_and_weights_agree_with_the_reference) {
  const Dtype dtype = GetParam();
  Context context = Context::cpu(2);
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    for (const Score score : score_kinds) {
      const AttentionCase inputs = inputs_of(graph, score, dtype, 2, 6, 5, true, 41);
      const AttentionExpected expected = expected_attention(graph, inputs.views(), inputs.largest_score);
      const AttentionResult result = attention(context, graph, inputs.views());
      const std::string text = fmt::format("{} {} {}", battery.name, name(dtype), name(score));
      EXPECT_EQ(result.out.dtype(), dtype) << text;
      expect_within_bound(result.out, expected.out, text);

      const Tensor weights = attention_weights(context, graph, inputs.views(), result);
      Expected alpha;
      alpha.shape = Shape(graph.num_edges(), 2, 1);
      AttentionEdgeArgs args;
      args.forward = attention_args(graph, inputs.views());
      std::vector<double> row_max = expected.row_max, row_sum = expected.row_sum;
      args.forward.row_max = {row_max.data(), Dtype::f64, 2};
      args.forward.row_sum = {row_sum.data(), Dtype::f64, 2};
      args.alpha = result_in(alpha.y, alpha.shape);
      reference::attention_edges(args);
      alpha.absolute = alpha.y;
      alpha.terms.assign(static_cast<std::size_t>(graph.num_edges()), graph.num_edges());
      alpha.more = expected.out.more;
      expect_within_bound(weights, alpha, text + " weights");
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(storage, attention_battery, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace weft::test
