// Planned runs in a CUDA graph: captured once, replayed on new inputs.
#include <cuda_runtime_api.h>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "cuda/replay.hpp"
#include "support/attention_case.hpp"

namespace weft::test {
namespace {

class cuda_capture : public GpuTest {};

TEST_F(cuda_capture, a_replayed_spmm_and_sddmm_give_the_bits_of_a_direct_run) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu, stream);
  for (const char* policy : {"order=none", "order=none,join=no", "order=columns,edges=64", "order=clusters"}) {
    for (const std::int64_t width : {1, 7, 64, 256}) {
      for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
        const Plan plan =
            make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, reduce, true}, parse_policy(policy));
        const Plan dots =
            make_plan(context, there, {OpKind::sddmm, Dtype::f32, 1, width, Reduce::sum, false}, parse_policy(policy));
        context.reserve(std::max(plan.workspace_bytes, dots.workspace_bytes));
        const Shape nodes(graph.num_cols(), width);
        const Tensor first = random_tensor(nodes, Dtype::f32, 1), second = random_tensor(nodes, Dtype::f32, 2);
        const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 3).to(gpu, stream);
        Tensor x = first.to(gpu, stream);
        Tensor y = Tensor::zeros(Shape(graph.num_rows(), width), Dtype::f32, "y", gpu, stream);
        Tensor scores = Tensor::zeros(Shape(graph.num_edges()), Dtype::f32, "scores", gpu, stream);
        SpmmOptions options;
        options.reduce = reduce;
        const auto work = [&] {
          spmm(context, plan, there, x, edge, y, options);
          sddmm(context, dots, there, x, y, scores);
        };
        work();
        // The graph was captured over the first input and must read the second.
        replay(stream, 2, work, [&] {
          ASSERT_EQ(
              cudaMemcpyAsync(x.view().mutable_data(), second.view().data, second.bytes(), cudaMemcpyDefault, stream),
              cudaSuccess);
        });
        const Tensor replayed = y.to(Device{}, stream), replayed_scores = scores.to(Device{}, stream);
        work();
        EXPECT_TRUE(bitwise_equal(y.to(Device{}, stream), replayed)) << policy << " width " << width;
        EXPECT_TRUE(bitwise_equal(scores.to(Device{}, stream), replayed_scores)) << policy << " width " << width;
        const SpmmExpected expected =
            expected_spmm(graph, second, random_tensor(Shape(graph.num_edges()), Dtype::f32, 3), options);
        expect_within_bound(replayed, expected, fmt::format("{} width {}", policy, width));
      }
    }
  }
}

TEST_F(cuda_capture, a_replayed_backward_of_spmm_gives_the_bits_of_a_direct_run) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu, stream);
  for (const SpmmOp op : {SpmmOp::copy_u, SpmmOp::u_mul_e, SpmmOp::u_div_e})
    for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max})
      for (const std::int64_t width : {7, 64}) {
        const std::string where = fmt::format("{} {} width {}", name(op), name(reduce), width);
        const Shape outputs(graph.num_rows(), width);
        const Tensor x = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, 1).to(gpu, stream);
        const Tensor values = random_tensor(Shape(graph.num_edges()), Dtype::f32, 3).to(gpu, stream);
        const ConstTensorView edge = op == SpmmOp::copy_u ? ConstTensorView{} : values.view();
        const Tensor second = random_tensor(outputs, Dtype::f32, 5);
        Tensor out_grad = random_tensor(outputs, Dtype::f32, 4).to(gpu, stream);
        Tensor winners = Tensor::zeros(outputs, Dtype::i64, "winners", gpu, stream);
        Tensor x_grad = Tensor::zeros(x.shape(), Dtype::f32, "x_grad", gpu, stream);
        Tensor edge_grad = Tensor::zeros(values.shape(), Dtype::f32, "edge_grad", gpu, stream);
        SpmmOptions options;
        options.op = op;
        options.reduce = reduce;
        if (reduce == Reduce::max) {
          options.arg_e = winners;
          spmm(context, there, x, edge, options);
        }
        const SpmmBackwardPlan plan = plan_spmm_backward(context, there, x, edge, options);
        context.reserve(plan.workspace_bytes);
        const SpmmGradientViews into{x_grad, edge.given ? edge_grad.view() : TensorView{}};
        const auto work = [&] { spmm_backward(context, plan, there, x, edge, out_grad, options, into); };
        work();
        // The graph was captured over the first gradient and must read the second.
        replay(stream, 2, work, [&] {
          ASSERT_EQ(cudaMemcpyAsync(out_grad.view().mutable_data(), second.view().data, second.bytes(),
                                    cudaMemcpyDefault, stream),
                    cudaSuccess);
        });
        const Tensor replayed = x_grad.to(Device{}, stream), replayed_edge = edge_grad.to(Device{}, stream);
        const SpmmGradients direct = spmm_backward(context, there, x, edge, out_grad, options);
        EXPECT_TRUE(bitwise_equal(direct.x.to(Device{}, stream), replayed)) << where;
        if (edge.given) {
          EXPECT_TRUE(bitwise_equal(direct.edge.to(Device{}, stream), replayed_edge)) << where;
        }
      }
}

