// Attention whose heads run with a larger, padded width: see plan/cuda/wide_heads.hpp.
#pragma once

#include "ops/attention_inputs.hpp"

namespace weft {

/// Copies the first features of every head, and pads with zeros if `to` has more; both have the same dtype.
void copy_heads(const Context& context, ConstTensorView from, TensorView to);
/// The forward with the padded width of the plan; `args` have the heads' own width.
void run_widened(Context& context, const Plan& plan, AttentionArgs args, ConstTensorView value, TensorView out);

/// The inputs and outputs of a backward, in padded copies in the workspace.
struct WidenedBackward {
  AttentionShape shape;
  AttentionInputs in;
  AttentionResultViews given;
  TensorView out_grad;
  AttentionGradientViews into;

  /// Allocates the copies from the arena and fills the inputs.
  WidenedBackward(Context& context, Arena& arena, std::int64_t head_width, const AttentionShape& of,
                  const AttentionInputs& inputs, const AttentionResultViews& result, ConstTensorView gradient,
                  const AttentionGradientViews& gradients);
};
AttentionShape widened(AttentionShape shape, std::int64_t head_width);

}  // namespace weft
