// The planned backward of spmm on the CPU.
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

struct Case {
  SpmmOp op;
  Reduce reduce;
  Shape x, edge;  // without rows
  bool scaled = false;
};

/// A forward with its winners, and room for its gradients.
struct Layer {
  Graph graph;
  Tensor x, edge, out_grad, rows, cols, arg_e, x_grad, edge_grad;
  SpmmOptions options;

  Layer(Context& context, const Graph& of, const Case& c, Dtype dtype) : graph(of) {
    const Dtype acc = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    const bool reads_x = c.op != SpmmOp::copy_e, reads_edge = c.op != SpmmOp::copy_u;
    if (reads_x) x = random_tensor(Shape(graph.num_cols(), c.x.heads, c.x.width), dtype, 701);
    if (reads_edge) edge = random_tensor(Shape(graph.num_edges(), c.edge.heads, c.edge.width), dtype, 702);
    rows = random_tensor(Shape(graph.num_rows()), acc, 703);
    cols = random_tensor(Shape(graph.num_cols()), acc, 704);
    options.op = c.op;
    options.reduce = c.reduce;
    if (c.scaled) options.epilogue = {.row_scale = rows, .col_scale = cols};
    const std::int64_t heads = std::max(reads_x ? c.x.heads : 1, reads_edge ? c.edge.heads : 1);
    const std::int64_t width = std::max(reads_x ? c.x.width : 1, reads_edge ? c.edge.width : 1);
    out_grad = random_tensor(Shape(graph.num_rows(), heads, width), dtype, 705);
    if (c.reduce == Reduce::max || c.reduce == Reduce::min) {
      arg_e = Tensor::empty(Shape(graph.num_rows(), heads, width), Dtype::i64);
      options.arg_e = arg_e;
      spmm(context, graph, view(x), view(edge), options);
    }
    if (reads_x) x_grad = constant(x.shape(), dtype, 77);
    if (reads_edge) edge_grad = constant(edge.shape(), dtype, 77);
  }
  static ConstTensorView view(const Tensor& tensor) { return tensor ? tensor.view() : ConstTensorView{}; }
  SpmmGradientViews into() { return {x_grad, edge_grad}; }
  SpmmBackwardPlan plan(Context& context, WantGradients want = {}) const {
    return plan_spmm_backward(context, graph, view(x), view(edge), options, want);
  }
  void run(Context& context, const SpmmBackwardPlan& by, const SpmmGradientViews& to) const {
    spmm_backward(context, by, graph, view(x), view(edge), out_grad, options, to);
  }
};

std::vector<Case> cases() {
  const Shape full(1, 2, 9), of_heads(1, 2, 1), scalar(1, 1, 1), vector(1, 1, 9);
  std::vector<Case> all;
  for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min})
    for (const bool scaled : {false, true}) {
      all.push_back({SpmmOp::copy_u, reduce, full, scalar, scaled});
      all.push_back({SpmmOp::copy_e, reduce, scalar, full, scaled});
      for (const SpmmOp op : {SpmmOp::u_add_e, SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e})
        for (const Shape& edge : {full, of_heads, scalar, vector}) {
          all.push_back({op, reduce, full, edge, scaled});
          all.push_back({op, reduce, vector, edge, scaled});
        }
    }
  return all;
}

std::string text(const Case& c, Dtype dtype) {
  return fmt::format("{} {} {} x {} edge {}{}", name(c.op), name(c.reduce), name(dtype), to_string(c.x),
                     to_string(c.edge), c.scaled ? " scaled" : "");
}

TEST(planned_spmm_backward, allocates_nothing_and_takes_exactly_the_planned_workspace) {
  const Graph graph = skewed_graph(70, 900, 706);
  for (const Case& c : cases())
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      SCOPED_TRACE(text(c, dtype));
      expect_exact_workspace<Layer>(graph, c, dtype);
    }
}

TEST(planned_spmm_backward, gives_the_bits_of_the_call_without_a_plan_whatever_stood_there) {
  for (const Graph& graph : {tangled_graph(), skewed_graph(70, 9000, 707)})
    for (const Case& c : cases())
      for (const Dtype dtype : floating_dtypes) {
        SCOPED_TRACE(text(c, dtype));
        Context context = Context::cpu(2);
        Layer layer(context, graph, c, dtype);
        const SpmmBackwardPlan plan = layer.plan(context);
        context.reserve(plan.workspace_bytes);
        layer.run(context, plan, layer.into());
        layer.run(context, plan, layer.into());
        const SpmmGradients g =
            spmm_backward(context, graph, layer.view(layer.x), layer.view(layer.edge), layer.out_grad, layer.options);
        if (layer.x) {
          EXPECT_TRUE(bitwise_equal(layer.x_grad, g.x));
        }
        if (layer.edge) {
          EXPECT_TRUE(bitwise_equal(layer.edge_grad, g.edge));
        }
      }
}

