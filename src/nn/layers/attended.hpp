// Attention along the edges with what its backward needs, planned once: the part GAT and GATv2 share.
#pragma once

#include "dense/passes.hpp"
#include "nn/build.hpp"
#include "nn/layers/conv.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

/// Heads side by side, as products with weights take them.
inline TensorView flat(TensorView v) {
  return {v.mutable_data(), v.dtype, Shape(v.shape.rows, v.shape.row_size()), v.device};
}

constexpr std::string_view attention_refuses_weights = "its attention weighs edges itself";
/// What GAT's paper has used on citation graphs.
inline void set_attention_defaults(ModelSpec& spec) {
  spec.hidden = 8;
  spec.heads = 8;
  spec.activation = Activation::elu;
  spec.self_loops = true;
  spec.dropout = spec.attention_dropout = 0.6f;
}
inline void set_attention_defaults(TrainOptions& options) {
  options.lr = 0.005;
  options.epochs = 1000;
  options.patience = 100;
  options.best_by = BestBy::accuracy;
}

class Attended {
 public:
  Attended(const Build& build, std::int64_t layer, Score score, std::int64_t heads, std::int64_t width);

  /// value, src, dst (and attn) as AttentionInputs has them; the result stays here.
  void forward(ConstTensorView value, ConstTensorView src, ConstTensorView dst, ConstTensorView attn, bool training);
  /// Of the last forward; out_grad is [nodes, heads, width].
  void backward(ConstTensorView out_grad, const AttentionGradientViews& into);

  /// The result into a layer's output: as it is, or its mean over heads.
  Applied write(TensorView out, const Tail& tail);
  /// The gradient of what backward takes, from that of a layer's output.
  TensorView spread(TensorView out_grad);

  Shape shape() const { return result_.out.shape(); }

 private:
  /// Whose shapes and alignment are those of every run, for a plan.
  void plan_backward(const Build& build, Score score);

  Context& context_;
  Slots& slots_;
  Graph graph_;
  Dtype dtype_;
  std::int64_t heads_, width_;
  bool means_;  // over heads, for the layer's output
  AttentionInputs inputs_;
  float dropout_;
  Plan forward_;
  AttentionBackwardPlan backward_;
  AttentionResult result_;
};

}  // namespace weft::nn
