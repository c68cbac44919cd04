// The planned backward of sddmm on the CPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/planned_gradients.hpp"
#include "support/allocations.hpp"
#include "support/bad_views.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr SddmmOp ops[] = {SddmmOp::dot, SddmmOp::add,      SddmmOp::sub,     SddmmOp::mul,
                           SddmmOp::div, SddmmOp::copy_lhs, SddmmOp::copy_rhs};
constexpr Target targets[] = {Target::u, Target::v, Target::e};

struct Case {
  SddmmOptions options;
  Shape lhs, rhs;  // without rows
};

/// Operands, a gradient of their result, and room for their own.
struct Layer {
  Graph graph;
  SddmmOptions options;
  Tensor lhs, rhs, out_grad, lhs_grad, rhs_grad;

  Layer(Context& context, const Graph& of, const Case& c, Dtype dtype) : graph(of), options(c.options) {
    const auto rows = [&](Target target) {
      return target == Target::u ? of.num_cols() : target == Target::v ? of.num_rows() : of.num_edges();
    };
    if (options.op != SddmmOp::copy_rhs)
      lhs = random_tensor(Shape(rows(options.lhs), c.lhs.heads, c.lhs.width), dtype, 731);
    if (options.op != SddmmOp::copy_lhs)
      rhs = random_tensor(Shape(rows(options.rhs), c.rhs.heads, c.rhs.width), dtype, 732, 0.5, 2);
    out_grad = random_tensor(sddmm(context, graph, view(lhs), view(rhs), options).shape(), dtype, 733);
    if (lhs) lhs_grad = constant(lhs.shape(), dtype, 77);
    if (rhs) rhs_grad = constant(rhs.shape(), dtype, 77);
  }
  static ConstTensorView view(const Tensor& tensor) { return tensor; }
  SddmmGradientViews into() { return {lhs_grad, rhs_grad}; }
  SddmmBackwardPlan plan(const Context& context, WantSddmmGradients want = {}) const {
    return plan_sddmm_backward(context, graph, view(lhs), view(rhs), options, want);
  }
  void run(Context& context, const SddmmBackwardPlan& by, const SddmmGradientViews& to) const {
    sddmm_backward(context, by, graph, view(lhs), view(rhs), out_grad, to);
  }
};

std::vector<Case> cases() {
  const Shape full(1, 2, 9), of_heads(1, 2, 1), scalar(1, 1, 1), vector(1, 1, 9);
  std::vector<Case> all;
  for (const SddmmOp op : ops)
    for (const Target left : targets)
      for (const Target right : targets) {
        all.push_back({{op, left, right}, full, full});
        all.push_back({{op, left, right}, full, of_heads});
        all.push_back({{op, left, right}, vector, full});
        all.push_back({{op, left, right}, scalar, vector});
      }
  return all;
}

std::string text(const Case& c, Dtype dtype) {
  return fmt::format("{} {}{} {} lhs {} rhs {}", name(c.options.op), name(c.options.lhs), name(c.options.rhs),
                     name(dtype), to_string(c.lhs), to_string(c.rhs));
}

TEST(planned_sddmm_backward, allocates_nothing_and_takes_exactly_the_planned_workspace) {
  const Graph graph = skewed_graph(70, 900, 734);
  for (const Case& c : cases())
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      SCOPED_TRACE(text(c, dtype));
      expect_exact_workspace<Layer>(graph, c, dtype);
    }
}

TEST(planned_sddmm_backward, gives_the_bits_of_the_call_without_a_plan_whatever_stood_there) {
  for (const Graph& graph : {tangled_graph(), skewed_graph(70, 9000, 735)})
    for (const Case& c : cases())
      for (const Dtype dtype : floating_dtypes) {
        SCOPED_TRACE(text(c, dtype));
        Context context = Context::cpu(2);
        Layer layer(context, graph, c, dtype);
        const SddmmBackwardPlan plan = layer.plan(context);
        context.reserve(plan.workspace_bytes);
        layer.run(context, plan, layer.into());
        layer.run(context, plan, layer.into());
        const SddmmGradients g =
            sddmm_backward(context, graph, layer.view(layer.lhs), layer.view(layer.rhs), layer.out_grad, c.options);
        EXPECT_EQ(static_cast<bool>(layer.lhs), static_cast<bool>(g.lhs));
        EXPECT_EQ(static_cast<bool>(layer.rhs), static_cast<bool>(g.rhs));
        if (layer.lhs) {
          EXPECT_TRUE(bitwise_equal(layer.lhs_grad, g.lhs));
        }
        if (layer.rhs) {
          EXPECT_TRUE(bitwise_equal(layer.rhs_grad, g.rhs));
        }
      }
}

