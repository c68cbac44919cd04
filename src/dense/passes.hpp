// Passes over dense arrays that layers are made of besides products and sums over edges. Each is one or two launches on
// a GPU and a parallel loop on a CPU, over the same bodies (*bodies.hpp). Arrays are dense; T is the storage type and
// Acc what it is accumulated in, which parameters, their gradients and logits are always kept in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/loops/fold.hpp"
#include "core/loops/run.hpp"
#include "dense/mask.hpp"
#include "weft/context.hpp"
#include "weft/nn.hpp"

namespace weft::dense {

using namespace loops;  // what passes are made of
using loops::run;       // so that calls find it by their arguments

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

/// f16: what is past its range becomes the largest value there is.
void saturate(const Context& context, TensorView values);

}  // namespace weft::dense
