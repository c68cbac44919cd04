#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/gradients.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr SpmmOp ops[] = {SpmmOp::copy_u,  SpmmOp::copy_e,  SpmmOp::u_add_e,
                          SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e};
constexpr Reduce reducers[] = {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min};

/// Forward with the args max and min need, held together with their memory.
struct Forward {
  SpmmOptions options;
  Tensor out, arg_u, arg_e;

  Forward(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge, SpmmOptions wanted)
      : options(std::move(wanted)) {
    if (options.reduce == Reduce::max || options.reduce == Reduce::min) {
      const Shape shape = spmm(context, graph, x, edge, options).shape();
      arg_u = Tensor::empty(shape, Dtype::i32);
      arg_e = Tensor::empty(shape, Dtype::i64);
      options.arg_u = arg_u;
      options.arg_e = arg_e;
    }
    out = spmm(context, graph, x, edge, options);
  }
};

void check(const Graph& graph, Shape x_shape, Shape e_shape, const SpmmOptions& options,
           const std::string& context_text) {
  const std::string text = fmt::format("{} {} {} x {} edge {}", context_text, name(options.op), name(options.reduce),
                                       to_string(x_shape), to_string(e_shape));
  Context context = Context::cpu(2);
  Tensor x, edge;
  if (uses_node(options.op)) x = random_tensor(x_shape, Dtype::f64, 31);
  if (uses_edge(options.op)) edge = random_divisors(e_shape, Dtype::f64, 32);
  const Forward forward(context, graph, x, edge, options);
  const Tensor out_grad = random_tensor(forward.out.shape(), Dtype::f64, 33);
  const SpmmGradients gradients = spmm_backward(context, graph, x, edge, out_grad, forward.options);
  const auto loss = [&] { return weighted_sum(spmm(context, graph, x, edge, options), out_grad); };
  if (x) expect_gradient(x, gradients.x, loss, text + ": x");
  if (edge) expect_gradient(edge, gradients.edge, loss, text + ": edge");
}

TEST(spmm_backward, agrees_with_differences_for_every_op_reducer_and_edge_shape) {
  const Graph graph = tangled_graph();
  const std::int64_t n = graph.num_cols(), e = graph.num_edges();
  const std::pair<Shape, Shape> shapes[] = {
      {Shape(n), Shape(e)},          {Shape(n, 3), Shape(e)},          {Shape(n, 3), Shape(e, 1)},
      {Shape(n, 3), Shape(e, 3)},    {Shape(n, 1), Shape(e, 3)},       {Shape(n, 2, 3), Shape(e, 2, 1)},
      {Shape(n, 2, 3), Shape(e)},    {Shape(n, 2, 3), Shape(e, 2, 3)}, {Shape(n, 2, 3), Shape(e, 3)},
      {Shape(n, 3), Shape(e, 2, 1)}, {Shape(n, 2, 1), Shape(e, 2, 3)}, {Shape(n, 1, 3), Shape(e, 2, 1)}};
  for (const SpmmOp op : ops) {
    for (const Reduce reduce : reducers) {
      for (const auto& [x_shape, e_shape] : shapes) {
        SpmmOptions options;
        options.op = op;
        options.reduce = reduce;
        check(graph, x_shape, e_shape, options, "");
      }
    }
  }
}

TEST(spmm_backward, agrees_with_differences_under_row_and_column_scales) {
  const Graph graph = tangled_graph();
  const Tensor row_scale = random_tensor(Shape(graph.num_rows()), Dtype::f64, 34);
  const Tensor col_scale = random_tensor(Shape(graph.num_cols()), Dtype::f64, 35);
  for (const SpmmOp op : ops) {
    for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
      for (int mix = 1; mix < 4; ++mix) {
        SpmmOptions options;
        options.op = op;
        options.reduce = reduce;
        if ((mix & 1) != 0) options.epilogue.row_scale = row_scale;
        if ((mix & 2) != 0) options.epilogue.col_scale = col_scale;
        check(graph, Shape(graph.num_cols(), 3), Shape(graph.num_edges()), options, fmt::format("mix {}", mix));
      }
    }
  }
}

TEST(spmm_backward, agrees_with_differences_where_own_rows_of_x_are_added) {
  const Graph graph = random_graph(6, 6, 14, 37);
  const Tensor own = random_tensor(Shape(6), Dtype::f64, 38), row_scale = random_tensor(Shape(6), Dtype::f64, 39);
  const std::pair<Shape, Shape> shapes[] = {
      {Shape(6), Shape(14)}, {Shape(6, 3), Shape(14, 3)}, {Shape(6, 2, 3), Shape(14, 2, 1)}};
  for (const SpmmOp op : ops) {
    if (!uses_node(op)) continue;
    for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
      for (const auto& [x_shape, e_shape] : shapes) {
        SpmmOptions options;
        options.op = op;
        options.reduce = reduce;
        options.epilogue.self_scale = own;
        check(graph, x_shape, e_shape, options, "own rows");
        options.epilogue.row_scale = row_scale;
        check(graph, x_shape, e_shape, options, "own rows and scaled sums");
      }
    }
  }
}

