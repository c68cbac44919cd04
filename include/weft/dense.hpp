// The dense parts of a layer, for programs with models of their own: products, activations, a loss and optimiser steps,
// on the context's device. They are in the library weft::nn.
//
// Tensors are dense: rows are contiguous, without gaps; only MatrixProduct takes any leading dimension. Biases and
// their gradients are f32 (f64 if activations are f64), optimiser parameters and logits are f32, whatever the storage
// type of the activations. Results are bitwise the same from run to run, on a CPU for any number of threads. Unless
// stated otherwise, work runs in the order of the context's stream and the call does not wait. A context must outlive
// the objects made with it and must not be moved.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/nn.hpp"
#include "weft/ops.hpp"
#include "weft/tensor.hpp"

namespace weft {

struct ProductOptions {
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;  // add to c's content
};

/// Products of dense matrices. An object holds the state of the device's library (a cuBLAS handle on a GPU), so reuse
/// it.
class MatrixProduct {
 public:
  /// With `tf32`, f32 factors on a GPU are rounded to 10 bits of mantissa and multiplied on tensor cores.
  explicit MatrixProduct(const Context& context, bool tf32 = false);
  ~MatrixProduct();
  MatrixProduct(MatrixProduct&&) noexcept;
  MatrixProduct& operator=(MatrixProduct&&) noexcept;

  /// c = a b, with a and b of one storage type; c has that type, or f32 if it is f16 or bf16.
  void operator()(ConstTensorView a, ConstTensorView b, TensorView c, const ProductOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- Sums over neighbours and their product with weights --------------------------------------

/// out = finish(rows weight), where finish(y) = relu(y + bias) and
///   rows[v] = relu(row_scale[v] * reduce over u -> v of (col_scale[u] * edge * x[u]) + (1 + eps) * x[v] + bias),
/// rounded to the storage type once, as spmm stores them. The names inside rows[v] are those of the Epilogue `rows`.
struct SpmmLinearOptions {
  Epilogue rows = {};             // without self_scale: see add_self; bias [in], f32 (f64 for f64 storage)
  bool add_self = false;          // adds (1 + eps) * x[v], for nodes that are both a row and a source
  ConstTensorView eps = {};       // one number, f32 (f64 for f64 storage); none: 0
  bool transpose_weight = false;  // weight is [out, in]
  ConstTensorView bias = {};      // [out], f32 (f64 for f64 storage)
  bool relu = false;
  /// f16: results past its range become the largest value, not infinity. (With bias or relu they may do so without it,
  /// and so may rows with add_self and one of those.)
  bool saturate = false;
  TensorView kept = {};  // if given, the rows are stored here, [num_rows, in] of the storage type
};

/// The properties that all runs of an SpmmLinear share.
struct SpmmLinearDesc {
  Dtype dtype = Dtype::f32;       // of x and weight
  std::int64_t in = 1, out = 1;   // columns of x and of the result
  Reduce reduce = Reduce::sum;    // or mean
  bool weighted = false;          // edges have values
  bool backward = false;          // backward() will be called
  std::optional<bool> fuse = {};  // unset: if it pays
};

/// Gradients shaped like their tensors; that of the weights is f32 (f64 for f64 storage). A gradient without a view is
/// not computed.
struct SpmmLinearGradients {
  TensorView x, weight;
};

/// spmm and a product in one. Fused, the rows that a thread block has summed go straight to tensor cores (or stay in
/// the cache of a core) and are written to memory only for `kept` or a gradient. Unfused, spmm, the passes and a
/// product run one after another, with the same results up to rounding. The constructor plans: runs allocate nothing
/// on a GPU.
class SpmmLinear {
 public:
  SpmmLinear(Context& context, const Graph& graph, const SpmmLinearDesc& desc);
  ~SpmmLinear();
  SpmmLinear(SpmmLinear&&) noexcept;
  SpmmLinear& operator=(SpmmLinear&&) noexcept;

  /// Whether the forward, and with SpmmLinearDesc::backward x's gradient, is one kernel.
  bool fused() const;
  bool fused_backward() const;

  /// x [num_cols, in]; edge [E], in the storage type or f32 (f64), if the desc is weighted; weight [in, out]; out
  /// [num_rows, out] in the storage type or f32 (f64).
  void operator()(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, TensorView out,
                  const SpmmLinearOptions& options = {});
  /// `out_grad` is the gradient of the product rows weight: call activate_backward first to get it from that of `out`.
  /// `rows` must have no bias and no relu. With T the sums of out_grad over the transpose, x's gradient is T weight^T,
  /// in the kernel that computes T, which is stored (written once, read once); the weights' gradient is x^T T, added up
  /// in fixed order. Edge values and eps get no gradient.
  void backward(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, ConstTensorView out_grad,
                const SpmmLinearGradients& into, const SpmmLinearOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Plans, allocates and returns [num_rows, out]; the arguments are those of SpmmLinear.
Tensor spmm_linear(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                   ConstTensorView weight, const SpmmLinearOptions& options = {}, Reduce reduce = Reduce::sum);

// ---- Activations ------------------------------------------------------------------------------

/// out = activation(x + bias); `bias` has one value per column, or is none. `out` may be `x`.
void activate(const Context& context, ConstTensorView x, ConstTensorView bias, Activation activation, TensorView out);
/// Computes x's gradient `grad` from activate's result `out` and its gradient `out_grad`. `bias_grad`, if given, is the
/// sum of grad over the rows. `grad` may be `out_grad`. Allocates scratch memory for the sums.
void activate_backward(const Context& context, ConstTensorView out, ConstTensorView out_grad, Activation activation,
                       TensorView grad, TensorView bias_grad = {});

struct LossFigures {
  double loss = 0, accuracy = 0;
};

/// The mean softmax cross-entropy over a subset of a graph's nodes.
class CrossEntropy {
 public:
  /// `labels` i32 [N]: classes, -1 if unknown; `nodes` i32: the subset. Both on the host.
  CrossEntropy(const Context& context, ConstTensorView labels, ConstTensorView nodes);
  ~CrossEntropy();
  CrossEntropy(CrossEntropy&&) noexcept;
  CrossEntropy& operator=(CrossEntropy&&) noexcept;

  /// The loss and accuracy of logits [N, classes]. `grad`, if given, has the same shape and receives the gradient of
  /// the mean, 0 in the rows of other nodes. Waits for the device, because it returns the figures to the host.
  LossFigures operator()(ConstTensorView logits, TensorView grad = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Steps of Adam, AdamW or SGD over a list of parameters. It reads only these TrainOptions: optimiser, lr, schedule,
/// warmup, every, gamma, epochs, weight_decay, momentum, beta1, beta2, epsilon. One step is one epoch of the
/// learning-rate schedule.
class OptimiserSteps {
 public:
  /// The parameters, f32 on the context's device, must outlive this object. Weight decay applies to those of two or
  /// more dimensions.
  OptimiserSteps(const Context& context, std::vector<TensorView> parameters, const TrainOptions& options);
  ~OptimiserSteps();
  OptimiserSteps(OptimiserSteps&&) noexcept;
  OptimiserSteps& operator=(OptimiserSteps&&) noexcept;

  /// Takes one step. `gradients` are in the order of the parameters, each shaped like its parameter.
  void operator()(std::span<const ConstTensorView> gradients);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
