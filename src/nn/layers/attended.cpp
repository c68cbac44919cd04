#include "nn/layers/attended.hpp"

#include "core/mix.hpp"

namespace weft::nn {

Attended::Attended(const Build& build, std::int64_t layer, Score score, std::int64_t heads, std::int64_t width)
    : context_(build.context),
      slots_(build.slots),
      graph_(build.graph),
      dtype_(build.dtype),
      heads_(heads),
      width_(width),
      means_(sizes_of_layer(build.spec, layer).means),
      dropout_(build.spec.attention_dropout) {
  inputs_.score = score;
  inputs_.slope = build.spec.slope;
  inputs_.seed = mix(build.seed ^ mix(0x61747465 + static_cast<std::uint64_t>(layer)));
  if (build.step != nullptr) inputs_.step = ConstTensorView(build.step, Dtype::i64, Shape(1), context_.device());
  OpDesc desc{OpKind::attention, dtype_, heads, width, Reduce::sum, true};
  desc.widens = score == Score::gat;
  desc.fits_windows = score == Score::gat && (!build.trains || dropout_ == 0);
  forward_ = make_plan(context_, graph_, desc);
  context_.reserve(forward_.workspace_bytes);
  // The one visit of the edges that a GPU's backward makes takes a row's mean from the output: of halves, not rounded.
  const bool returns = build.trains && score == Score::gat && context_.device().kind == DeviceKind::cuda;
  result_.out = build.empty(Shape(build.nodes(), heads, width), returns ? build.acc() : dtype_, "attention's output");
  result_.row_max = build.empty(Shape(build.nodes(), heads, 1), build.acc(), "attention's statistics");
  result_.row_sum = build.empty(Shape(build.nodes(), heads, 1), build.acc(), "attention's statistics");
  if (!build.trains) return;
  plan_backward(build, score);
  if (means_ && heads > 1) slots_.need(Slot::second, build.nodes() * heads * width, dtype_);
}

void Attended::plan_backward(const Build& build, Score score) {
  AttentionInputs like = inputs_;
  like.dropout = dropout_;
  const std::int64_t depth = score == Score::gat ? 1 : width_;
  // Aligned as every tensor is.
  const Tensor value = build.empty(Shape(build.sources(), heads_, width_), dtype_, "what is attended to");
  const Tensor src = build.empty(Shape(build.sources(), heads_, depth), dtype_, "score terms of sources");
  const Tensor dst = build.empty(Shape(build.nodes(), heads_, depth), dtype_, "score terms of destinations");
  const Tensor attn = build.empty(Shape(1, heads_, depth), dtype_, "an attention vector");
  like.value = value;
  like.src = src;
  like.dst = dst;
  if (score == Score::gatv2) like.attn = attn;
  backward_ = plan_attention_backward(context_, graph_, like);
  context_.reserve(backward_.workspace_bytes);
}

void Attended::forward(ConstTensorView value, ConstTensorView src, ConstTensorView dst, ConstTensorView attn,
                       bool training) {
  inputs_.value = value;
  inputs_.src = src;
  inputs_.dst = dst;
  inputs_.attn = attn;
  inputs_.dropout = training ? dropout_ : 0;
  attention(context_, forward_, graph_, inputs_, result_.out, result_.row_max, result_.row_sum);
}

void Attended::backward(ConstTensorView out_grad, const AttentionGradientViews& into) {
  attention_backward(context_, backward_, graph_, inputs_, result_, out_grad, into);
}

Applied Attended::write(TensorView out, const Tail& tail) {
  const bool wide = result_.out.dtype() != dtype_;
  if (!means_) {
    run(context_, dense::ActivateArgs{dtype_, out.shape.rows, heads_ * width_, result_.out.view().data, tail.bias.data,
                                      tail.activation, tail.mask, out.mutable_data(), nullptr, nullptr, nullptr, wide});
    return {true, true, true};
  }
  run(context_, dense::MeanHeadsArgs{dtype_, out.shape.rows, heads_, width_, result_.out.view().data, tail.bias.data,
                                     out.mutable_data(), wide, out.dtype == dtype_});
  return {true, false, false};
}

TensorView Attended::spread(TensorView out_grad) {
  const Shape by_head(out_grad.shape.rows, heads_, width_);
  if (!means_ || heads_ == 1) return {out_grad.mutable_data(), out_grad.dtype, by_head, out_grad.device};
  const TensorView grad = slots_.view(Slot::second, by_head, dtype_);
  run(context_,
      dense::MeanHeadsBackwardArgs{dtype_, out_grad.shape.rows, heads_, width_, out_grad.data, grad.mutable_data()});
  return grad;
}

}  // namespace weft::nn
