#include <gtest/gtest.h>

#include <limits>

#include "support/bad_views.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

// The tangled graph: 6 rows, 5 columns, 14 edges. Each case changes one thing of a call that works.
struct refusals_spmm : ::testing::Test {
  Graph graph = tangled_graph();
  Context context = Context::cpu(2);
  Tensor x = random_tensor(Shape(5, 4), Dtype::f32, 161);
  Tensor edge = random_tensor(Shape(14, 4), Dtype::f32, 162);
  Tensor out = Tensor::zeros(Shape(6, 4), Dtype::f32);
  Tensor arg_u = Tensor::zeros(Shape(6, 4), Dtype::i32), arg_e = Tensor::zeros(Shape(6, 4), Dtype::i64);
  Tensor rows = random_tensor(Shape(6), Dtype::f32, 163), cols = random_tensor(Shape(5), Dtype::f32, 164);
  Tensor bias = random_tensor(Shape(4), Dtype::f32, 165);
  SpmmOptions options;

  void refused(ConstTensorView bad_x, ConstTensorView bad_edge, std::string_view names, int line = __builtin_LINE()) {
    expect_refused([&] { spmm(context, graph, bad_x, bad_edge, options); }, names, ErrorCode::invalid_argument,
                   __FILE__, line);
  }
  void run(ConstTensorView any_x, ConstTensorView any_edge, TensorView any_out) {
    const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 4, options.reduce, true});
    context.reserve(plan.workspace_bytes);
    spmm(context, plan, graph, any_x, any_edge, any_out, options);
  }
  void out_refused(TensorView bad_out, std::string_view names = "out", int line = __builtin_LINE()) {
    expect_refused([&] { run(x, edge, bad_out); }, names, ErrorCode::invalid_argument, __FILE__, line);
  }
};

TEST_F(refusals_spmm, the_call_that_each_case_changes_works) {
  EXPECT_NO_THROW(spmm(context, graph, x, edge, options));
  const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 4, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  EXPECT_NO_THROW(spmm(context, plan, graph, x, edge, out, options));
}

TEST_F(refusals_spmm, operands_that_are_missing_or_have_no_memory) {
  refused({}, edge, "x");
  refused(x, {}, "edge");
  refused(without_memory(x.view()), edge, "x");
  refused(x, without_memory(edge.view()), "edge");
  options.op = SpmmOp::copy_u;
  refused({}, {}, "x");
  options.op = SpmmOp::copy_e;
  refused({}, {}, "edge");
}

TEST_F(refusals_spmm, operands_the_op_does_not_read) {
  options.op = SpmmOp::copy_u;
  refused(x, edge, "edge");
  options.op = SpmmOp::copy_e;
  refused(x, edge, "x");
}

TEST_F(refusals_spmm, operands_with_the_wrong_number_of_rows) {
  refused(as_shape(x.view(), Shape(4, 4)), edge, "x");
  refused(random_tensor(Shape(6, 4), Dtype::f32, 1), edge, "x");
  refused(x, as_shape(edge.view(), Shape(13, 4)), "edge");
  refused(x, random_tensor(Shape(15), Dtype::f32, 1), "edge");
  refused(as_shape(x.view(), Shape(0, 4)), edge, "x");
  refused(negative(x.view()), edge, "x");
  refused(x, negative(edge.view()), "edge");
}

TEST_F(refusals_spmm, widths_and_heads_that_do_not_broadcast) {
  refused(x, as_shape(edge.view(), Shape(14, 3)), "edge|x");
  refused(as_shape(x.view(), Shape(5, 2, 2)), as_shape(edge.view(), Shape(14, 4, 1)), "edge|x");
  refused(as_shape(x.view(), Shape(5, 2, 2)), as_shape(edge.view(), Shape(14, 4)), "edge|x");
  refused(as_shape(x.view(), Shape(5, 0)), as_shape(edge.view(), Shape(14, 3)), "edge|x");
}

TEST_F(refusals_spmm, dtypes_that_hold_no_features_or_do_not_match) {
  refused(as_dtype(x.view(), Dtype::i32), edge, "x");
  refused(x, as_dtype(edge.view(), Dtype::i32), "edge");
  refused(random_tensor(Shape(5, 4), Dtype::f64, 1), edge, "edge|x");
  refused(x, random_tensor(Shape(14), Dtype::f64, 1), "edge");
}

TEST_F(refusals_spmm, views_with_overlapping_rows_or_on_another_device) {
  refused(overlapping(x.view()), edge, "x");
  refused(x, overlapping(edge.view()), "edge");
  refused(on_cuda(x.view()), edge, "x");
  refused(x, on_cuda(edge.view()), "edge");
}

