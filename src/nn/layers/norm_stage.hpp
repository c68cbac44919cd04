// Batch or layer norm between a layer and its activation.
#pragma once

#include "dense/norm.hpp"
#include "nn/build.hpp"

namespace weft::nn {

class NormStage {
 public:
  NormStage(const Build& build, std::int64_t layer, std::int64_t width);

  /// Where the layer writes.
  TensorView input() { return input_; }
  void forward(TensorView out, bool training);
  /// The gradient of what forward wrote becomes that of its input.
  void backward(TensorView grad);

 private:
  Context& context_;
  Parameters& parameters_;
  Slots& slots_;
  Dtype dtype_;
  bool batch_;
  std::size_t scale_, shift_, mean_ = 0, variance_ = 0;
  Tensor input_;
  Tensor moments_;  // batch norm: mean and variance of columns; layer norm: of rows
};

}  // namespace weft::nn
