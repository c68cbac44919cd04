// Attention's gradients as a composition of other operators: what every device has for every score.
#pragma once

#include "ops/attention_inputs.hpp"

namespace weft {

/// Every operator of the composition planned for one graph.
struct ComposedAttention {
  Plan edges;                       // on a CPU: weights and gradients of scores
  Plan dots, softmax;               // on a GPU: gradients of weights, and of the softmax
  Plan value;                       // over the transpose
  Plan src, dst;                    // over the transpose, over the graph
  Graph all_rows;                   // gatv2: one row with an edge for each of the graph's, and
  Plan attn;                        //   the sum over it
  std::size_t workspace_bytes = 0;  // exact
};

ComposedAttention plan_composed_attention(Context& context, const Graph& graph, const AttentionInputs& inputs,
                                          const AttentionShape& shape);
/// An Error unless the plan is for such arguments.
void check_composed(const Context& context, const ComposedAttention& plan, const Graph& graph,
                    const AttentionInputs& inputs, const AttentionShape& shape);
/// Of checked arguments. Allocates nothing.
void composed_attention_backward(Context& context, const ComposedAttention& plan, const Graph& graph,
                                 const AttentionInputs& inputs, const AttentionShape& shape,
                                 const AttentionResultViews& given, ConstTensorView out_grad,
                                 const AttentionGradientViews& into);

}  // namespace weft
