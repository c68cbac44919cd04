#include <gtest/gtest.h>

#include "support/bad_views.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

struct refusals_softmax : ::testing::Test {
  Graph graph = tangled_graph();  // 6 rows, 5 columns, 14 edges
  Context context = Context::cpu(2);
  Tensor scores = random_tensor(Shape(14, 2, 1), Dtype::f32, 181), out = Tensor::zeros(Shape(14, 2, 1), Dtype::f32);
};

TEST_F(refusals_softmax, scores_that_do_not_fit) {
  EXPECT_NO_THROW(edge_softmax(context, graph, scores));
  for (const ConstTensorView& bad :
       Views{ConstTensorView(), without_memory(scores.view()), as_shape(scores.view(), Shape(13, 2, 1)),
             as_shape(scores.view(), Shape(7, 2, 2)), as_dtype(scores.view(), Dtype::i32), overlapping(scores.view()),
             on_cuda(scores.view()), negative(scores.view())})
    expect_refused([&] { edge_softmax(context, graph, bad); }, "scores");
  expect_refused([&] { edge_softmax(context, graph, random_tensor(Shape(14, 2, 3), Dtype::f32, 1)); }, "scores");
}

TEST_F(refusals_softmax, outputs_that_do_not_fit) {
  const Plan plan = make_plan(context, graph, {OpKind::softmax, Dtype::f32, 2, 1, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  EXPECT_NO_THROW(edge_softmax(context, plan, graph, scores, out));
  Tensor doubled = Tensor::zeros(Shape(14, 2, 1), Dtype::f64);
  for (const TensorView& bad : {TensorView(), without_memory(out.view()), as_shape(out.view(), Shape(13, 2, 1)),
                                as_shape(out.view(), Shape(14, 1, 1)), as_dtype(out.view(), Dtype::i32),
                                overlapping(out.view()), on_cuda(out.view()), doubled.view()})
    expect_refused([&] { edge_softmax(context, plan, graph, scores, bad); }, "out");
}

TEST_F(refusals_softmax, gradients_that_do_not_fit) {
  const Tensor grad = random_tensor(Shape(14, 2, 1), Dtype::f32, 182);
  EXPECT_NO_THROW(edge_softmax_backward(context, graph, scores, grad));
  for (const ConstTensorView& bad :
       Views{ConstTensorView(), without_memory(scores.view()), as_shape(scores.view(), Shape(13, 2, 1)),
             as_dtype(scores.view(), Dtype::i32), on_cuda(scores.view())})
    expect_refused([&] { edge_softmax_backward(context, graph, bad, grad); }, "alpha");
  const Tensor doubled = random_tensor(Shape(14, 2, 1), Dtype::f64, 182);
  for (const ConstTensorView& bad :
       Views{ConstTensorView(), without_memory(grad.view()), as_shape(grad.view(), Shape(13, 2, 1)),
             as_shape(grad.view(), Shape(14, 1, 1)), as_dtype(grad.view(), Dtype::i32), on_cuda(grad.view()),
             doubled.view()})
    expect_refused([&] { edge_softmax_backward(context, graph, scores, bad); }, "alpha_grad");
  const Plan plan = make_plan(context, graph, {OpKind::softmax, Dtype::f32, 2, 1, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor into = Tensor::zeros(Shape(14, 2, 1), Dtype::f32), other = Tensor::zeros(Shape(14, 2, 1), Dtype::f64);
  EXPECT_NO_THROW(edge_softmax_backward(context, plan, graph, scores, grad, into));
  for (const TensorView& bad : {TensorView(), without_memory(into.view()), as_shape(into.view(), Shape(13, 2, 1)),
                                on_cuda(into.view()), other.view()})
    expect_refused([&] { edge_softmax_backward(context, plan, graph, scores, grad, bad); }, "into");
  expect_refused([&] { edge_softmax_backward(context, Plan{}, graph, scores, grad, into); }, "plan");
}

struct refusals_attention : ::testing::Test {
  Graph graph = tangled_graph();
  Context context = Context::cpu(2);
  Tensor value = random_tensor(Shape(5, 2, 3), Dtype::f32, 183);
  Tensor src = random_tensor(Shape(5, 2, 4), Dtype::f32, 184), dst = random_tensor(Shape(6, 2, 4), Dtype::f32, 185);
  Tensor src1 = random_tensor(Shape(5, 2, 1), Dtype::f32, 186), dst1 = random_tensor(Shape(6, 2, 1), Dtype::f32, 187);
  Tensor attn = random_tensor(Shape(1, 2, 4), Dtype::f32, 188), bias = random_tensor(Shape(14, 2, 1), Dtype::f32, 189);
  Tensor doubled = random_tensor(Shape(14, 2, 4), Dtype::f64, 190);

  AttentionInputs good(Score score) {
    AttentionInputs inputs;
    inputs.score = score;
    inputs.value = value;
    inputs.src = score == Score::gat ? src1 : src;
    inputs.dst = score == Score::gat ? dst1 : dst;
    if (score == Score::gatv2) inputs.attn = attn;
    inputs.bias = bias;
    return inputs;
  }
  /// Refused by the forward, by the weights and by the backward alike.
  void refused(const AttentionInputs& bad, std::string_view names, int line = __builtin_LINE()) {
    const AttentionResult result = attention(context, graph, good(bad.score));
    const Tensor out_grad = random_tensor(Shape(6, 2, 3), Dtype::f32, 191);
    expect_refused([&] { attention(context, graph, bad); }, names, ErrorCode::invalid_argument, __FILE__, line);
    expect_refused([&] { attention_weights(context, graph, bad, result); }, names, ErrorCode::invalid_argument,
                   __FILE__, line);
    expect_refused([&] { attention_backward(context, graph, bad, result, out_grad); }, names,
                   ErrorCode::invalid_argument, __FILE__, line);
  }
  void field_refused(Score score, ConstTensorView AttentionInputs::*field, ConstTensorView bad, std::string_view names,
                     int line = __builtin_LINE()) {
    AttentionInputs inputs = good(score);
    inputs.*field = bad;
    refused(inputs, names, line);
  }
};

TEST_F(refusals_attention, the_calls_that_each_case_changes_work) {
  for (const Score score : {Score::gat, Score::gatv2, Score::dot})
    EXPECT_NO_THROW(attention(context, graph, good(score))) << name(score);
}

TEST_F(refusals_attention, operands_that_are_missing_or_have_no_memory) {
  for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
    SCOPED_TRACE(name(score));
    field_refused(score, &AttentionInputs::value, {}, "value");
    field_refused(score, &AttentionInputs::src, {}, "src");
    field_refused(score, &AttentionInputs::dst, {}, "dst");
    field_refused(score, &AttentionInputs::value, without_memory(value.view()), "value");
    field_refused(score, &AttentionInputs::src, without_memory(good(score).src), "src");
    field_refused(score, &AttentionInputs::dst, without_memory(good(score).dst), "dst");
    field_refused(score, &AttentionInputs::bias, without_memory(bias.view()), "bias");
  }
  field_refused(Score::gatv2, &AttentionInputs::attn, {}, "attn");
  field_refused(Score::gatv2, &AttentionInputs::attn, without_memory(attn.view()), "attn");
}

TEST_F(refusals_attention, attn_where_the_score_has_none) {
  field_refused(Score::gat, &AttentionInputs::attn, attn, "attn");
  field_refused(Score::dot, &AttentionInputs::attn, attn, "attn");
}

TEST_F(refusals_attention, operands_of_the_wrong_shape) {
  field_refused(Score::gat, &AttentionInputs::value, as_shape(value.view(), Shape(4, 2, 3)), "value");
  field_refused(Score::dot, &AttentionInputs::src, as_shape(src.view(), Shape(4, 2, 4)), "src");
  field_refused(Score::dot, &AttentionInputs::dst, as_shape(dst.view(), Shape(5, 2, 4)), "dst");
  field_refused(Score::dot, &AttentionInputs::src, as_shape(src.view(), Shape(5, 2, 3)), "src|dst");
  field_refused(Score::dot, &AttentionInputs::src, as_shape(src.view(), Shape(5, 1, 4)), "src");
  field_refused(Score::dot, &AttentionInputs::dst, as_shape(dst.view(), Shape(6, 1, 4)), "dst");
  field_refused(Score::gat, &AttentionInputs::src, src, "src");
  field_refused(Score::gat, &AttentionInputs::dst, dst, "dst");
  field_refused(Score::gatv2, &AttentionInputs::attn, as_shape(attn.view(), Shape(1, 2, 3)), "attn");
  field_refused(Score::gatv2, &AttentionInputs::attn, as_shape(attn.view(), Shape(1, 1, 4)), "attn");
  field_refused(Score::gatv2, &AttentionInputs::attn, as_shape(attn.view(), Shape(2, 2, 2)), "attn");
  field_refused(Score::gat, &AttentionInputs::bias, as_shape(bias.view(), Shape(13, 2, 1)), "bias");
  field_refused(Score::gat, &AttentionInputs::bias, as_shape(bias.view(), Shape(7, 2, 2)), "bias");
  field_refused(Score::gat, &AttentionInputs::value, negative(value.view()), "value");
}

TEST_F(refusals_attention, operands_of_the_wrong_dtype_layout_or_device) {
  const std::pair<ConstTensorView AttentionInputs::*, const char*> fields[] = {{&AttentionInputs::value, "value"},
                                                                               {&AttentionInputs::src, "src"},
                                                                               {&AttentionInputs::dst, "dst"},
                                                                               {&AttentionInputs::attn, "attn"},
                                                                               {&AttentionInputs::bias, "bias"}};
  for (const auto& [field, text] : fields) {
    SCOPED_TRACE(text);
    const AttentionInputs inputs = good(Score::gatv2);
    field_refused(Score::gatv2, field, as_dtype(inputs.*field, Dtype::i32), text);
    field_refused(Score::gatv2, field, on_cuda(inputs.*field), text);
    if (field != &AttentionInputs::attn) field_refused(Score::gatv2, field, overlapping(inputs.*field), text);
    if (field == &AttentionInputs::value) continue;  // the one that says which dtype the others must have
    ConstTensorView other = as_shape(doubled.view(), (inputs.*field).shape);
    field_refused(Score::gatv2, field, other, text);
  }
}

TEST_F(refusals_attention, scores_that_do_not_exist) {
  AttentionInputs inputs = good(Score::gat);
  inputs.score = static_cast<Score>(9);
  expect_refused([&] { attention(context, graph, inputs); }, "score");
}

TEST_F(refusals_attention, outputs_that_do_not_fit) {
  const Plan plan = make_plan(context, graph, {OpKind::attention, Dtype::f32, 2, 3, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor out = Tensor::zeros(Shape(6, 2, 3), Dtype::f32);
  Tensor row_max = Tensor::zeros(Shape(6, 2, 1), Dtype::f32), row_sum = Tensor::zeros(Shape(6, 2, 1), Dtype::f32);
  const auto run = [&](TensorView o, TensorView m, TensorView s) {
    attention(context, plan, graph, good(Score::gat), o, m, s);
  };
  EXPECT_NO_THROW(run(out, row_max, row_sum));
  for (const TensorView& bad : {TensorView(), without_memory(out.view()), as_shape(out.view(), Shape(5, 2, 3)),
                                as_shape(out.view(), Shape(6, 2, 2)), as_shape(out.view(), Shape(6, 1, 3)),
                                as_dtype(out.view(), Dtype::i32), overlapping(out.view()), on_cuda(out.view())})
    expect_refused([&] { run(bad, row_max, row_sum); }, "out");
  for (const TensorView& bad :
       {TensorView(), without_memory(row_max.view()), as_shape(row_max.view(), Shape(5, 2, 1)),
        as_shape(row_max.view(), Shape(6, 1, 1)), as_dtype(row_max.view(), Dtype::i32), on_cuda(row_max.view())}) {
    expect_refused([&] { run(out, bad, row_sum); }, "row_max");
    expect_refused([&] { run(out, row_max, bad); }, "row_sum");
  }
  const auto share = [&](const char* name, TensorView o, TensorView m, TensorView s) {
    expect_refused([&] { run(o, m, s); }, name);
  };
  share("row_max", out, as_shape(out.view(), Shape(6, 2, 1)), row_sum);
  share("row_sum", out, row_max, as_shape(out.view(), Shape(6, 2, 1)));
  share("row_sum", out, row_max, row_max);
  const TensorView input(const_cast<void*>(good(Score::gat).dst.data), Dtype::f32, Shape(6, 2, 1));
  share("row_max", out, input, row_sum);
  share("dst", out, row_max, input);
}

TEST_F(refusals_attention, results_of_another_forward) {
  const Tensor out_grad = random_tensor(Shape(6, 2, 3), Dtype::f32, 192);
  const AttentionInputs inputs = good(Score::gat);
  const auto damaged = [&](Tensor AttentionResult::*field, Tensor bad, std::string_view names,
                           int line = __builtin_LINE()) {
    AttentionResult result = attention(context, graph, inputs);
    result.*field = std::move(bad);
    expect_refused([&] { attention_backward(context, graph, inputs, result, out_grad); }, names,
                   ErrorCode::invalid_argument, __FILE__, line);
  };
  damaged(&AttentionResult::out, Tensor(), "out");
  damaged(&AttentionResult::row_max, Tensor(), "row_max");
  damaged(&AttentionResult::row_sum, Tensor(), "row_sum");
  damaged(&AttentionResult::out, Tensor::zeros(Shape(5, 2, 3), Dtype::f32), "out");
  damaged(&AttentionResult::row_max, Tensor::zeros(Shape(5, 2, 1), Dtype::f32), "row_max");
  damaged(&AttentionResult::row_sum, Tensor::zeros(Shape(6, 1, 1), Dtype::f32), "row_sum");
  damaged(&AttentionResult::row_sum, Tensor::zeros(Shape(6, 2, 1), Dtype::i32), "row_sum");
  const AttentionResult empty;
  expect_refused([&] { attention_weights(context, graph, inputs, empty); }, "row_max|row_sum|out");
}

TEST_F(refusals_attention, gradients_of_another_output) {
  const AttentionInputs inputs = good(Score::gat);
  const AttentionResult result = attention(context, graph, inputs);
  const Tensor out_grad = random_tensor(Shape(6, 2, 3), Dtype::f32, 193);
  for (const ConstTensorView& bad :
       Views{ConstTensorView(), without_memory(out_grad.view()), as_shape(out_grad.view(), Shape(5, 2, 3)),
             as_shape(out_grad.view(), Shape(6, 2, 2)), as_dtype(out_grad.view(), Dtype::i32), on_cuda(out_grad.view()),
             as_shape(doubled.view(), Shape(6, 2, 3))})
    expect_refused([&] { attention_backward(context, graph, inputs, result, bad); }, "out_grad");
}

}  // namespace
}  // namespace weft::test
