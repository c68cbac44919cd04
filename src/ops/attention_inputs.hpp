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
/// out, row_max and row_sum as the forward writes them and the backward reads them.
void check_results(const Context& context, const Graph& graph, const AttentionShape& shape, ConstTensorView out,
                   ConstTensorView row_max, ConstTensorView row_sum);
/// A tensor a kernel reads through a Result, as it does with what the forward kept.
Result readable(ConstTensorView tensor);

}  // namespace weft
