// Attention on a GPU whose heads lie badly in the lanes of its groups: it runs with wider heads, in copies.
#include <cmath>

#include "battery/sweep.hpp"
#include "cuda/attention_on_gpu.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class cuda_wide_heads : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_wide_heads, ::testing::Values(Dtype::f32, Dtype::f16, Dtype::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

OpDesc of_gat(Dtype dtype, std::int64_t heads, std::int64_t width) {
  OpDesc desc{OpKind::attention, dtype, heads, width, Reduce::sum, true};
  desc.widens = true;
  return desc;
}

std::int64_t planned_width(const Graph& there, const OpDesc& desc, std::string_view policy = "") {
  return make_plan(Context::cuda(), there, desc, parse_policy(policy)).cuda().head_width;
}

TEST_P(cuda_wide_heads, are_planned_where_heads_lie_unevenly_and_edges_are_many) {
  const Graph many = battery::graph_with_duplicates().to(gpu), few = battery::grid_graph(24).to(gpu);
  const Dtype dtype = GetParam();
  EXPECT_EQ(planned_width(many, of_gat(dtype, 4, 40)), 64);
  EXPECT_EQ(planned_width(many, of_gat(dtype, 4, 47)), 64);
  EXPECT_EQ(planned_width(many, of_gat(dtype, 3, 10)), 16);
  for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{4, 16}, {8, 8}, {1, 47}, {1, 3}, {3, 300}})
    EXPECT_EQ(planned_width(many, of_gat(dtype, heads, width)), 0) << heads << " heads of " << width;
  EXPECT_EQ(planned_width(few, of_gat(dtype, 4, 40)), 0);
  EXPECT_EQ(planned_width(many, of_gat(dtype, 4, 40), "edges=16"), 0);
  EXPECT_EQ(planned_width(many, of_gat(Dtype::f64, 4, 40)), 0);
  OpDesc other = of_gat(dtype, 4, 40);
  other.widens = false;
  EXPECT_EQ(planned_width(many, other), 0);
  OpDesc sums = of_gat(dtype, 4, 40);
  sums.kind = OpKind::spmm;
  EXPECT_EQ(planned_width(many, sums), 0);
}

TEST_P(cuda_wide_heads, say_so_in_words) {
  const Graph there = battery::graph_with_duplicates().to(gpu);
  EXPECT_NE(to_string(make_plan(Context::cuda(), there, of_gat(GetParam(), 4, 40))).find("4x40 sum on cuda:0 as 4x64"),
            std::string::npos);
}