// Each gradient is an operator of its own over the graph or its transpose, and has that one's bits.
TEST(planned_spmm_backward, of_a_weighted_sum_is_a_sum_over_the_transpose_and_a_dot_an_edge) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    Context context = Context::cpu(2);
    Layer layer(context, skewed_graph(70, 9000, 708), {SpmmOp::u_mul_e, Reduce::sum, Shape(1, 2, 9), Shape(1, 2, 1)},
                dtype);
    const SpmmBackwardPlan plan = layer.plan(context);
    context.reserve(plan.workspace_bytes);
    layer.run(context, plan, layer.into());
    EXPECT_TRUE(bitwise_equal(layer.x_grad, spmm(context, layer.graph.transpose(), layer.out_grad, layer.edge)));
    EXPECT_TRUE(bitwise_equal(layer.edge_grad, sddmm(context, layer.graph, layer.x, layer.out_grad)));
  }
}

TEST(planned_spmm_backward, gives_only_what_was_wanted) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {SpmmOp::u_mul_e, Reduce::sum, Shape(1, 1, 4), Shape(1, 1, 1)}, Dtype::f32);
  const SpmmGradients both = spmm_backward(context, layer.graph, layer.x, layer.edge, layer.out_grad, layer.options);
  const SpmmBackwardPlan of_x = layer.plan(context, {.x = true, .edge = false});
  const SpmmBackwardPlan of_edge = layer.plan(context, {.x = false, .edge = true});
  context.reserve(std::max(of_x.workspace_bytes, of_edge.workspace_bytes));
  layer.run(context, of_x, {layer.x_grad, {}});
  layer.run(context, of_edge, {{}, layer.edge_grad});
  EXPECT_TRUE(bitwise_equal(layer.x_grad, both.x));
  EXPECT_TRUE(bitwise_equal(layer.edge_grad, both.edge));
  expect_refused([&] { layer.run(context, of_x, layer.into()); }, "into.edge");
  expect_refused([&] { layer.run(context, of_edge, layer.into()); }, "into.x");
}

TEST(planned_spmm_backward, may_write_over_an_x_that_it_does_not_read) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {SpmmOp::u_mul_e, Reduce::sum, Shape(1, 1, 4), Shape(1, 1, 1)}, Dtype::f32);
  const SpmmGradients both = spmm_backward(context, layer.graph, layer.x, layer.edge, layer.out_grad, layer.options);
  const SpmmBackwardPlan of_x = layer.plan(context, {.x = true, .edge = false}), of_both = layer.plan(context);
  context.reserve(std::max(of_x.workspace_bytes, of_both.workspace_bytes));
  expect_refused([&] { layer.run(context, of_both, {layer.x.view(), layer.edge_grad}); }, "into.x");
  layer.run(context, of_x, {layer.x.view(), {}});
  EXPECT_TRUE(bitwise_equal(layer.x, both.x));
}

TEST(planned_spmm_backward, may_write_over_an_edge_that_it_does_not_read) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {SpmmOp::u_sub_e, Reduce::sum, Shape(1, 1, 4), Shape(1, 1, 4)}, Dtype::f32);
  const SpmmGradients both = spmm_backward(context, layer.graph, layer.x, layer.edge, layer.out_grad, layer.options);
  const SpmmBackwardPlan plan = layer.plan(context);
  context.reserve(plan.workspace_bytes);
  layer.run(context, plan, {layer.x_grad, layer.edge.view()});
  EXPECT_TRUE(bitwise_equal(layer.x_grad, both.x));
  EXPECT_TRUE(bitwise_equal(layer.edge, both.edge));
}

