// Attention's gradients as a composition of other operators: what every device has for every score.
#pragma once

#include "ops/attention_inputs.hpp"

namespace weft {

/// Of checked arguments. Plans, reserves workspace and allocates.
AttentionGradients composed_attention_backward(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                               const AttentionShape& shape, const AttentionResult& given,
                                               ConstTensorView out_grad);

}  // namespace weft