// A source with more edges than a piece holds makes the transposed graph cut a row.
TEST(spmm_backward, agrees_with_differences_where_rows_are_cut_both_ways) {
  Random random(36);
  std::vector<NodeId> destinations, sources;
  for (int k = 0; k < 5000; ++k) {
    destinations.push_back(k % 2 == 0 ? 1 : static_cast<NodeId>(random.integer(0, 3)));
    sources.push_back(k % 3 == 0 ? 2 : static_cast<NodeId>(random.integer(0, 3)));
  }
  const Graph graph = Graph::from_edges(4, {.sources = sources, .destinations = destinations});
  Context context = Context::cpu(2);
  for (const SpmmOp op : ops) {
    for (const Reduce reduce : reducers) {
      SpmmOptions options;
      options.op = op;
      options.reduce = reduce;
      Tensor x = random_tensor(Shape(4, 2), Dtype::f64, 37);
      Tensor edge = random_divisors(Shape(graph.num_edges()), Dtype::f64, 38);
      const ConstTensorView x_used = uses_node(op) ? ConstTensorView(x) : ConstTensorView();
      const ConstTensorView e_used = uses_edge(op) ? ConstTensorView(edge) : ConstTensorView();
      const Forward forward(context, graph, x_used, e_used, options);
      const Tensor out_grad = random_tensor(forward.out.shape(), Dtype::f64, 39);
      const SpmmGradients gradients = spmm_backward(context, graph, x_used, e_used, out_grad, forward.options);
      const auto loss = [&] { return weighted_sum(spmm(context, graph, x_used, e_used, options), out_grad); };
      const std::string text = fmt::format("{} {}", name(op), name(reduce));
      if (uses_node(op)) expect_gradient(x, gradients.x, loss, text + ": x");
      if (uses_edge(op)) expect_gradient(edge, gradients.edge, loss, text + ": edge", 97);
    }
  }
}

// The output has no elements, so nothing depends on the side that was broadcast to it: its gradient is 0, not missing.
TEST(spmm_backward, is_zero_where_the_other_side_has_no_features) {
  const Graph graph = tangled_graph();
  const std::int64_t n = graph.num_cols(), e = graph.num_edges();
  const std::pair<Shape, Shape> shapes[] = {{Shape(n, 0), Shape(e)},          {Shape(n, 0), Shape(e, 1)},
                                            {Shape(n), Shape(e, 0)},          {Shape(n, 1), Shape(e, 0)},
                                            {Shape(n, 2, 0), Shape(e, 2, 1)}, {Shape(n, 2, 1), Shape(e, 2, 0)},
                                            {Shape(n, 2, 0), Shape(e)},       {Shape(n, 1), Shape(e, 2, 0)}};
  for (const SpmmOp op : {SpmmOp::u_add_e, SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e})
    for (const Reduce reduce : reducers)
      for (const auto& [x_shape, e_shape] : shapes) {
        SCOPED_TRACE(fmt::format("{} {} x {} edge {}", name(op), name(reduce), to_string(x_shape), to_string(e_shape)));
        Context context = Context::cpu(2);
        const Tensor x = random_tensor(x_shape, Dtype::f32, 46), edge = random_divisors(e_shape, Dtype::f32, 47);
        SpmmOptions options;
        options.op = op;
        options.reduce = reduce;
        const Forward forward(context, graph, x, edge, options);
        const SpmmGradients gradients = spmm_backward(context, graph, x, edge, forward.out, forward.options);
        EXPECT_EQ(to_string(gradients.x.shape()), to_string(x_shape));
        EXPECT_EQ(to_string(gradients.edge.shape()), to_string(e_shape));
        for (const Tensor* gradient : {&gradients.x, &gradients.edge})
          for (const float value : gradient->span<float>()) ASSERT_EQ(value, 0);
      }
}

TEST(spmm_backward, leaves_out_what_is_not_wanted) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 3), Dtype::f32, 40);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 41);
  const Tensor out_grad = random_tensor(Shape(graph.num_rows(), 3), Dtype::f32, 42);
  const SpmmGradients only_x = spmm_backward(context, graph, x, edge, out_grad, {}, {true, false});
  EXPECT_TRUE(only_x.x);
  EXPECT_FALSE(only_x.edge);
  const SpmmGradients only_edge = spmm_backward(context, graph, x, edge, out_grad, {}, {false, true});
  EXPECT_FALSE(only_edge.x);
  EXPECT_TRUE(only_edge.edge);
}

TEST(spmm_backward, keeps_the_storage_type) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  for (const Dtype dtype : floating_dtypes) {
    const Tensor x = random_tensor(Shape(graph.num_cols(), 4), dtype, 43);
    const Tensor edge = random_tensor(Shape(graph.num_edges()), dtype, 44);
    const Tensor out_grad = random_tensor(Shape(graph.num_rows(), 4), dtype, 45);
    const SpmmGradients gradients = spmm_backward(context, graph, x, edge, out_grad, {});
    EXPECT_EQ(gradients.x.dtype(), dtype);
    EXPECT_EQ(gradients.edge.dtype(), dtype);
  }
}

}  // namespace
}  // namespace weft::test
