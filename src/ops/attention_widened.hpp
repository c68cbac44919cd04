// Attention with heads that run wider than they are: see plan/cuda/wide_heads.hpp.
#pragma once

#include "ops/attention_inputs.hpp"

namespace weft {

/// The first features of every head, and zeros behind them where `to` has more; of one type.
void copy_heads(const Context& context, ConstTensorView from, TensorView to);
/// The forward, by a plan that says how wide heads run; `args` are of the heads as they are.
void run_widened(Context& context, const Plan& plan, AttentionArgs args, ConstTensorView value, TensorView out);

/// What a backward reads and writes, in the copies of its run.
struct WidenedBackward {
  AttentionShape shape;
  AttentionInputs in;
  AttentionResultViews given;
  TensorView out_grad;
  AttentionGradientViews into;

  /// Takes the copies from the arena and fills those that are read.
  WidenedBackward(Context& context, Arena& arena, std::int64_t head_width, const AttentionShape& of,
                  const AttentionInputs& inputs, const AttentionResultViews& result, ConstTensorView gradient,
                  const AttentionGradientViews& gradients);
};
AttentionShape widened(AttentionShape shape, std::int64_t head_width);

}  // namespace weft