TEST_F(refusals_spmm, epilogue_operands_that_do_not_fit) {
  const auto epilogue = [&](ConstTensorView Epilogue::*field, ConstTensorView bad, const char* name) {
    SCOPED_TRACE(name);
    options.epilogue = {};
    options.epilogue.*field = bad;
    refused(x, edge, name);
  };
  for (const auto& [field, good, name] :
       {std::tuple(&Epilogue::row_scale, rows.view(), "row_scale"),
        std::tuple(&Epilogue::col_scale, cols.view(), "col_scale"), std::tuple(&Epilogue::bias, bias.view(), "bias")}) {
    epilogue(field, as_shape(good, Shape(good.shape.rows - 1)), name);
    epilogue(field, random_tensor(Shape(good.shape.rows + 1), Dtype::f32, 1), name);
    epilogue(field, as_dtype(good, Dtype::i32), name);
    epilogue(field, without_memory(good), name);
    epilogue(field, on_cuda(good), name);
    epilogue(field, negative(good), name);
  }
  epilogue(&Epilogue::row_scale, random_tensor(Shape(6), Dtype::f64, 1), "row_scale");
  epilogue(&Epilogue::row_scale, as_dtype(rows.view(), Dtype::f16), "row_scale");
  epilogue(&Epilogue::col_scale, as_dtype(cols.view(), Dtype::bf16), "col_scale");
  epilogue(&Epilogue::row_scale, random_tensor(Shape(6, 4), Dtype::f32, 1), "row_scale");
  epilogue(&Epilogue::col_scale, random_tensor(Shape(5, 2), Dtype::f32, 1), "col_scale");
}

TEST_F(refusals_spmm, own_rows_of_x_that_are_not_there_or_do_not_fit) {
  const Graph square = random_graph(5, 5, 14, 166);
  const Tensor scale = random_tensor(Shape(5), Dtype::f32, 167), one = random_tensor(Shape(5, 1), Dtype::f32, 168);
  const Tensor longer = random_tensor(Shape(6), Dtype::f32, 169);
  options.epilogue.self_scale = longer;
  const auto refused_over = [&](const Graph& over, ConstTensorView any_x, std::string_view names) {
    expect_refused([&] { spmm(context, over, any_x, edge, options); }, names, ErrorCode::invalid_argument);
  };
  refused_over(square, x, "self_scale");
  options.epilogue.self_scale = scale;
  EXPECT_NO_THROW(spmm(context, square, x, edge, options));
  refused_over(square, one, "self_scale is given, but x has shape [5, 1]");
  options.epilogue.self_scale = as_dtype(scale.view(), Dtype::f16);
  refused_over(square, x, "self_scale");
  options.epilogue.self_scale = scale;
  options.reduce = Reduce::max;
  refused_over(square, x, "only sums and means add x's own row: reduce is max");
  options.reduce = Reduce::sum;
  options.op = SpmmOp::copy_e;
  refused_over(square, {}, "self_scale is given, but op copy_e reads no x");
  options.op = SpmmOp::u_mul_e;
  options.epilogue.self_scale = longer;
  refused(x, edge, "self_scale is given for a graph of 5 sources and 6 destinations");
}

TEST_F(refusals_spmm, args_without_max_or_min) {
  options.arg_u = arg_u;
  refused(x, edge, "arg_u");
  options.arg_u = {};
  options.arg_e = arg_e;
  refused(x, edge, "arg_e");
  options.reduce = Reduce::mean;
  refused(x, edge, "arg_e");
}

TEST_F(refusals_spmm, args_of_the_wrong_type_shape_or_place) {
  options.reduce = Reduce::max;
  const auto bad_u = [&](TensorView bad) {
    options.arg_u = bad;
    refused(x, edge, "arg_u");
    options.arg_u = {};
  };
  const auto bad_e = [&](TensorView bad) {
    options.arg_e = bad;
    refused(x, edge, "arg_e");
    options.arg_e = {};
  };
  bad_u(arg_e);
  bad_u(as_dtype(arg_u.view(), Dtype::f32));
  bad_u(as_shape(arg_u.view(), Shape(5, 4)));
  bad_u(as_shape(arg_u.view(), Shape(6, 3)));
  bad_u(as_shape(arg_u.view(), Shape(6)));
  bad_u(without_memory(arg_u.view()));
  bad_u(overlapping(arg_u.view()));
  bad_u(on_cuda(arg_u.view()));
  bad_e(arg_u);
  bad_e(as_shape(arg_e.view(), Shape(5, 4)));
  bad_e(as_shape(arg_e.view(), Shape(6, 3)));
  bad_e(without_memory(arg_e.view()));
  bad_e(on_cuda(arg_e.view()));
}

