// Passes over dense arrays that layers are made of besides products and sums over edges. Each is one or two launches on
// a GPU and a parallel loop on a CPU, over the same bodies (*bodies.hpp). Arrays are dense; T is the storage type and
// Acc what it is accumulated in, which parameters, their gradients and logits are always kept in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/loops/fold.hpp"
#include "core/loops/run.hpp"
#include "nn/dense/mask.hpp"
#include "nn/step_state.hpp"
#include "weft/context.hpp"

namespace weft::nn {

using namespace loops;  // what passes are made of

/// out = dropped(activation(row_scale * x + (1 + *added_eps) * added + bias)). Values past the range of f16 become the
/// largest there is.
struct ActivateArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;     // T
  const void* bias = nullptr;  // Acc [width] or null
  Activation activation = Activation::none;
  DropMask mask = {};
  void* out = nullptr;              // T; may be x
  const void* row_scale = nullptr;  // Acc [rows] or null
  const void* added = nullptr;      // T, as x, or null
  const void* added_eps = nullptr;  // Acc; null: 0
  bool wide = false;                // x is Acc
};

/// grad = row_scale * out_grad through dropout and activation; bias_grad that without row_scale, summed over the rows.
struct ActivateBackwardArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* out = nullptr;       // T: what activate left; unread where nothing is activated
  const void* out_grad = nullptr;  // T
  Activation activation = Activation::none;
  DropMask mask = {};
  void* grad = nullptr;             // T; may be out_grad; null: only the sum is wanted
  void* bias_grad = nullptr;        // Acc [width] or null
  void* scratch = nullptr;          // fold_bytes(rows, width, 1)
  const void* row_scale = nullptr;  // Acc [rows] or null
  void* added_to = nullptr;         // T or null: += (1 + *added_eps) * what bias_grad sums
  const void* added_eps = nullptr;  // Acc; null: 0
};

/// out = scale * x, by row. Where it `saturates`, values past the range of f16 become the largest there is: activations
/// may, but of gradients an overflow must be found.
struct ScaleRowsArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;      // T
  const void* scale = nullptr;  // Acc [rows]
  void* out = nullptr;          // T; may be x
  bool saturates = false;
};

/// out += (1 + *eps) * x; saturates as ScaleRowsArgs.
struct AddSelfArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t count = 0;
  const void* x = nullptr;    // T
  const void* eps = nullptr;  // Acc; null: 0
  void* out = nullptr;        // T
  bool saturates = false;
};
/// *eps_grad = the sum of x * out_grad.
struct SelfGradArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;         // T
  const void* out_grad = nullptr;  // T
  void* eps_grad = nullptr;        // Acc
  void* scratch = nullptr;         // fold_bytes(rows, width, 1)
};

/// What attention's scores are made of: src[n, h] = x[n, h] . src_vector[h], and dst likewise.
struct HeadDotsArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, heads = 1, width = 1;
  const void* x = nullptr;                                  // T [rows, heads, width]
  const void *src_vector = nullptr, *dst_vector = nullptr;  // Acc [heads, width]
  void *src = nullptr, *dst = nullptr;                      // T [rows, heads]
};
/// x_grad += src_grad * src_vector + dst_grad * dst_vector, and the gradients of both vectors.
struct HeadDotsBackwardArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, heads = 1, width = 1;
  const void* x = nullptr;
  const void *src_vector = nullptr, *dst_vector = nullptr;
  const void *src_grad = nullptr, *dst_grad = nullptr;          // T [rows, heads]
  void* x_grad = nullptr;                                       // T [rows, heads, width]
  void *src_vector_grad = nullptr, *dst_vector_grad = nullptr;  // Acc [heads, width]
  void* scratch = nullptr;                                      // fold_bytes(rows, heads * width, 2)
};