TEST_F(cuda_capture, a_replayed_softmax_and_attention_give_the_bits_of_a_direct_run) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu, stream);
  for (const char* policy : {"order=none", "order=columns,edges=64", "order=clusters"}) {
    for (const Score score : score_kinds) {
      for (const std::int64_t heads : {1, 4}) {
        constexpr std::int64_t width = 16;
        const std::string where = fmt::format("'{}' {} heads {}", policy, name(score), heads);
        const AttentionCase inputs(graph, score, Dtype::f32, heads, width, width, std::nullopt, 5);
        AttentionCase moved = inputs.to(gpu);
        const Tensor second = random_tensor(inputs.value.shape(), Dtype::f32, 15);
        const Tensor scores = random_tensor(Shape(graph.num_edges(), heads, 1), Dtype::f32, 16).to(gpu, stream);
        const Plan attends = make_plan(context, there, {OpKind::attention, Dtype::f32, heads, width, Reduce::sum, true},
                                       parse_policy(policy));
        const Plan weighs = make_plan(context, there, {OpKind::softmax, Dtype::f32, heads, 1, Reduce::sum, true});
        context.reserve(std::max(attends.workspace_bytes, weighs.workspace_bytes));
        const auto zeros = [&](const Shape& shape, const char* what) {
          return Tensor::zeros(shape, Dtype::f32, what, gpu, stream);
        };
        Tensor out = zeros(Shape(graph.num_rows(), heads, width), "out");
        Tensor row_max = zeros(Shape(graph.num_rows(), heads, 1), "row_max");
        Tensor row_sum = zeros(Shape(graph.num_rows(), heads, 1), "row_sum");
        Tensor alpha = zeros(scores.shape(), "alpha");
        const auto work = [&] {
          attention(context, attends, there, moved.views(), out, row_max, row_sum);
          edge_softmax(context, weighs, there, scores, alpha);
        };
        work();
        // The graph was captured over the first values and must read the second.
        replay(stream, 2, work, [&] {
          ASSERT_EQ(cudaMemcpyAsync(moved.value.view().mutable_data(), second.view().data, second.bytes(),
                                    cudaMemcpyDefault, stream),
                    cudaSuccess);
        });
        const Tensor replayed = out.to(Device{}, stream), replayed_alpha = alpha.to(Device{}, stream);
        work();
        EXPECT_TRUE(bitwise_equal(out.to(Device{}, stream), replayed)) << where;
        EXPECT_TRUE(bitwise_equal(alpha.to(Device{}, stream), replayed_alpha)) << where;
        AttentionInputs views = inputs.views();
        views.value = second;
        expect_within_bound(replayed, expected_attention(graph, views, inputs.largest_score).out, where);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(cuda_capture, operators_are_timed_by_events_when_they_run_and_not_while_they_are_captured) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph there = battery::power_law_graph().to(gpu, stream);
  const Plan plan = make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, false});
  context.reserve(plan.workspace_bytes);
  const Tensor x = random_tensor(Shape(there.num_cols(), 64), Dtype::f32, 1).to(gpu, stream);
  Tensor y = Tensor::zeros(Shape(there.num_rows(), 64), Dtype::f32, "y", gpu, stream);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  const auto work = [&] { spmm(context, plan, there, x, {}, y, options); };
  context.time_operators(true);
  work();
  work();
  replay(stream, 3, work, [] {});
  const std::vector<OperatorTime> times = context.operator_times();
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].calls, 2);
  EXPECT_GT(times[0].seconds, 0);
  EXPECT_LT(times[0].seconds, 1);
  work();
  EXPECT_EQ(context.operator_times()[0].calls, 3) << "timing goes on after a capture";
}

TEST_F(cuda_capture, a_replayed_spmm_over_sampled_edges_gives_the_bits_of_a_direct_run) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu, stream);
  OpDesc desc{OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true};
  desc.sample_width = 8;
  const Plan plan = make_plan(context, there, desc);
  context.reserve(plan.workspace_bytes);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 64), Dtype::f32, 1).to(gpu, stream);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 3).to(gpu, stream);
  Tensor y = Tensor::zeros(Shape(graph.num_rows(), 64), Dtype::f32, "y", gpu, stream);
  SpmmOptions options;
  options.sample = EdgeSample{EdgeSampling::fresh, 8, 4, 2, SampleNorm::scaled};
  const auto work = [&] { spmm(context, plan, there, x, edge, y, options); };
  work();
  const Tensor direct = y.to(Device{}, stream);
  replay(stream, 2, work,
         [&] { ASSERT_EQ(cudaMemsetAsync(y.view().mutable_data(), 0xff, y.bytes(), stream), cudaSuccess); });
  EXPECT_TRUE(bitwise_equal(y.to(Device{}, stream), direct));
}

}  // namespace
}  // namespace weft::test