TEST_P(cuda_wide_heads, have_results_and_gradients_of_the_cpu_in_float64) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const double tolerance = GetParam() == Dtype::f32 ? 1e-3 : GetParam() == Dtype::f16 ? 2e-2 : 1.5e-1;
  std::uint64_t seed = 9100;
  for (const Graph& graph : {battery::graph_with_duplicates(), battery::power_law_graph().transpose()}) {
    const Graph there = graph.to(gpu);
    for (const auto& [heads, width] :
         {std::pair<std::int64_t, std::int64_t>{4, 40}, {4, 47}, {3, 10}, {8, 3}, {1, 47}}) {
      const std::string where = fmt::format("heads {} width {} seed {}", heads, width, seed + 10);
      AttentionCase inputs(graph, Score::gat, GetParam(), heads, width, 1, std::nullopt, seed += 10);
      inputs.dropout = heads == 3 ? 0.25f : 0.0f;
      inputs.seed = seed;
      const AttentionCase exact = inputs.to(Dtype::f64), moved = inputs.to(gpu);
      const Tensor grad = random_tensor(Shape(graph.num_rows(), heads, width), GetParam(), seed + 6);
      const AttentionResult wanted = attention(cpu, graph, exact.views());
      const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));

      const Plan forward = make_plan(context, there, of_gat(GetParam(), heads, width));
      const AttentionBackwardPlan backward = plan_attention_backward(context, there, moved.views());
      const bool whole_packs = width * static_cast<std::int64_t>(size_of(GetParam())) % 16 == 0;
      if (whole_packs && graph.num_edges() < 6 * graph.num_rows()) continue;  // a backward does not widen
      const bool widens = heads > 1;
      EXPECT_EQ(forward.cuda().head_width > 0, widens) << where;
      EXPECT_EQ(backward.head_width, forward.cuda().head_width) << where;
      EXPECT_TRUE(backward.at_once) << where;
      context.reserve(std::max(forward.workspace_bytes, backward.workspace_bytes));
      const auto room = [&](const Tensor& like, Dtype dtype) { return constant(like.shape(), dtype, 77).to(gpu); };
      for (const Dtype of_result : {GetParam(), Dtype::f32}) {  // halves may be read without their rounding
        AttentionResult result{room(wanted.out, of_result), room(wanted.row_max, Dtype::f32),
                               room(wanted.row_sum, Dtype::f32)};
        AttentionGradients g{
            room(inputs.value, GetParam()), room(inputs.src, GetParam()), room(inputs.dst, GetParam()), {}, {}, {}};
        const Tensor grad_there = grad.to(gpu);
        const std::size_t before = memory_stats(gpu).allocations;
        attention(context, forward, there, moved.views(), result.out, result.row_max, result.row_sum);
        attention_backward(context, backward, there, moved.views(), result, grad_there,
                           {g.value, g.src, g.dst, {}, {}, {}});
        EXPECT_EQ(memory_stats(gpu).allocations, before) << where;
        const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what) {
          const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
          ASSERT_EQ(got.size(), expected.size()) << what;
          for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])))
                << what << " " << where << " element " << i;
        };
        alike(result.out, wanted.out, "out");
        alike(g.value, by_cpu.value, "value");
        alike(g.src, by_cpu.src, "src");
        alike(g.dst, by_cpu.dst, "dst");
        if (HasFailure()) return;
        const AttentionGradients again = attention_backward(context, there, moved.views(), result, grad_there);
        EXPECT_TRUE(bitwise_equal(again.value.to(Device{}), g.value.to(Device{}))) << where;
        EXPECT_TRUE(bitwise_equal(again.src.to(Device{}), g.src.to(Device{}))) << where;
      }
    }
  }
}

TEST_P(cuda_wide_heads, take_exactly_the_planned_workspace) {
  const Graph graph = battery::graph_with_duplicates(), there = graph.to(gpu);
  const AttentionCase inputs = AttentionCase(graph, Score::gat, GetParam(), 4, 40, 1, std::nullopt, 9300).to(gpu);
  Context other = Context::cuda();
  const AttentionResult result = attention(other, there, inputs.views());
  const Tensor grad = random_tensor(Shape(graph.num_rows(), 4, 40), GetParam(), 9306).to(gpu);
  other.synchronise();
  const auto room = [](const Tensor& like) { return constant(like.shape(), like.dtype(), 77).to(gpu); };
  Tensor out = room(result.out.to(Device{})), top = room(result.row_max.to(Device{})),
         sum = room(result.row_sum.to(Device{}));
  Tensor value = room(inputs.value.to(Device{})), src = room(inputs.src.to(Device{})),
         dst = room(inputs.dst.to(Device{}));
  const auto check = [&](std::size_t bytes, const auto& run) {
    Context exact = Context::cuda(), small = Context::cuda();
    exact.reserve(bytes);
    EXPECT_EQ(exact.workspace_bytes(), bytes);
    run(exact);
    exact.synchronise();
    small.reserve(bytes - 1);
    expect_refused([&] { run(small); }, "workspace");
  };
  const Plan forward = make_plan(other, there, of_gat(GetParam(), 4, 40));
  ASSERT_EQ(forward.cuda().head_width, 64);
  check(forward.workspace_bytes,
        [&](Context& context) { attention(context, forward, there, inputs.views(), out, top, sum); });
  const AttentionBackwardPlan backward = plan_attention_backward(other, there, inputs.views());
  ASSERT_EQ(backward.head_width, 64);
  check(backward.workspace_bytes, [&](Context& context) {
    attention_backward(context, backward, there, inputs.views(), result, grad, {value, src, dst, {}, {}, {}});
  });
}

