// The dense pieces of a layer beside the sparse operators, for programs that write their own models: products,
// activations, a loss and optimiser steps, on the device of the context. In the library weft::nn.
//
// Tensors are dense: a row follows the last without a gap. Biases and their gradients are f32 (f64 where activations
// are f64), parameters of optimisers and logits are f32, whatever the storage type of the activations. Results have the
// same bits from run to run, on a CPU for any number of threads. What does not say otherwise runs in the order of the
// context's stream and does not wait. A context outlives what was made with it, and stays where it is.
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

// ---- Sums over neighbours and their product with weights --------------------------------------

/// out = finish(rows weight), where finish(y) = relu(y + bias) and
///   rows[v] = relu(row_scale[v] * reduce over u -> v of (col_scale[u] * edge * x[u]) + (1 + eps) * x[v] + bias),
/// rounded to the storage type once, as spmm would store them. Names in `rows` are those of its Epilogue.
struct SpmmLinearOptions {
  Epilogue rows = {};        // bias [in], f32 (f64 for f64 storage)
  bool add_self = false;     // (1 + eps) * x[v] counts; where rows are fewer or more than sources, of those in both
  ConstTensorView eps = {};  // one number, f32 (f64 for f64 storage); none: 0
  bool transpose_weight = false;  // weight is [out, in]
  ConstTensorView bias = {};      // [out], f32 (f64 for f64 storage)
  bool relu = false;
  /// f16: results past its range become the largest value, not infinity. (With bias or relu they may in any case, and
  /// so may rows with add_self and one of those.)
  bool saturate = false;
  TensorView kept = {};  // where given, the rows are stored here, [num_rows, in] of the storage type
};

/// What is the same in every run.
struct SpmmLinearDesc {
  Dtype dtype = Dtype::f32;       // of x and weight
  std::int64_t in = 1, out = 1;   // columns of x and of the result
  Reduce reduce = Reduce::sum;    // or mean
  bool weighted = false;          // edges have values
  bool backward = false;          // gradients will be asked for
  std::optional<bool> fuse = {};  // unset: where that pays
};

/// Shaped like what they belong to; that of the weights f32 (f64 for f64 storage). Those not given are not computed.
struct SpmmLinearGradients {
  TensorView x, weight;
};

/// spmm and a product in one: where it fuses, the rows that a block of threads has summed go to tensor cores (or stay
/// in the cache of a core) and reach memory only if somebody keeps them. Where it does not, spmm, the passes and a
/// product follow one another, to the same results but for rounding. Planned when made: runs allocate nothing on a GPU.
class SpmmLinear {
 public:
  SpmmLinear(Context& context, const Graph& graph, const SpmmLinearDesc& desc);
  ~SpmmLinear();
  SpmmLinear(SpmmLinear&&) noexcept;
  SpmmLinear& operator=(SpmmLinear&&) noexcept;

  /// Whether a run is one kernel, forward and, if gradients were announced, for that of x.
  bool fused() const;
  bool fused_backward() const;

  /// x [num_cols, in]; edge [E], in the storage type or f32 (f64), where the desc is weighted; weight [in, out]; out
  /// [num_rows, out] in the storage type or f32.
  void operator()(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, TensorView out,
                  const SpmmLinearOptions& options = {});
  /// From the gradient of rows weight: activate_backward has taken it through bias and relu, and rows have neither.
  /// With T the sums of out_grad against the edges, x's is T weight^T in the kernel that makes T, which is kept
  /// (written once, read once), and the weights' x^T T, added up in fixed order. None comes back for edge values or
  /// eps.
  void backward(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, ConstTensorView out_grad,
                const SpmmLinearGradients& into, const SpmmLinearOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Plans, allocates and returns [num_rows, out]. options.rows, reduce and weights of the graph as above.
Tensor spmm_linear(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                   ConstTensorView weight, const SpmmLinearOptions& options = {}, Reduce reduce = Reduce::sum);

// ---- Activations ------------------------------------------------------------------------------

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
