#include "nn/layers/norm_stage.hpp"

namespace weft::nn {

NormStage::NormStage(const Build& build, std::int64_t layer, std::int64_t width)
    : context_(build.context),
      parameters_(build.parameters),
      slots_(build.slots),
      dtype_(build.dtype),
      batch_(build.spec.norm == LayerNorm::batch),
      scale_(parameters_.index(layer_prefix(layer) + "norm.scale")),
      shift_(parameters_.index(layer_prefix(layer) + "norm.shift")) {
  if (batch_) {
    mean_ = parameters_.index(layer_prefix(layer) + "norm.mean");
    variance_ = parameters_.index(layer_prefix(layer) + "norm.variance");
  }
  input_ = build.empty(Shape(build.nodes(), width), dtype_, "what is normed");
  moments_ = build.empty(batch_ ? Shape(2, width) : Shape(build.nodes(), 2), build.acc(), "means and deviations");
  slots_.need_bytes(Slot::fold, loops::fold_bytes(build.nodes(), width, 2));
}

void NormStage::forward(TensorView out, bool training) {
  const std::int64_t rows = input_.shape().rows, width = input_.shape().width;
  auto* const moments = static_cast<std::byte*>(moments_.view().mutable_data());
  if (!batch_)
    return run(context_, dense::LayerNormArgs{dtype_, rows, width, input_.view().data, parameters_.value(scale_).data,
                                              parameters_.value(shift_).data, moments, out.mutable_data()});
  run(context_, dense::BatchNormArgs{dtype_, rows, width, input_.view().data, parameters_.value(scale_).data,
                                     parameters_.value(shift_).data, parameters_.statistic(mean_),
                                     parameters_.statistic(variance_), training, moments,
                                     moments + moments_.bytes() / 2, out.mutable_data(), slots_.data(Slot::fold)});
}

void NormStage::backward(TensorView grad) {
  const std::int64_t rows = input_.shape().rows, width = input_.shape().width;
  auto* const moments = static_cast<std::byte*>(moments_.view().mutable_data());
  void* const scale_grad = parameters_.grad(scale_).mutable_data();
  void* const shift_grad = parameters_.grad(shift_).mutable_data();
  if (!batch_)
    return run(context_, dense::LayerNormBackwardArgs{dtype_, rows, width, input_.view().data,
                                                      parameters_.value(scale_).data, moments, grad.mutable_data(),
                                                      scale_grad, shift_grad, slots_.data(Slot::fold)});
  run(context_, dense::BatchNormBackwardArgs{dtype_, rows, width, input_.view().data, parameters_.value(scale_).data,
                                             moments, moments + moments_.bytes() / 2, grad.mutable_data(), scale_grad,
                                             shift_grad, slots_.data(Slot::fold)});
}

}  // namespace weft::nn
