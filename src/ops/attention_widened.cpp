#include "ops/attention_widened.hpp"

#include "kernels/cuda/elementwise/elementwise.hpp"
#include "plan/cuda/wide_heads.hpp"

namespace weft {

AttentionShape widened(AttentionShape shape, std::int64_t head_width) {
  shape.value.width = shape.desc.width = head_width;
  shape.desc.widens = false;
  return shape;
}

void copy_heads(const Context& context, ConstTensorView from, TensorView to) {
  const Features features = Features::of(from.shape);
  cuda::copy_heads(
      {from.shape.rows, features.heads, features.width, to.shape.width, operand(from, features), result(to)},
      context.device(), context.stream());
}

void run_widened(Context& context, const Plan& plan, AttentionArgs args, ConstTensorView value, TensorView out) {
  Plan wide = plan;
  wide.desc.width = plan.cuda().head_width;
  const Features features{wide.desc.heads, wide.desc.width, 3};
  Arena arena = context.arena();
  const WideHeads copies = WideHeads::take(arena, wide.desc, out.shape.rows, value.shape.rows);
  const TensorView wide_value(copies.value.data(), value.dtype, features.with_rows(value.shape.rows), value.device),
      wide_out(copies.out.data(), out.dtype, features.with_rows(out.shape.rows), out.device);
  copy_heads(context, value, wide_value);
  args.width = features.width;
  args.value = operand(wide_value, features);
  args.out = result(wide_out);
  cuda::attention_forward(args, wide, arena, context.stream());
  copy_heads(context, wide_out, out);
}

WidenedBackward::WidenedBackward(Context& context, Arena& arena, std::int64_t head_width, const AttentionShape& of,
                                 const AttentionInputs& inputs, const AttentionResultViews& result,
                                 ConstTensorView gradient, const AttentionGradientViews& gradients)
    : shape(widened(of, head_width)), in(inputs), given(result), into(gradients) {
  OpDesc desc = shape.desc;
  desc.backward = true;
  const std::int64_t rows = gradient.shape.rows, columns = inputs.value.shape.rows;
  const WideHeads copies = WideHeads::take(arena, desc, rows, columns);
  const auto view = [&](std::byte* data, Dtype dtype, std::int64_t count) {
    return TensorView(data, dtype, shape.value.with_rows(count), gradient.device);
  };
  const TensorView value = view(copies.value.data(), desc.dtype, columns),
                   out = view(copies.out.data(), result.out.dtype, rows);
  out_grad = view(copies.out_grad.data(), desc.dtype, rows);
  // They share memory: the forward's result is read before value's gradient is written.
  into.value = view(copies.out.data(), gradients.value.dtype, columns);
  copy_heads(context, inputs.value, value);
  copy_heads(context, result.out, out);
  copy_heads(context, gradient, out_grad);
  in.value = value;
  given.out = out;
}

}  // namespace weft
