// Attention's gradients as a composition of other operators, for every score on every device.
#pragma once

#include "ops/attention_inputs.hpp"

namespace weft {

/// The plans of all operators in the composition, for one graph.
struct ComposedAttention {
  Plan edges;                       // on a CPU: weights and gradients of scores
  Plan dots, softmax;               // on a GPU: gradients of weights, and of the softmax
  Plan value;                       // over the transpose
  Plan src, dst;                    // over the transpose, over the graph
  Graph all_rows;                   // gatv2: a graph of one row, with an edge per row of the graph, and
  Plan attn;                        //   the sum over it
  std::size_t workspace_bytes = 0;  // exact
};

ComposedAttention plan_composed_attention(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                          const AttentionShape& shape);
/// Throws an Error unless the plan is for these arguments.
void check_composed(const Context& context, const ComposedAttention& plan, const Graph& graph,
                    const AttentionInputs& inputs, const AttentionShape& shape);
/// The arguments must be checked already. Allocates nothing.
void composed_attention_backward(Context& context, const ComposedAttention& plan, const Graph& graph,
                                 const AttentionInputs& inputs, const AttentionShape& shape,
                                 const AttentionResultViews& given, ConstTensorView out_grad,
                                 const AttentionGradientViews& into);

}  // namespace weft
