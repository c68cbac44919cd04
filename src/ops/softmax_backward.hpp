// edge_softmax_backward by a plan.
#pragma once

#include "ops/operands.hpp"

namespace weft {

/// Of checked arguments; `out` is neither of the others.
void edge_softmax_backward(Context& context, const Plan& plan, const Graph& graph, ConstTensorView alpha,
                           ConstTensorView alpha_grad, TensorView out);

}  // namespace weft