/// out = mean of x over the heads + bias.
struct MeanHeadsArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, heads = 1, width = 1;
  const void* x = nullptr;     // T [rows, heads, width]
  const void* bias = nullptr;  // Acc [width] or null
  void* out = nullptr;         // Acc [rows, width]
  bool wide = false;           // x is Acc
  bool rounds = false;         // out is T, and saturates
};
/// grad[n, h] = out_grad[n] / heads.
struct MeanHeadsBackwardArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, heads = 1, width = 1;
  const void* out_grad = nullptr;  // T [rows, width]
  void* grad = nullptr;            // T [rows, heads, width]
};

/// Softmax cross-entropy over classes, or where nodes have several labels the sigmoid's: sums over every split; or, if
/// a gradient is wanted, over the training split, and the gradient of its mean times the loss scale, 0 for all others.
struct LossArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, classes = 0;
  std::int64_t stride = 0;               // of a row of logits and gradients; what is past the classes is 0
  const void* logits = nullptr;          // Acc [rows, classes]
  const std::int32_t* labels = nullptr;  // [nodes]; or
  const float* targets = nullptr;        // [nodes, classes], NaN where nothing is known
  const std::uint8_t* split = nullptr;   // [nodes]: 0 none, 1 train, 2 val, 3 test
  const NodeId* nodes = nullptr;         // [rows]: whose the rows are; null: row i is node i's
  const float* row_weights = nullptr;    // [rows] that losses are multiplied by, in sums and gradients; null: 1
  double weight = 1;                     // of a node's (with several labels an output's) loss, in gradients
  const StepState* state = nullptr;
  void* grad = nullptr;       // T [rows, classes] or null; may be logits
  SplitSums* sums = nullptr;  // [num_splits]
  void* scratch = nullptr;    // fold_bytes(rows, num_splits * 4, 1)

  WEFT_ANYWHERE std::int64_t node(std::int64_t row) const { return nodes != nullptr ? nodes[row] : row; }
};

/// Sets state->overflow where a gradient is not finite.
struct FindOverflowArgs {
  Dtype dtype = Dtype::f32;  // Acc
  std::int64_t count = 0;
  const void* grads = nullptr;
  StepState* state = nullptr;
};

/// One step of the optimiser over all parameters, and their copies in T.
struct OptimiseArgs {
  Dtype dtype = Dtype::f32;  // T
  std::int64_t count = 0;
  void* parameters = nullptr;                // Acc
  const void* grads = nullptr;               // Acc
  void *first = nullptr, *second = nullptr;  // Acc: the optimiser's memory
  const std::uint8_t* decays = nullptr;      // [count]: 1 where weight decay counts
  void* stored = nullptr;                    // T; null where T is Acc
  Optimiser optimiser = Optimiser::adam;
  Rate rate;
  double weight_decay = 0, momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  const StepState* state = nullptr;
};

/// After a step: counts it, lets the loss scale follow, and where it ends an epoch publishes the epoch's figures.
struct EndStepArgs {
  StepState* state = nullptr;
  const SplitSums* sums = nullptr;  // of the training pass
  SplitSums* total = nullptr;       // of the epoch's steps so far
  double weight = 1;                // of the step's losses in the epoch's
  bool ends_epoch = true;
  bool scales = false;     // the loss scale is dynamic
  float least_scale = 1;   // it falls no further
  bool evaluated = false;  // EndEvaluationArgs follows
  Rate rate;
  Published* published = nullptr;  // [epochs], by epoch
  std::int64_t* done = nullptr;    // epochs published
};
/// After a look at the splits: whether this epoch is the best, and whether training goes on.
struct EndEvaluationArgs {
  StepState* state = nullptr;
  const SplitSums* sums = nullptr;
  double val_weight = 1;
  bool has_val = false;
  BestBy best_by = BestBy::accuracy;
  std::int64_t patience = 0;
  Published* published = nullptr;
  std::int64_t* done = nullptr;
};
/// Copies bytes where this epoch is the best.
struct KeepBestArgs {
  const StepState* state = nullptr;
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t words = 0;  // of four bytes
};

/// f16: what is past its range becomes the largest value there is.
void saturate(const Context& context, TensorView values);

}  // namespace weft::nn
