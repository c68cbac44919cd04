#include <gtest/gtest.h>

#include "support/bad_views.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

struct refusals_sddmm : ::testing::Test {
  Graph graph = tangled_graph();  // 6 rows, 5 columns, 14 edges
  Context context = Context::cpu(2);
  Tensor lhs = random_tensor(Shape(5, 4), Dtype::f32, 171), rhs = random_tensor(Shape(6, 4), Dtype::f32, 172);
  Tensor out = Tensor::zeros(Shape(14), Dtype::f32);
  SddmmOptions options;

  void refused(ConstTensorView left, ConstTensorView right, std::string_view names, int line = __builtin_LINE()) {
    expect_refused([&] { sddmm(context, graph, left, right, options); }, names, ErrorCode::invalid_argument, __FILE__,
                   line);
  }
};

TEST_F(refusals_sddmm, operands_that_are_missing_or_have_no_memory) {
  EXPECT_NO_THROW(sddmm(context, graph, lhs, rhs, options));
  refused({}, rhs, "lhs");
  refused(lhs, {}, "rhs");
  refused(without_memory(lhs.view()), rhs, "lhs");
  refused(lhs, without_memory(rhs.view()), "rhs");
  options.op = SddmmOp::copy_lhs;
  refused({}, {}, "lhs");
  options.op = SddmmOp::copy_rhs;
  refused({}, {}, "rhs");
}

TEST_F(refusals_sddmm, operands_the_op_does_not_read) {
  options.op = SddmmOp::copy_lhs;
  refused(lhs, rhs, "rhs");
  options.op = SddmmOp::copy_rhs;
  refused(lhs, rhs, "lhs");
}

TEST_F(refusals_sddmm, operands_whose_rows_are_not_those_of_their_target) {
  refused(random_tensor(Shape(6, 4), Dtype::f32, 1), rhs, "lhs");
  refused(lhs, as_shape(rhs.view(), Shape(5, 4)), "rhs");
  options.lhs = Target::v;
  refused(lhs, rhs, "lhs");
  options.lhs = Target::e;
  refused(lhs, rhs, "lhs");
  options = {};
  options.rhs = Target::u;
  refused(lhs, rhs, "rhs");
  options.rhs = Target::e;
  refused(lhs, rhs, "rhs");
  options = {};
  refused(negative(lhs.view()), rhs, "lhs");
}

TEST_F(refusals_sddmm, widths_heads_and_dtypes_that_do_not_match) {
  refused(lhs, as_shape(rhs.view(), Shape(6, 3)), "lhs|rhs");
  refused(as_shape(lhs.view(), Shape(5, 2, 2)), as_shape(rhs.view(), Shape(6, 4, 1)), "lhs|rhs");
  refused(as_dtype(lhs.view(), Dtype::i32), rhs, "lhs");
  refused(lhs, as_dtype(rhs.view(), Dtype::i32), "rhs");
  refused(lhs, random_tensor(Shape(6, 4), Dtype::f64, 1), "rhs");
}

TEST_F(refusals_sddmm, views_with_overlapping_rows_or_on_another_device) {
  refused(overlapping(lhs.view()), rhs, "lhs");
  refused(lhs, overlapping(rhs.view()), "rhs");
  refused(on_cuda(lhs.view()), rhs, "lhs");
  refused(lhs, on_cuda(rhs.view()), "rhs");
}

TEST_F(refusals_sddmm, operators_and_targets_that_do_not_exist) {
  options.op = static_cast<SddmmOp>(17);
  refused(lhs, rhs, "op");
  options = {};
  options.lhs = static_cast<Target>(9);
  refused(lhs, rhs, "lhs");
  options = {};
  options.rhs = static_cast<Target>(9);
  refused(lhs, rhs, "rhs");
}

