// The planned backward of attention on a GPU: the same bits as without a plan, and nothing allocated.
#include <cuda_runtime_api.h>

#include <cmath>

#include "battery/sweep.hpp"
#include "cuda/attention_on_gpu.hpp"
#include "cuda/replay.hpp"
#include "support/attention_case.hpp"
#include "support/errors.hpp"
#include "support/score_noise.hpp"

namespace weft::test {
namespace {

class cuda_attention_backward : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_attention_backward, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });
class cuda_attention_backward_of_halves : public cuda_attention_backward {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_attention_backward_of_halves, ::testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

/// A layer on the GPU with its forward's result, and room for its gradients.
struct Layer {
  Graph there;
  Tensor value, src, dst, bias, out_grad, value_grad, src_grad, dst_grad, bias_grad;
  AttentionInputs inputs;
  AttentionResult result;

  Layer(Context& context, const Graph& graph, Dtype dtype, std::int64_t heads, std::int64_t width, bool biased = false)
      : there(graph.to(gpu, context.stream())) {
    const auto random = [&](Shape shape, std::uint64_t seed) {
      return random_tensor(shape, dtype, seed).to(gpu, context.stream());
    };
    const auto unwritten = [&](const Tensor& like) {
      return constant(like.shape(), dtype, 77).to(gpu, context.stream());
    };
    value = random(Shape(graph.num_cols(), heads, width), 701);
    src = random(Shape(graph.num_cols(), heads, 1), 702);
    dst = random(Shape(graph.num_rows(), heads, 1), 703);
    if (biased) bias = random(Shape(graph.num_edges(), heads, 1), 704);
    out_grad = random(Shape(graph.num_rows(), heads, width), 705);
    value_grad = unwritten(value);
    src_grad = unwritten(src);
    dst_grad = unwritten(dst);
    if (biased) bias_grad = unwritten(bias);
    inputs.value = value;
    inputs.src = src;
    inputs.dst = dst;
    inputs.bias = bias;
    result = attention(context, there, inputs);
  }
  AttentionGradientViews into() { return {value_grad, src_grad, dst_grad, {}, bias_grad}; }
  void run(Context& context, const AttentionBackwardPlan& plan) {
    attention_backward(context, plan, there, inputs, result, out_grad, into());
  }
  void expect_bits_of(const AttentionGradients& g, CUstream_st* stream, const std::string& where) const {
    const auto same = [&](const Tensor& a, const Tensor& b, const char* what) {
      EXPECT_TRUE(bitwise_equal(a.to(Device{}, stream), b.to(Device{}, stream))) << what << " " << where;
    };
    same(value_grad, g.value, "value");
    same(src_grad, g.src, "src");
    same(dst_grad, g.dst, "dst");
    if (bias) same(bias_grad, g.bias, "bias");
  }
};

TEST_P(cuda_attention_backward, agrees_with_the_cpu_in_float64_on_every_graph_in_every_order) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const double tolerance = GetParam() == Dtype::f64   ? 1e-9
                           : GetParam() == Dtype::f32 ? 1e-3
                           : GetParam() == Dtype::f16 ? 2e-2
                                                      : 1.5e-1;
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"a transpose, with ids of its own", battery::power_law_graph().transpose()});
  std::uint64_t seed = 720;
  for (const BatteryGraph& battery : graphs) {
    const Graph& graph = battery.graph;
    const Graph there = graph.to(gpu);
    for (const auto& [heads, width] :
         {std::pair<std::int64_t, std::int64_t>{1, 64}, {4, 16}, {1, 7}, {3, 64}, {8, 32}, {5, 128}, {2, 256}}) {
      const AttentionCase inputs(graph, Score::gat, GetParam(), heads, width, 1, std::nullopt, seed += 10);
      const AttentionCase exact = inputs.to(Dtype::f64), moved = inputs.to(gpu);
      const Tensor grad = random_tensor(Shape(graph.num_rows(), heads, width), GetParam(), seed + 6);
      const AttentionResult wanted = attention(cpu, graph, exact.views());
      const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
      const ScoreNoise noise(graph, GetParam(), wanted.out, grad, attention_weights(cpu, graph, exact.views(), wanted));
      const AttentionResult result = attention(context, there, moved.views());
      const Tensor grad_there = grad.to(gpu);
      for (const char* policy : {"", "edges=16", "edges=64,order=columns", "edges=32,order=clusters"}) {
        const AttentionBackwardPlan plan =
            plan_attention_backward(context, there, moved.views(), parse_policy(policy_for(graph, policy)));
        const bool one_tile = GetParam() != Dtype::f64 || heads * width <= 256;
        EXPECT_EQ(plan.at_once, one_tile) << battery.name << " heads " << heads << " width " << width;
        context.reserve(plan.workspace_bytes);
        const auto unwritten = [&](const Tensor& like) { return constant(like.shape(), GetParam(), 77).to(gpu); };
        Tensor value = unwritten(inputs.value), src = unwritten(inputs.src), dst = unwritten(inputs.dst);
        attention_backward(context, plan, there, moved.views(), result, grad_there, {value, src, dst, {}, {}});
        const auto alike = [&](const Tensor& got_there, const Tensor& want, const std::vector<double>& more,
                               const char* what) {
          const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
          for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])) + (more.empty() ? 0 : more.at(i)))
                << what << " " << battery.name << " heads " << heads << " width " << width << " '" << policy
                << "' element " << i << " seed " << seed;
        };
        alike(value, by_cpu.value, {}, "value");
        alike(src, by_cpu.src, noise.src, "src");
        alike(dst, by_cpu.dst, noise.dst, "dst");
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_attention_backward_of_halves, takes_means_from_an_output_in_f32_without_their_rounding) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const double tolerance = GetParam() == Dtype::f16 ? 2e-3 : 1.6e-2;  // of one rounding, and sums in f32
  std::uint64_t seed = 820;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = graph.to(gpu);
    for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{1, 64}, {4, 16}, {1, 7}, {4, 64}}) {
      const AttentionCase inputs(graph, Score::gat, GetParam(), heads, width, 1, std::nullopt, seed += 10);
      const AttentionCase exact = inputs.to(Dtype::f64), moved = inputs.to(gpu);
      const Tensor grad = random_tensor(Shape(graph.num_rows(), heads, width), GetParam(), seed + 6);
      const AttentionResult wanted = attention(cpu, graph, exact.views());
      const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.views(), wanted, grad.to(Dtype::f64));
      const Plan forward = make_plan(context, there, {OpKind::attention, GetParam(), heads, width, Reduce::sum, true});
      const AttentionBackwardPlan plan = plan_attention_backward(context, there, moved.views());
      ASSERT_TRUE(plan.at_once);
      context.reserve(std::max(forward.workspace_bytes, plan.workspace_bytes));
      const auto unwritten = [&](const Tensor& like, Dtype dtype) { return constant(like.shape(), dtype, 77).to(gpu); };
      AttentionResult result{unwritten(wanted.out, Dtype::f32), unwritten(wanted.row_max, Dtype::f32),
                             unwritten(wanted.row_sum, Dtype::f32)};
      attention(context, forward, there, moved.views(), result.out, result.row_max, result.row_sum);
      Tensor value = unwritten(inputs.value, GetParam()), src = unwritten(inputs.src, GetParam()),
             dst = unwritten(inputs.dst, GetParam());
      attention_backward(context, plan, there, moved.views(), result, grad.to(gpu), {value, src, dst, {}, {}});
      const auto alike = [&](const Tensor& got_there, const Tensor& want, double near, const char* what) {
        const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], near * (1 + std::fabs(expected[i])))
              << what << " " << battery.name << " heads " << heads << " width " << width << " element " << i << " seed "
              << seed;
      };
      alike(result.out, wanted.out, 1e-4, "out");
      alike(src, by_cpu.src, tolerance, "src");
      alike(dst, by_cpu.dst, tolerance, "dst");
      if (HasFailure()) return;
    }
  }
}

