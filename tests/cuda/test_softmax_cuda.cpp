// Edge softmax on a GPU, forward and backward, against the float64 reference.
#include <array>
#include <cmath>
#include <limits>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class cuda_softmax : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_softmax, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

Shape scores_of(const Graph& graph, std::int64_t heads) {  // 0: scores [E]
  return heads == 0 ? Shape(graph.num_edges()) : Shape(graph.num_edges(), heads, 1);
}

/// Weights of `scores` by the plan of a policy, into an output of NaN.
Tensor softmax_on_gpu(Context& context, const Graph& there, const Tensor& scores, std::string_view policy) {
  if (!there.is_square() || there.num_edges() == 0) policy = "";  // clusters are of square graphs
  const Plan plan =
      make_plan(context, there, {OpKind::softmax, scores.dtype(), scores.shape().heads, 1, Reduce::sum, true},
                parse_policy(policy));
  context.reserve(plan.workspace_bytes);
  Tensor out = constant(scores.shape(), scores.dtype(), nan).to(gpu);
  edge_softmax(context, plan, there, scores.to(gpu), out);
  return out.to(Device{});
}

// Few edges per task cut most rows; rows of several thousand edges are cut by the planner's own.
constexpr const char* policies[] = {"", "edges=32", "edges=96,order=columns", "edges=64,order=clusters"};

TEST_P(cuda_softmax, agrees_with_the_reference_on_every_graph_and_number_of_heads) {
  Context context = Context::cuda();
  std::uint64_t seed = 700;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const std::int64_t heads : {0, 1, 2, 3, 4, 6, 8}) {
      const Tensor scores = random_tensor(scores_of(battery.graph, heads), GetParam(), ++seed);
      const Expected expected = expected_softmax(battery.graph, scores);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} heads {} policy '{}' seed {}", battery.name, heads, policy, seed);
        const Tensor alpha = softmax_on_gpu(context, there, scores, policy);
        expect_within_bound(alpha, expected, where);
        EXPECT_TRUE(bitwise_equal(softmax_on_gpu(context, there, scores, policy), alpha)) << where;
        if (HasFailure()) return;
      }
      const Tensor alpha = softmax_on_gpu(context, there, scores, "");
      const Tensor grad = random_tensor(scores.shape(), GetParam(), ++seed);
      const Tensor back = edge_softmax_backward(context, there, alpha.to(gpu), grad.to(gpu)).to(Device{});
      expect_within_bound(back, expected_softmax_backward(battery.graph, alpha, grad),
                          fmt::format("{} heads {} backward seed {}", battery.name, heads, seed));
      if (HasFailure()) return;
    }
  }
}

TEST_P(cuda_softmax, stays_exact_enough_for_scores_far_apart) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    const Tensor scores = random_tensor(Shape(battery.graph.num_edges()), GetParam(), 7, -60, 60);
    Expected expected = expected_softmax(battery.graph, scores);
    // The argument score - max is rounded once; weights below float32's normal range may be flushed to 0.
    expected.more += 120;
    for (double& magnitude : expected.absolute) magnitude += GetParam() == Dtype::f64 ? 0 : 0x1p-126 / 0x1p-23;
    for (const char* policy : policies)
      expect_within_bound(softmax_on_gpu(context, battery.graph.to(gpu), scores, policy), expected, battery.name);
    if (HasFailure()) return;
  }
}

TEST_P(cuda_softmax, masked_edges_weigh_nothing_and_infinite_scores_make_their_row_nan) {
  Context context = Context::cuda();
  const Graph graph = Graph::from_csr(6, 1, std::vector<EdgeId>{0, 3, 5, 5, 7, 9, 10}, std::vector<NodeId>(10, 0));
  const Tensor scores =
      tensor_of(Shape(10), {0, -inf, 0, /**/ -inf, -inf, /**/ 1, inf, /**/ nan, 1, /**/ -3}, GetParam());
  for (const char* policy : {"", "edges=32", "schedule=rows"})
    expect_values(softmax_on_gpu(context, graph.to(gpu), scores, policy),
                  {0.5, 0, 0.5, /**/ 0, 0, /**/ nan, nan, /**/ nan, nan, /**/ 1});
}

