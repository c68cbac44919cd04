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
/// The same for a backward, which also reads the forward's results.
AttentionArgs arguments(const Graph& graph, const AttentionInputs& inputs, const AttentionShape& shape,
                        const AttentionResultViews& given);
/// Describes sums of gat's score gradients over rows, in the scores' accumulator type.
OpDesc score_sums(const AttentionShape& shape);
/// Checks out, row_max and row_sum, which the forward writes and the backward reads.
void check_results(const Context& context, const Graph& graph, const AttentionShape& shape, ConstTensorView out,
                   ConstTensorView row_max, ConstTensorView row_sum);

}  // namespace weft