TEST_P(cuda_attention_backward, by_a_plan_gives_the_bits_of_the_call_without_one) {
  Context context = Context::cuda();
  struct Case {
    std::int64_t heads, width;
    bool biased, at_once;
  };
  for (const BatteryGraph& battery : battery_graphs())
    for (const Case& c : {Case{1, 64, false, true}, Case{4, 16, false, true}, Case{8, 8, false, true},
                          Case{3, 7, false, false}, Case{4, 16, true, false}}) {
      const std::string where =
          fmt::format("{} heads {} width {}{}", battery.name, c.heads, c.width, c.biased ? " biased" : "");
      Layer layer(context, battery.graph, GetParam(), c.heads, c.width, c.biased);
      const AttentionBackwardPlan plan = plan_attention_backward(context, layer.there, layer.inputs);
      EXPECT_EQ(plan.at_once, c.at_once || plan.head_width > 0) << where;
      context.reserve(plan.workspace_bytes);
      layer.run(context, plan);
      layer.expect_bits_of(attention_backward(context, layer.there, layer.inputs, layer.result, layer.out_grad),
                           context.stream(), where);
      if (HasFailure()) return;
    }
}

TEST_P(cuda_attention_backward, with_score_gradients_by_edge_id_gives_the_bits_of_those_in_places) {
  Context context = Context::cuda();
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"a transpose, with ids of its own", battery::power_law_graph().transpose()});
  for (const BatteryGraph& battery : graphs)
    for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{1, 64}, {4, 16}, {1, 7}})
      for (const char* policy : {"", "edges=32,order=clusters"}) {
        const std::string where = fmt::format("{} heads {} width {} '{}'", battery.name, heads, width, policy);
        Layer layer(context, battery.graph, GetParam(), heads, width);
        AttentionBackwardPlan plan = plan_attention_backward(context, layer.there, layer.inputs,
                                                             parse_policy(policy_for(battery.graph, policy)));
        ASSERT_TRUE(plan.at_once) << where;
        EXPECT_EQ(plan.places == nullptr, battery.graph.num_edges() == 0) << where;
        context.reserve(plan.workspace_bytes);
        layer.run(context, plan);
        const auto copy = [&](const Tensor& t) { return t.to(Device{}, context.stream()); };
        const AttentionGradients in_places{copy(layer.value_grad), copy(layer.src_grad), copy(layer.dst_grad), {}, {}};
        plan.places = nullptr;
        layer.run(context, plan);
        layer.expect_bits_of(in_places, context.stream(), where);
        if (HasFailure()) return;
      }
}