TEST_F(refusals_spmm, args_that_are_slices) {
  options.reduce = Reduce::max;
  Tensor wide = Tensor::zeros(Shape(6, 9), Dtype::i32);
  options.arg_u = columns(wide.view(), 1, 4);
  refused(x, edge, "arg_u");
}

TEST_F(refusals_spmm, operators_and_reducers_that_do_not_exist) {
  options.op = static_cast<SpmmOp>(17);
  refused(x, edge, "op");
  options.op = SpmmOp::u_mul_e;
  options.reduce = static_cast<Reduce>(9);
  refused(x, edge, "reduce");
}

TEST_F(refusals_spmm, outputs_that_do_not_fit) {
  out_refused({});
  out_refused(without_memory(out.view()));
  out_refused(as_shape(out.view(), Shape(5, 4)));
  out_refused(as_shape(out.view(), Shape(6, 3)));
  out_refused(as_shape(out.view(), Shape(6)));
  out_refused(as_shape(out.view(), Shape(6, 2, 2)));
  out_refused(as_dtype(out.view(), Dtype::i32));
  out_refused(overlapping(out.view()));
  out_refused(on_cuda(out.view()));
  Tensor doubled = Tensor::zeros(Shape(6, 4), Dtype::f64);
  out_refused(doubled);
}

TEST_F(refusals_spmm, outputs_that_are_also_inputs) {
  const Graph square = Graph::from_csr(2, 2, std::vector<EdgeId>{0, 1, 2}, std::vector<NodeId>{1, 0});
  Tensor both = random_tensor(Shape(2, 4), Dtype::f32, 166);
  const Plan plan = make_plan(context, square, {OpKind::spmm, Dtype::f32, 1, 4, Reduce::sum, false});
  context.reserve(plan.workspace_bytes);
  options.op = SpmmOp::copy_u;
  expect_refused([&] { spmm(context, plan, square, both, {}, both, options); }, "out");
}

TEST_F(refusals_spmm, outputs_that_are_the_same_slice_as_an_input) {
  const Graph square = Graph::from_csr(2, 2, std::vector<EdgeId>{0, 1, 2}, std::vector<NodeId>{1, 0});
  Tensor wide = random_tensor(Shape(2, 12), Dtype::f32, 166);
  const Plan plan = make_plan(context, square, {OpKind::spmm, Dtype::f32, 1, 4, Reduce::sum, false});
  context.reserve(plan.workspace_bytes);
  options.op = SpmmOp::copy_u;
  const auto run = [&](std::int64_t from, std::int64_t to) {
    spmm(context, plan, square, columns(wide.view(), from, 4), {}, columns(wide.view(), to, 4), options);
  };
  expect_refused([&] { run(0, 0); }, "out");
  expect_refused([&] { run(0, 3); }, "out");
  expect_refused([&] { run(5, 2); }, "out");
  EXPECT_NO_THROW(run(0, 4));  // neighbouring columns of one matrix do not overlap
  EXPECT_NO_THROW(run(8, 0));
}

TEST_F(refusals_spmm, outputs_and_args_that_share_memory_with_another_argument) {
  options.reduce = Reduce::max;
  Tensor shared = Tensor::zeros(Shape(1000), Dtype::f32);
  float* memory = shared.span<float>().data();
  const auto at = [&](int first, Dtype dtype, Shape shape) { return TensorView(memory + first, dtype, shape); };
  const TensorView places[] = {at(10, Dtype::f32, Shape(6, 4)), at(30, Dtype::i32, Shape(6, 4)),
                               at(14, Dtype::i64, Shape(6, 4))};  // 24, 24 and 48 floats long
  const auto written = [&](const char* name, TensorView place) -> TensorView {
    options.arg_u = std::string_view(name) == "arg_u" ? place : arg_u.view();
    options.arg_e = std::string_view(name) == "arg_e" ? place : arg_e.view();
    return std::string_view(name) == "out" ? place : out.view();
  };
  for (const auto& [name, place] :
       {std::pair("out", places[0]), std::pair("arg_u", places[1]), std::pair("arg_e", places[2])}) {
    SCOPED_TRACE(name);
    const auto refused_with = [&](ConstTensorView Epilogue::*field, Shape shape, const char* other) {
      options.epilogue = {};
      options.epilogue.*field = at(32, Dtype::f32, shape);  // inside all three places
      const TensorView to = written(name, place);
      out_refused(to, name);
      out_refused(to, other);
      options.epilogue.*field = at(100, Dtype::f32, shape);
      EXPECT_NO_THROW(run(x, edge, to));
    };
    refused_with(&Epilogue::row_scale, Shape(6), "row_scale");
    refused_with(&Epilogue::col_scale, Shape(5), "col_scale");
    refused_with(&Epilogue::bias, Shape(4), "bias");
    options.epilogue = {};
    const TensorView to = written(name, place);
    expect_refused([&] { run(at(15, Dtype::f32, Shape(5, 4)), edge, to); }, name);
    expect_refused([&] { run(at(15, Dtype::f32, Shape(5, 4)), edge, to); }, "x");
    expect_refused([&] { run(x, at(15, Dtype::f32, Shape(14, 4)), to); }, name);
    expect_refused([&] { run(x, at(15, Dtype::f32, Shape(14, 4)), to); }, "edge");
  }
}

