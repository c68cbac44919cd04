// Batch norm, over the nodes, and layer norm, over a node's features: out = (x - mean) / deviation * scale + shift.
#pragma once

#include "dense/passes.hpp"

namespace weft::dense {

inline constexpr double norm_epsilon = 1e-5, norm_momentum = 0.1;  // as everybody has them

struct BatchNormArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;                               // T
  const void *scale = nullptr, *shift = nullptr;         // Acc [width]
  void *running_mean = nullptr, *running_var = nullptr;  // Acc [width]: moved in training, read otherwise
  bool training = false;
  void *mean = nullptr, *variance = nullptr;  // Acc [width]: of these rows, kept for the backward
  void* out = nullptr;                        // T
  void* scratch = nullptr;                    // fold_bytes(rows, width, 2)
};
struct BatchNormBackwardArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void *x = nullptr, *scale = nullptr, *mean = nullptr, *variance = nullptr;
  void* grad = nullptr;                               // T: of out, and then of x
  void *scale_grad = nullptr, *shift_grad = nullptr;  // Acc [width]
  void* scratch = nullptr;                            // fold_bytes(rows, width, 2)
};

struct LayerNormArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;
  const void *scale = nullptr, *shift = nullptr;
  void* moments = nullptr;  // Acc [rows, 2]: mean and 1 / deviation, kept for the backward
  void* out = nullptr;
};
struct LayerNormBackwardArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void *x = nullptr, *scale = nullptr, *moments = nullptr;
  void* grad = nullptr;  // T: of out, and then of x
  void *scale_grad = nullptr, *shift_grad = nullptr;
  void* scratch = nullptr;  // fold_bytes(rows, width, 2)
};

}  // namespace weft::dense
