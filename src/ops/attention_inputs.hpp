// Attention's inputs, checked and resolved once for forward, weights and backward.
#pragma once

#include "ops/operands.hpp"

namespace weft {

struct AttentionShape {
  OpDesc desc;
  Features value, score;
};

AttentionShape resolve(const Context& context, const Graph& graph, const AttentionInputs& inputs);
AttentionArgs arguments(const Graph& graph, const AttentionInputs& inputs, const AttentionShape& shape);
/// The same for a backward, which reads what the forward gave.
AttentionArgs arguments(const Graph& graph, const AttentionInputs& inputs, const AttentionShape& shape,
                        const AttentionResultViews& given);
/// Of gat's score gradients, added up over rows in the type scores are accumulated in.
OpDesc score_sums(const AttentionShape& shape);
/// out, row_max and row_sum as the forward writes them and the backward reads them.
void check_results(const Context& context, const Graph& graph, const AttentionShape& shape, ConstTensorView out,
                   ConstTensorView row_max, ConstTensorView row_sum);

}  // namespace weft