TEST_F(refusals_spmm, outputs_and_args_that_share_memory_with_each_other) {
  options.reduce = Reduce::max;
  options.arg_u = arg_u;
  options.arg_e = arg_e;
  EXPECT_NO_THROW(run(x, edge, out));
  out_refused(as_dtype(arg_u.view(), Dtype::f32), "arg_u");
  out_refused(as_dtype(arg_e.view(), Dtype::f32), "arg_e");
  options.arg_u = as_dtype(arg_e.view(), Dtype::i32);
  out_refused(out, "arg_u");
  out_refused(out, "arg_e");
  refused(x, edge, "arg_u");
}

TEST_F(refusals_spmm, sizes_no_memory_could_have) {
  options.op = SpmmOp::copy_u;
  ConstTensorView huge = x;
  huge.ld = std::numeric_limits<std::int64_t>::max();
  huge.shape = Shape(5, std::int64_t{1} << 62);
  refused(huge, {}, "x|width");
  huge.shape = Shape(5, std::int64_t{1} << 40, std::int64_t{1} << 40);
  refused(huge, {}, "x|width");
}

TEST_F(refusals_spmm, a_refused_call_leaves_its_output_as_it_was) {
  const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 4, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor marked = constant(Shape(6, 4), Dtype::f32, 42);
  expect_refused([&] { spmm(context, plan, graph, x, as_shape(edge.view(), Shape(13, 4)), marked, options); }, "edge");
  for (const float value : marked.span<float>()) EXPECT_EQ(value, 42);
}

struct refusals_spmv : refusals_spmm {
  Tensor vector = random_tensor(Shape(5), Dtype::f32, 167), weights = random_tensor(Shape(14), Dtype::f32, 168);
  void bad(ConstTensorView bad_x, ConstTensorView bad_edge, std::string_view names, int line = __builtin_LINE()) {
    expect_refused([&] { spmv(context, graph, bad_x, bad_edge); }, names, ErrorCode::invalid_argument, __FILE__, line);
  }
};

TEST_F(refusals_spmv, operands_that_do_not_fit) {
  EXPECT_NO_THROW(spmv(context, graph, vector, weights));
  bad({}, weights, "x");
  bad(without_memory(vector.view()), weights, "x");
  bad(as_shape(vector.view(), Shape(4)), weights, "x");
  bad(x, weights, "x");
  bad(as_dtype(vector.view(), Dtype::i32), weights, "x");
  bad(on_cuda(vector.view()), weights, "x");
  bad(vector, as_shape(weights.view(), Shape(13)), "edge");
  bad(vector, edge, "edge");
  bad(vector, as_dtype(weights.view(), Dtype::i32), "edge");
  bad(vector, without_memory(weights.view()), "edge");
}

TEST_F(refusals_spmv, outputs_that_do_not_fit) {
  const Plan plan = make_plan(context, graph, {OpKind::spmv, Dtype::f32, 1, 1, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor y = Tensor::zeros(Shape(6), Dtype::f32);
  EXPECT_NO_THROW(spmv(context, plan, graph, vector, weights, y));
  for (const TensorView& bad_out : {TensorView(), without_memory(y.view()), as_shape(y.view(), Shape(5)),
                                    as_dtype(y.view(), Dtype::i32), on_cuda(y.view()), out.view()})
    expect_refused([&] { spmv(context, plan, graph, vector, weights, bad_out); }, "out");
}

}  // namespace
}  // namespace weft::test