TEST_F(refusals_sddmm, outputs_that_do_not_fit) {
  const Plan plan = make_plan(context, graph, {OpKind::sddmm, Dtype::f32, 1, 4, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  EXPECT_NO_THROW(sddmm(context, plan, graph, lhs, rhs, out, options));
  Tensor doubled = Tensor::zeros(Shape(14), Dtype::f64), wide = Tensor::zeros(Shape(14, 4), Dtype::f32);
  for (const TensorView& bad : {TensorView(), without_memory(out.view()), as_shape(out.view(), Shape(13)),
                                as_dtype(out.view(), Dtype::i32), on_cuda(out.view()), doubled.view(), wide.view()})
    expect_refused([&] { sddmm(context, plan, graph, lhs, rhs, bad, options); }, "out");
  options.op = SddmmOp::add;
  for (const TensorView& bad : {out.view(), overlapping(wide.view()), as_shape(wide.view(), Shape(14, 3))})
    expect_refused([&] { sddmm(context, plan, graph, lhs, rhs, bad, options); }, "out");
}

TEST_F(refusals_sddmm, gradients_that_do_not_fit) {
  const Tensor grad = random_tensor(Shape(14), Dtype::f32, 173);
  EXPECT_NO_THROW(sddmm_backward(context, graph, lhs, rhs, grad, options));
  const auto bad = [&](ConstTensorView left, ConstTensorView right, ConstTensorView out_grad, std::string_view names,
                       int line = __builtin_LINE()) {
    expect_refused([&] { sddmm_backward(context, graph, left, right, out_grad, options); }, names,
                   ErrorCode::invalid_argument, __FILE__, line);
  };
  bad({}, rhs, grad, "lhs");
  bad(lhs, {}, grad, "rhs");
  bad(lhs, rhs, {}, "out_grad");
  bad(as_shape(lhs.view(), Shape(4, 4)), rhs, grad, "lhs");
  bad(lhs, as_shape(rhs.view(), Shape(5, 4)), grad, "rhs");
  bad(lhs, as_shape(rhs.view(), Shape(6, 3)), grad, "lhs|rhs");
  bad(lhs, rhs, as_shape(grad.view(), Shape(13)), "out_grad");
  bad(lhs, rhs, random_tensor(Shape(14, 4), Dtype::f32, 1), "out_grad");
  bad(lhs, rhs, as_dtype(grad.view(), Dtype::i32), "out_grad");
  bad(lhs, rhs, random_tensor(Shape(14), Dtype::f64, 1), "out_grad");
  bad(lhs, rhs, without_memory(grad.view()), "out_grad");
  bad(lhs, rhs, on_cuda(grad.view()), "out_grad");
}

// Forward and backward take the same operands: what one refuses the other does, in the same words.
TEST_F(refusals_sddmm, a_backward_refuses_what_its_forward_refuses) {
  const Tensor grad = random_tensor(Shape(14), Dtype::f32, 173), wide = random_tensor(Shape(14, 4), Dtype::f32, 174);
  const auto same = [&](SddmmOptions tried, ConstTensorView left, ConstTensorView right, ConstTensorView out_grad,
                        std::string_view says) {
    const std::string forward = refusal_of([&] { sddmm(context, graph, left, right, tried); });
    EXPECT_NE(forward.find(says), forward.npos) << forward;
    EXPECT_EQ(refusal_of([&] { sddmm_backward(context, graph, left, right, out_grad, tried); }), forward);
  };
  same({SddmmOp::dot, Target::v, Target::v}, lhs, rhs, grad, "destination node");
  same({SddmmOp::dot, Target::u, Target::u}, lhs, rhs, grad, "source node");
  same({SddmmOp::dot, Target::u, Target::e}, lhs, rhs, grad, "one for each edge");
  same({SddmmOp::copy_lhs, Target::u, Target::v}, lhs, rhs, wide, "rhs is given");
  same({SddmmOp::copy_rhs, Target::u, Target::v}, lhs, rhs, wide, "lhs is given");
  same({static_cast<SddmmOp>(17), Target::u, Target::v}, lhs, rhs, grad, "op");
}

struct refusals_segment : ::testing::Test {
  Context context = Context::cpu(2);
  std::vector<EdgeId> offsets{0, 2, 2, 5};
  Tensor x = random_tensor(Shape(5, 3), Dtype::f32, 174);
  Tensor grad = random_tensor(Shape(3, 3), Dtype::f32, 175);

  void refused(const std::vector<EdgeId>& bad_offsets, ConstTensorView bad_x, std::string_view names,
               int line = __builtin_LINE()) {
    expect_refused([&] { segment_reduce(context, bad_offsets, bad_x, Reduce::sum); }, names,
                   ErrorCode::invalid_argument, __FILE__, line);
    expect_refused([&] { segment_reduce_backward(context, bad_offsets, bad_x, grad, Reduce::sum); }, names,
                   ErrorCode::invalid_argument, __FILE__, line);
  }
};

TEST_F(refusals_segment, offsets_that_do_not_describe_segments_of_x) {
  EXPECT_NO_THROW(segment_reduce(context, offsets, x, Reduce::sum));
  refused({}, x, "offsets");
  refused({1, 2, 2, 5}, x, "offsets");
  refused({-1, 2, 2, 5}, x, "offsets");
  refused({0, 3, 2, 5}, x, "offsets");
  refused({0, 2, 2, 6}, x, "offsets|x");
  refused({0, 2, 2, 4}, x, "offsets|x");
  refused({0, 2, 2, std::int64_t{1} << 62}, x, "offsets|x");
}

TEST_F(refusals_segment, tensors_that_do_not_fit) {
  refused(offsets, {}, "x");
  refused(offsets, without_memory(x.view()), "x");
  refused(offsets, as_dtype(x.view(), Dtype::i32), "x");
  refused(offsets, overlapping(x.view()), "x");
  refused(offsets, on_cuda(x.view()), "x");
  refused(offsets, negative(x.view()), "x");
  for (const ConstTensorView& bad :
       Views{ConstTensorView(), without_memory(grad.view()), as_shape(grad.view(), Shape(2, 3)),
             as_shape(grad.view(), Shape(3, 2)), as_dtype(grad.view(), Dtype::i32), on_cuda(grad.view())})
    expect_refused([&] { segment_reduce_backward(context, offsets, x, bad, Reduce::sum); }, "out_grad");
  expect_refused([&] { segment_reduce(context, offsets, x, static_cast<Reduce>(9)); }, "reduce");
}

}  // namespace
}  // namespace weft::test
