#include <gtest/gtest.h>

#include "support/bad_views.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

// The tangled graph: 6 rows, 5 columns, 14 edges. Each case changes one thing of a call that works.
struct refusals_spmm_backward : ::testing::Test {
  Graph graph = tangled_graph();
  Context context = Context::cpu(2);
  Tensor x = random_tensor(Shape(5, 4), Dtype::f32, 161);
  Tensor edge = random_tensor(Shape(14, 4), Dtype::f32, 162);
  Tensor out_grad = random_tensor(Shape(6, 4), Dtype::f32, 169);
  Tensor arg_u = Tensor::zeros(Shape(6, 4), Dtype::i32), arg_e = Tensor::zeros(Shape(6, 4), Dtype::i64);
  Tensor rows = random_tensor(Shape(6), Dtype::f32, 163), cols = random_tensor(Shape(5), Dtype::f32, 164);
  Tensor bias = random_tensor(Shape(4), Dtype::f32, 165);
  SpmmOptions options;

  void bad(ConstTensorView bad_x, ConstTensorView bad_edge, ConstTensorView bad_grad, std::string_view names,
           int line = __builtin_LINE()) {
    expect_refused([&] { spmm_backward(context, graph, bad_x, bad_edge, bad_grad, options); }, names,
                   ErrorCode::invalid_argument, __FILE__, line);
  }
};

TEST_F(refusals_spmm_backward, operands_that_do_not_fit) {
  EXPECT_NO_THROW(spmm_backward(context, graph, x, edge, out_grad, options));
  bad({}, edge, out_grad, "x");
  bad(x, {}, out_grad, "edge");
  bad(x, edge, {}, "out_grad");
  bad(as_shape(x.view(), Shape(4, 4)), edge, out_grad, "x");
  bad(x, as_shape(edge.view(), Shape(13, 4)), out_grad, "edge");
  bad(x, edge, as_shape(out_grad.view(), Shape(5, 4)), "out_grad");
  bad(x, edge, as_shape(out_grad.view(), Shape(6, 3)), "out_grad");
  bad(x, edge, as_dtype(out_grad.view(), Dtype::i32), "out_grad");
  bad(x, edge, random_tensor(Shape(6, 4), Dtype::f64, 1), "out_grad");
  bad(x, edge, without_memory(out_grad.view()), "out_grad");
  bad(x, edge, on_cuda(out_grad.view()), "out_grad");
}

TEST_F(refusals_spmm_backward, max_and_min_without_the_args_of_the_forward) {
  options.reduce = Reduce::max;
  bad(x, edge, out_grad, "arg_u|arg_e");
  options.arg_u = arg_u;
  bad(x, edge, out_grad, "arg_e");
}

TEST_F(refusals_spmm_backward, args_of_the_wrong_type_shape_or_place) {
  options.reduce = Reduce::max;
  Tensor wide = Tensor::zeros(Shape(6, 9), Dtype::i64);
  for (const TensorView& worse :
       {as_dtype(arg_e.view(), Dtype::i32), as_dtype(arg_e.view(), Dtype::f64), as_shape(arg_e.view(), Shape(5, 4)),
        as_shape(arg_e.view(), Shape(6, 3)), without_memory(arg_e.view()), overlapping(arg_e.view()),
        on_cuda(arg_e.view()), columns(wide.view(), 0, 4)}) {
    options.arg_e = worse;
    bad(x, edge, out_grad, "arg_e");
  }
}