TEST_P(cuda_attention_backward, at_once_allocates_nothing_and_takes_exactly_the_planned_workspace) {
  for (const char* policy : {"", "edges=16", "edges=64,order=columns"}) {
    Context context = Context::cuda(), small = Context::cuda(), other = Context::cuda();
    Layer layer(other, battery::power_law_graph(), GetParam(), 4, 16);
    other.synchronise();
    const AttentionBackwardPlan plan =
        plan_attention_backward(context, layer.there, layer.inputs, parse_policy(policy));
    ASSERT_TRUE(plan.at_once);
    context.reserve(plan.workspace_bytes);
    EXPECT_EQ(context.workspace_bytes(), plan.workspace_bytes);
    layer.run(context, plan);
    const MemoryStats there = memory_stats(gpu), here = memory_stats();
    layer.run(context, plan);
    EXPECT_EQ(memory_stats(gpu).allocations, there.allocations) << policy;
    EXPECT_EQ(memory_stats().allocations, here.allocations) << policy;
    small.reserve(plan.workspace_bytes - 1);
    expect_refused([&] { layer.run(small, plan); }, "workspace");
    context.synchronise();
  }
}

TEST_P(cuda_attention_backward, composed_allocates_nothing_and_takes_exactly_the_planned_workspace) {
  struct Case {
    std::int64_t heads, width;
    bool biased;
  };
  for (const Case& c : {Case{3, 300, false}, Case{4, 16, true}}) {
    const std::string where = fmt::format("heads {} width {}{}", c.heads, c.width, c.biased ? " biased" : "");
    Context context = Context::cuda(), small = Context::cuda(), other = Context::cuda();
    Layer layer(other, battery::power_law_graph(), GetParam(), c.heads, c.width, c.biased);
    other.synchronise();
    const AttentionBackwardPlan plan = plan_attention_backward(context, layer.there, layer.inputs);
    ASSERT_FALSE(plan.at_once);
    context.reserve(plan.workspace_bytes);
    EXPECT_EQ(context.workspace_bytes(), plan.workspace_bytes);
    const MemoryStats there = memory_stats(gpu), here = memory_stats();
    layer.run(context, plan);
    EXPECT_EQ(memory_stats(gpu).allocations, there.allocations) << where;
    EXPECT_EQ(memory_stats().allocations, here.allocations) << where;
    small.reserve(plan.workspace_bytes - 1);
    expect_refused([&] { layer.run(small, plan); }, "workspace");
    context.synchronise();
  }
}

