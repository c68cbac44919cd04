// sddmm's operands, checked and resolved once for forward and backward.
#pragma once

#include "ops/operands.hpp"

namespace weft {

struct SddmmShape {
  OpDesc desc;
  Features operands, out;
};

SddmmShape resolve(const Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                   const SddmmOptions& options);

}  // namespace weft
