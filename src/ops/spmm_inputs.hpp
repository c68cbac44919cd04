// spmm's operands, checked and resolved once for forward and backward.
#pragma once

#include "ops/operands.hpp"

namespace weft {

struct SpmmShape {
  OpDesc desc;
  Features features;
};

/// Checks everything except the output and the plan; `kind` is spmm or spmv.
SpmmShape resolve(const Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                  const SpmmOptions& options, OpKind kind = OpKind::spmm);

/// Whether row windows support these messages of type `dtype`: x times one value per edge of the same type.
inline bool weighs_by_one_value(SpmmOp op, ConstTensorView edge, Dtype dtype) {
  return op == SpmmOp::u_mul_e && edge.shape.row_size() == 1 && edge.dtype == dtype;
}

}  // namespace weft