// A dot of two ends has the gradients of a weighted sum, over the graph and over its transpose.
TEST(planned_sddmm_backward, of_a_dot_of_two_ends_is_a_sum_over_either_direction) {
  const Graph graph = skewed_graph(70, 9000, 736);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    Context context = Context::cpu(2);
    Layer layer(context, graph, {{}, Shape(1, 2, 9), Shape(1, 2, 9)}, dtype);
    const SddmmBackwardPlan plan = layer.plan(context);
    context.reserve(plan.workspace_bytes);
    layer.run(context, plan, layer.into());
    EXPECT_TRUE(bitwise_equal(layer.lhs_grad, spmm(context, graph.transpose(), layer.rhs, layer.out_grad)));
    EXPECT_TRUE(bitwise_equal(layer.rhs_grad, spmm(context, graph, layer.lhs, layer.out_grad)));
  }
}

TEST(planned_sddmm_backward, gives_only_what_was_wanted) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {{SddmmOp::mul}, Shape(1, 1, 4), Shape(1, 1, 4)}, Dtype::f32);
  const SddmmGradients both = sddmm_backward(context, layer.graph, layer.lhs, layer.rhs, layer.out_grad, layer.options);
  const SddmmBackwardPlan of_lhs = layer.plan(context, {.lhs = true, .rhs = false});
  const SddmmBackwardPlan of_rhs = layer.plan(context, {.lhs = false, .rhs = true});
  context.reserve(std::max(of_lhs.workspace_bytes, of_rhs.workspace_bytes));
  layer.run(context, of_lhs, {layer.lhs_grad, {}});
  layer.run(context, of_rhs, {{}, layer.rhs_grad});
  EXPECT_TRUE(bitwise_equal(layer.lhs_grad, both.lhs));
  EXPECT_TRUE(bitwise_equal(layer.rhs_grad, both.rhs));
  expect_refused([&] { layer.run(context, of_lhs, layer.into()); }, "into.rhs");
  expect_refused([&] { layer.run(context, of_rhs, layer.into()); }, "into.lhs");
}

TEST(planned_sddmm_backward, refuses_plans_and_views_that_are_not_for_the_call) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {{}, Shape(1, 1, 4), Shape(1, 1, 4)}, Dtype::f32);
  const SddmmBackwardPlan plan = layer.plan(context);
  context.reserve(plan.workspace_bytes);
  for (const TensorView& bad :
       {TensorView(), without_memory(layer.lhs_grad.view()), on_cuda(layer.lhs_grad.view()),
        as_shape(layer.lhs_grad.view(), Shape(4, 1, 4)), as_dtype(layer.lhs_grad.view(), Dtype::f64)})
    expect_refused([&] { layer.run(context, plan, {bad, layer.rhs_grad}); }, "into.lhs");
  expect_refused([&] { layer.run(context, plan, {layer.lhs_grad, layer.lhs_grad}); }, "into");
  TensorView over_lhs = layer.lhs.view();
  expect_refused([&] { layer.run(context, plan, {over_lhs, layer.rhs_grad}); }, "into.lhs");
  Layer other(context, skewed_graph(30, 200, 737), {{}, Shape(1, 1, 4), Shape(1, 1, 4)}, Dtype::f32);
  expect_refused([&] { other.run(context, plan, other.into()); }, "plan was made for another graph");
  Layer wider(context, layer.graph, {{}, Shape(1, 1, 8), Shape(1, 1, 8)}, Dtype::f32);
  expect_refused([&] { wider.run(context, plan, wider.into()); }, "plan is for");
  expect_refused([&] { layer.run(context, SddmmBackwardPlan{}, layer.into()); }, "plan is empty");
}

}  // namespace
}  // namespace weft::test
