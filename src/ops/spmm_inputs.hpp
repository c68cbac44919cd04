// spmm's operands, checked and resolved once for forward and backward.
#pragma once

#include "ops/operands.hpp"

namespace weft {

struct SpmmShape {
  OpDesc desc;
  Features features;
};

/// Everything but the output and the plan; `kind` is spmm or spmv.
SpmmShape resolve(const Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                  const SpmmOptions& options, OpKind kind = OpKind::spmm);

}  // namespace weft