TEST_P(cuda_attention_backward, replayed_on_new_gradients_gives_the_bits_of_a_direct_run) {
  const Stream stream;
  Context context = Context::cuda(0, stream), direct = Context::cuda(0, stream);
  for (const char* policy : {"", "edges=16", "order=clusters"}) {
    Layer layer(context, battery::power_law_graph(), GetParam(), 4, 16);
    const AttentionBackwardPlan plan =
        plan_attention_backward(context, layer.there, layer.inputs, parse_policy(policy));
    ASSERT_TRUE(plan.at_once);
    context.reserve(plan.workspace_bytes);
    const auto work = [&] { layer.run(context, plan); };
    work();
    const Tensor second = random_tensor(layer.out_grad.shape(), GetParam(), 706);
    // The graph was captured over the first gradient and must read the second.
    replay(stream, 2, work, [&] {
      ASSERT_EQ(cudaMemcpyAsync(layer.out_grad.view().mutable_data(), second.view().data, second.bytes(),
                                cudaMemcpyDefault, stream),
                cudaSuccess);
    });
    const Tensor value = layer.value_grad.to(Device{}, stream), src = layer.src_grad.to(Device{}, stream),
                 dst = layer.dst_grad.to(Device{}, stream);
    work();
    EXPECT_TRUE(bitwise_equal(layer.value_grad.to(Device{}, stream), value)) << policy;
    EXPECT_TRUE(bitwise_equal(layer.src_grad.to(Device{}, stream), src)) << policy;
    EXPECT_TRUE(bitwise_equal(layer.dst_grad.to(Device{}, stream), dst)) << policy;
    if (*policy == '\0')  // bits are those of a plan
      layer.expect_bits_of(attention_backward(direct, layer.there, layer.inputs, layer.result, layer.out_grad), stream,
                           "replayed");
  }
}

TEST_P(cuda_attention_backward, refuses_the_plan_of_something_else) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  Layer layer(context, graph, GetParam(), 4, 16), other(context, graph, GetParam(), 4, 16),
      biased(context, graph, GetParam(), 4, 16, true);
  const AttentionBackwardPlan plan = plan_attention_backward(context, layer.there, layer.inputs);
  context.reserve(plan.workspace_bytes);
  expect_refused([&] { other.run(context, plan); }, "plan");
  expect_refused([&] { layer.run(context, AttentionBackwardPlan{}); }, "plan");
  AttentionBackwardPlan without_sum = plan;
  without_sum.sum = {};
  expect_refused([&] { layer.run(context, without_sum); }, "plan");
  biased.there = layer.there;
  expect_refused([&] { biased.run(context, plan); }, "plan");
}

}  // namespace
}  // namespace weft::test