TEST_P(cuda_wide_heads, refuse_heads_of_another_width) {
  Context context = Context::cuda();
  const Graph graph = battery::graph_with_duplicates(), there = graph.to(gpu);
  const AttentionCase planned = AttentionCase(graph, Score::gat, GetParam(), 4, 40, 1, std::nullopt, 9500).to(gpu),
                      other = AttentionCase(graph, Score::gat, GetParam(), 4, 100, 1, std::nullopt, 9500).to(gpu);
  const AttentionResult result = attention(context, there, other.views());
  const Tensor grad = random_tensor(Shape(graph.num_rows(), 4, 100), GetParam(), 9506).to(gpu);
  const auto room = [](const Tensor& like) { return constant(like.shape(), like.dtype(), 77).to(gpu); };
  Tensor value = room(other.value.to(Device{})), src = room(other.src.to(Device{})), dst = room(other.dst.to(Device{})),
         out = room(result.out.to(Device{})), top = room(result.row_max.to(Device{})),
         sum = room(result.row_sum.to(Device{}));
  const Plan forward = make_plan(context, there, of_gat(GetParam(), 4, 40));
  const AttentionBackwardPlan backward = plan_attention_backward(context, there, planned.views());
  ASSERT_EQ(backward.head_width, 64);
  context.reserve(std::max(forward.workspace_bytes, backward.workspace_bytes));
  expect_refused([&] { attention(context, forward, there, other.views(), out, top, sum); }, "make a plan for it");
  expect_refused(
      [&] {
        attention_backward(context, backward, there, other.views(), result, grad, {value, src, dst, {}, {}, {}});
      },
      "plan is for heads of width 40");
}

TEST_P(cuda_wide_heads, refuse_scores_that_read_value) {
  Context context = Context::cuda();
  const Graph graph = battery::graph_with_duplicates(), there = graph.to(gpu);
  const AttentionCase of_dot = AttentionCase(graph, Score::dot, GetParam(), 4, 40, 40, std::nullopt, 9600).to(gpu);
  const AttentionResult result = attention(context, there, of_dot.views());
  const auto room = [](const Tensor& like) { return constant(like.shape(), like.dtype(), 77).to(gpu); };
  Tensor out = room(result.out.to(Device{})), top = room(result.row_max.to(Device{})),
         sum = room(result.row_sum.to(Device{}));
  const Plan forward = make_plan(context, there, of_gat(GetParam(), 4, 40));
  context.reserve(forward.workspace_bytes);
  expect_refused([&] { attention(context, forward, there, of_dot.views(), out, top, sum); },
                 "only scores of gat allow");
}

TEST_P(cuda_wide_heads, refuse_inputs_that_were_not_planned_for) {
  Context context = Context::cuda();
  const Graph graph = battery::graph_with_duplicates(), there = graph.to(gpu);
  const AttentionCase plain = AttentionCase(graph, Score::gat, GetParam(), 4, 40, 1, std::nullopt, 9400).to(gpu);
  const AttentionCase biased = AttentionCase(graph, Score::gat, GetParam(), 4, 40, 1, GetParam(), 9400).to(gpu);
  const AttentionResult result = attention(context, there, biased.views());
  const Tensor grad = random_tensor(Shape(graph.num_rows(), 4, 40), GetParam(), 9406).to(gpu);
  const AttentionBackwardPlan plan = plan_attention_backward(context, there, plain.views());
  ASSERT_EQ(plan.head_width, 64);
  const auto room = [](const Tensor& like) { return constant(like.shape(), like.dtype(), 77).to(gpu); };
  Tensor value = room(biased.value.to(Device{})), src = room(biased.src.to(Device{})),
         dst = room(biased.dst.to(Device{})), bias = room(biased.bias.to(Device{}));
  context.reserve(plan.workspace_bytes);
  expect_refused(
      [&] {
        attention_backward(context, plan, there, biased.views(), result, grad, {value, src, dst, {}, bias, {}});
      },
      "make a plan for these inputs");
}

}  // namespace
}  // namespace weft::test