// Whatever the args hold, nothing is read or written outside the tensors.
TEST_F(refusals_spmm_backward, an_arg_that_is_no_edge_of_its_row_sends_its_gradient_nowhere) {
  options.reduce = Reduce::max;
  options.arg_u = arg_u;
  options.arg_e = arg_e;
  spmm(context, graph, x, edge, options);
  const auto total = [&] {
    double sum = 0;
    const SpmmGradients gradients = spmm_backward(context, graph, x, edge, out_grad, options);
    for (const float value : gradients.edge.span<float>()) sum += value != 0 ? 1 : 0;
    return sum;
  };
  const double before = total();
  for (const EdgeId outside : {EdgeId{14}, EdgeId{-7}, EdgeId{1} << 62, arg_e.span<EdgeId>()[12]}) {
    spmm(context, graph, x, edge, options);
    arg_e.span<EdgeId>()[6] = outside;  // row 1, feature 2; the last one is an edge of row 3
    EXPECT_EQ(total(), before - 1) << outside;
  }
}

TEST_F(refusals_spmm_backward, scales_that_do_not_fit) {
  for (const auto& [field, good, name] : {std::tuple(&Epilogue::row_scale, rows.view(), "row_scale"),
                                          std::tuple(&Epilogue::col_scale, cols.view(), "col_scale")}) {
    for (const ConstTensorView& worse : Views{as_shape(good, Shape(good.shape.rows - 1)), as_dtype(good, Dtype::i32),
                                              as_dtype(good, Dtype::f16), without_memory(good), on_cuda(good)}) {
      options.epilogue = {};
      options.epilogue.*field = worse;
      bad(x, edge, out_grad, name);
      options.reduce = Reduce::mean;
      bad(x, edge, out_grad, name);
      options.reduce = Reduce::sum;
    }
  }
}

// Forward and backward take the same operands: what one refuses the other does, in the same words.
TEST_F(refusals_spmm_backward, refuses_what_its_forward_refuses) {
  const auto same = [&](ConstTensorView any_x, ConstTensorView any_edge, std::string_view says,
                        int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace(__FILE__, line, "refused here");
    const std::string forward = refusal_of([&] { spmm(context, graph, any_x, any_edge, options); });
    EXPECT_NE(forward.find(says), forward.npos) << forward;
    EXPECT_EQ(refusal_of([&] { spmm_backward(context, graph, any_x, any_edge, out_grad, options); }), forward);
    options = {};
  };
  for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
    SCOPED_TRACE(name(reduce));
    const auto with = [&](SpmmOp op) {
      options.op = op;
      options.reduce = reduce;
      if (reduce == Reduce::max) options.arg_e = arg_e;
    };
    with(SpmmOp::copy_u);
    same(x, edge, "edge is given");
    with(SpmmOp::copy_e);
    same(x, edge, "x is given");
    with(SpmmOp::u_mul_e);
    same(x, {}, "edge is missing");
    with(SpmmOp::u_add_e);
    same(x, random_tensor(Shape(14, 4), Dtype::f64, 1), "edge has dtype f64");
    with(SpmmOp::u_mul_e);
    same(x, random_tensor(Shape(14), Dtype::f64, 1), "edge has dtype f64");
    with(static_cast<SpmmOp>(17));
    same(x, edge, "op");
    with(SpmmOp::u_mul_e);
    options.epilogue.bias = rows;
    same(x, edge, "bias has shape [6]");
    with(SpmmOp::u_mul_e);
    options.arg_u = as_dtype(arg_u.view(), Dtype::f32);
    same(x, edge, "arg_u");
  }
  options.arg_e = arg_e;
  same(x, edge, "arg_e is given, but only max and min have a winner");
  options.arg_u = arg_u;
  options.reduce = Reduce::mean;
  same(x, edge, "arg_u is given, but only max and min have a winner");
}

TEST_F(refusals_spmm_backward, epilogues_it_has_no_gradient_for) {
  options.epilogue.relu = true;
  bad(x, edge, out_grad, "relu");
  options.epilogue.relu = false;
  options.epilogue.saturate = true;
  bad(x, edge, out_grad, "saturate");
  options.epilogue = {};
  options.epilogue.bias = bias;
  bad(x, edge, out_grad, "bias");
}

}  // namespace
}  // namespace weft::test
