// The dense pieces of a layer beside the sparse operators, for programs that write their own models: products,
// activations, a loss and optimiser steps, on the device of the context. In the library weft::nn.
//
// Tensors are dense: a row follows the last without a gap. Biases and their gradients are f32 (f64 where activations
// are f64), parameters of optimisers and logits are f32, whatever the storage type of the activations. Results have the
// same bits from run to run, on a CPU for any number of threads. What does not say otherwise runs in the order of the
// context's stream and does not wait. A context outlives what was made with it, and stays where it is.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/context.hpp"
#include "weft/nn.hpp"
#include "weft/tensor.hpp"

namespace weft {

struct ProductOptions {
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;  // add to what is in c
};

/// Products of dense matrices. Holds what the device's library needs (a cuBLAS handle on a GPU), so keep one.
class MatrixProduct {
 public:
  /// `tf32`: on a GPU, f32 factors are rounded to 10 bits of mantissa and multiplied on tensor cores.
  explicit MatrixProduct(const Context& context, bool tf32 = false);
  ~MatrixProduct();
  MatrixProduct(MatrixProduct&&) noexcept;
  MatrixProduct& operator=(MatrixProduct&&) noexcept;

  /// c = a b, with a and b of one storage type; c has that type, or f32 where it is f16 or bf16.
  void operator()(ConstTensorView a, ConstTensorView b, TensorView c, const ProductOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// out = activation(x + bias), by columns; `bias` f32 [columns] or none. `out` may be `x`.
void activate(const Context& context, ConstTensorView x, ConstTensorView bias, Activation activation, TensorView out);
/// grad = the gradient of x from `out`, the result of activate, and `out_grad`; where `bias_grad` is given it is the
/// sum of grad over the rows. `grad` may be `out_grad`. Allocates scratch memory for the sums.
void activate_backward(const Context& context, ConstTensorView out, ConstTensorView out_grad, Activation activation,
                       TensorView grad, TensorView bias_grad = {});

struct LossFigures {
  double loss = 0, accuracy = 0;
};

/// Mean softmax cross-entropy over some nodes of a graph.
class CrossEntropy {
 public:
  /// `labels` i32 [N]: classes, -1 where none is known; `nodes` i32: those that count. Both on the host.
  CrossEntropy(const Context& context, ConstTensorView labels, ConstTensorView nodes);
  ~CrossEntropy();
  CrossEntropy(CrossEntropy&&) noexcept;
  CrossEntropy& operator=(CrossEntropy&&) noexcept;

  /// Of logits [N, classes]; where `grad` is given, of the same shape, it becomes the gradient of the mean, 0 in the
  /// rows of other nodes. Waits for the device, as the figures are the host's.
  LossFigures operator()(ConstTensorView logits, TensorView grad = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Steps of Adam, AdamW or SGD over a list of parameters, with the learning-rate schedule of TrainOptions (optimiser,
/// lr, schedule, warmup, every, gamma, epochs, weight_decay, momentum, beta1, beta2, epsilon count; nothing else does).
/// One step counts as one epoch of the schedule.
class OptimiserSteps {
 public:
  /// The parameters, f32 on the context's device, must outlive this. Weight decay counts for those of two or more
  /// dimensions.
  OptimiserSteps(const Context& context, std::vector<TensorView> parameters, const TrainOptions& options);
  ~OptimiserSteps();
  OptimiserSteps(OptimiserSteps&&) noexcept;
  OptimiserSteps& operator=(OptimiserSteps&&) noexcept;

  /// `gradients` in the order of the parameters, each shaped like its own.
  void operator()(std::span<const ConstTensorView> gradients);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
