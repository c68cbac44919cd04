// Passes of a training step beside those of the network: losses, the optimiser, and the bookkeeping of steps and
// epochs. T is the storage type and Acc what it is accumulated in, which parameters, their gradients and logits are
// always kept in.
#pragma once

#include <cstdint>

#include "core/loops/fold.hpp"
#include "core/loops/run.hpp"
#include "nn/step/state.hpp"
#include "weft/context.hpp"

namespace weft::nn {

using namespace loops;  // what passes are made of
using loops::run;       // so that calls find it by their arguments

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

}  // namespace weft::nn