TEST_P(cuda_softmax, what_a_middle_task_alone_has_seen_counts_for_the_whole_row) {
  Context context = Context::cuda();
  // One row of 300 edges over ten tasks of 32.
  const Graph there = Graph::from_csr(1, 1, std::vector<EdgeId>{0, 300}, std::vector<NodeId>(300, 0)).to(gpu);
  for (const std::int64_t heads : {1, 2, 4}) {
    const auto weights = [&](double usual, double odd) {
      std::vector<double> values(static_cast<std::size_t>(300 * heads), usual);
      for (std::int64_t h = 0; h < heads; ++h) values[static_cast<std::size_t>(150 * heads + h)] = odd;
      const Tensor scores = Tensor::from(values, Shape(300, heads, 1), GetParam());
      return doubles(softmax_on_gpu(context, there, scores, "edges=32"));
    };
    for (const double made_nan : weights(1, nan)) ASSERT_TRUE(std::isnan(made_nan));
    for (const double made_nan : weights(1, inf)) ASSERT_TRUE(std::isnan(made_nan));
    const std::vector<double> alone = weights(-inf, 2), none = weights(-inf, -inf);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(alone[i], i / static_cast<std::size_t>(heads) == 150 ? 1 : 0) << i;
      ASSERT_EQ(none[i], 0) << i;
    }
  }
}

TEST_P(cuda_softmax, a_hub_of_a_million_equal_scores_shares_evenly) {
  Context context = Context::cuda();
  const Graph there = generate(StarSpec{(1 << 20) + 1}).to(gpu);
  // As large as the type holds: what is shifted by the maximum does not overflow.
  const Tensor scores = constant(Shape(there.num_edges()), GetParam(), largest_value(GetParam()) / 2).to(gpu);
  const std::vector<double> alpha = doubles(edge_softmax(context, there, scores).to(Device{}));
  for (const double weight : alpha) ASSERT_NEAR(weight, 0x1p-20, GetParam() == Dtype::f16 ? 0x1p-24 : 0x1p-27);
}

TEST_P(cuda_softmax, reads_and_writes_slices_of_wider_tensors_and_works_in_place) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  // Of rows eight wide, from the fourth on, packs of several heads are aligned.
  for (const auto& [heads, before, ld] :
       {std::array<std::int64_t, 3>{1, 3, 4}, {2, 3, 5}, {4, 3, 7}, {2, 4, 8}, {4, 4, 8}}) {
    const Tensor wide = random_tensor(Shape(graph.num_edges(), ld), GetParam(), 711);
    Tensor there_wide = wide.to(gpu);
    const auto slice = [&, heads = heads, before = before](auto view) {
      view = columns(view, before, heads);
      view.shape = Shape(graph.num_edges(), heads, 1);
      return view;
    };
    const Expected expected = expected_softmax(graph, slice(ConstTensorView(wide)));
    const Plan plan = make_plan(context, there, {OpKind::softmax, GetParam(), heads, 1, Reduce::sum, true});
    context.reserve(plan.workspace_bytes);
    edge_softmax(context, plan, there, slice(ConstTensorView(there_wide)), slice(there_wide.view()));
    const Tensor back = there_wide.to(Device{});
    expect_within_bound(slice(ConstTensorView(back)), expected, fmt::format("{} heads in place", heads));
    const std::vector<double> old = doubles(wide), after = doubles(back);
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::int64_t column = static_cast<std::int64_t>(i) % ld;
      if (column >= before && column < before + heads) continue;
      ASSERT_EQ(after[i], old[i]) << "beside the slice " << i;
    }
  }
}

TEST_P(cuda_softmax, refuses_to_join_tasks_and_tasks_too_long_for_the_bound) {
  const Context context = Context::cuda();
  const Graph there = battery::power_law_graph().to(gpu);
  for (const auto& [policy, named] : {std::pair{"join=yes", "join"}, {"edges=65536", "edges=65536"}})
    expect_refused(
        [&, text = policy] {
          make_plan(context, there, {OpKind::softmax, GetParam(), 1, 1, Reduce::sum, true}, parse_policy(text));
        },
        named);
}

}  // namespace
}  // namespace weft::test