TEST(planned_spmm_backward, leaves_what_stands_beside_its_columns_as_it_was) {
  for (const Reduce reduce : {Reduce::mean, Reduce::max}) {
    Context context = Context::cpu(2);
    Layer layer(context, tangled_graph(), {SpmmOp::u_mul_e, reduce, Shape(1, 1, 4), Shape(1, 1, 4)}, Dtype::f32);
    const SpmmBackwardPlan plan = layer.plan(context);
    context.reserve(plan.workspace_bytes);
    const SpmmGradients g = spmm_backward(context, layer.graph, layer.x, layer.edge, layer.out_grad, layer.options);
    Tensor wide_x = constant(Shape(5, 6), Dtype::f32, 77), wide_edge = constant(Shape(14, 6), Dtype::f32, 77);
    layer.run(context, plan, {columns(wide_x.view(), 1, 4), columns(wide_edge.view(), 1, 4)});
    for (const auto& [wide, narrow] : {std::pair(&wide_x, &g.x), std::pair(&wide_edge, &g.edge)}) {
      const std::vector<double> got = doubles(*wide), wanted = doubles(*narrow);
      for (std::size_t r = 0; r < got.size() / 6; ++r) {
        EXPECT_EQ(got[r * 6], 77);
        EXPECT_EQ(got[r * 6 + 5], 77);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got[r * 6 + 1 + i], wanted[r * 4 + i]) << r << " " << i;
      }
    }
  }
}

TEST(planned_spmm_backward, refuses_the_plan_of_something_else_before_it_writes) {
  const Case sums{SpmmOp::u_mul_e, Reduce::sum, Shape(1, 2, 9), Shape(1, 2, 1)};
  Context context = Context::cpu(2), more_threads = Context::cpu(3);
  const Graph graph = skewed_graph(70, 900, 709), other = skewed_graph(70, 900, 709);
  Layer layer(context, graph, sums, Dtype::f32);
  const auto refused = [&](const SpmmBackwardPlan& plan) {
    context.reserve(plan.workspace_bytes);
    expect_refused([&] { layer.run(context, plan, layer.into()); }, "plan");
  };
  refused(SpmmBackwardPlan{});
  refused(Layer(context, other, sums, Dtype::f32).plan(context));
  refused(layer.plan(more_threads));
  refused(Layer(context, graph, sums, Dtype::f64).plan(context));
  const Case wider{sums.op, sums.reduce, Shape(1, 2, 10), sums.edge},
      other_op{SpmmOp::u_add_e, sums.reduce, sums.x, sums.edge}, largest{sums.op, Reduce::max, sums.x, sums.edge};
  for (const Case& c : {wider, other_op, largest}) refused(Layer(context, graph, c, Dtype::f32).plan(context));
  SpmmBackwardPlan forward = layer.plan(context);
  forward.x = make_plan(context, graph, forward.x.desc);  // over the graph instead of its transpose
  refused(forward);
  EXPECT_EQ(doubles(layer.x_grad), doubles(constant(layer.x.shape(), Dtype::f32, 77)));
  EXPECT_EQ(doubles(layer.edge_grad), doubles(constant(layer.edge.shape(), Dtype::f32, 77)));
}

TEST(planned_spmm_backward, refuses_gradients_that_do_not_fit) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {SpmmOp::u_mul_e, Reduce::sum, Shape(1, 2, 4), Shape(1, 2, 1)}, Dtype::f32);
  const SpmmBackwardPlan plan = layer.plan(context);
  context.reserve(plan.workspace_bytes);
  const std::pair<TensorView SpmmGradientViews::*, const char*> fields[] = {{&SpmmGradientViews::x, "into.x"},
                                                                            {&SpmmGradientViews::edge, "into.edge"}};
  for (const auto& [field, names] : fields) {
    const TensorView good = layer.into().*field;
    const Shape fewer(good.shape.rows, 1, good.shape.width);
    for (const TensorView& bad :
         {TensorView(), without_memory(good), as_shape(good, fewer), as_dtype(good, Dtype::i32),
          as_dtype(good, Dtype::f16), on_cuda(good),
          TensorView(layer.out_grad.view().mutable_data(), good.dtype, good.shape, good.device)}) {
      SpmmGradientViews into = layer.into();
      into.*field = bad;
      expect_refused([&] { layer.run(context, plan, into); }, names);
    }
  }
}

TEST(planned_spmm_backward, refuses_to_plan_what_has_no_gradient) {
  Context context = Context::cpu(2);
  Layer layer(context, tangled_graph(), {SpmmOp::u_mul_e, Reduce::sum, Shape(1, 1, 4), Shape(1, 1, 1)}, Dtype::f32);
  layer.options.epilogue.relu = true;
  expect_refused([&] { layer.plan(context); }, "relu");
  layer.options.epilogue = {.saturate = true};
  expect_refused([&] { layer.plan(context); }, "saturate");
}

}  // namespace
}  // namespace weft::test
