// Small dense helpers of the backward passes, on the context's device.
#pragma once

#include "ops/operands.hpp"

namespace weft {

/// tensor *= factor, in its own dtype (floating).
void scale_in_place(const Context& context, TensorView tensor, double factor);
/// A copy in the accumulator type; row r is multiplied by scale[r] (f32 or f64) if a scale is given.
Tensor widened(const Context& context, ConstTensorView x, ConstTensorView scale = {});
void widen(const Context& context, ConstTensorView x, ConstTensorView scale, TensorView out);
/// Sums over the dimensions of x that are 1 in `features`, the adjoint of broadcasting; a dimension of 1 in x that is
/// larger in `features` is repeated.
Tensor reduce_to(const Context& context, ConstTensorView x, Features features, Dtype dtype);
void reduce_to(const Context& context, ConstTensorView x, TensorView out);
/// One head of [n, H, F] as [n, F].
ConstTensorView head_of(ConstTensorView x, std::int64_t head);
/// a *= b, a /= b and a += b, row by row; b's missing dimensions broadcast.
void multiply_in_place(const Context& context, TensorView a, ConstTensorView b);
void divide_in_place(const Context& context, TensorView a, ConstTensorView b);
void add_in_place(const Context& context, TensorView a, ConstTensorView b);
/// a *= sign * b^power, for an integer power of either sign.
void times_power(const Context& context, TensorView a, int sign, ConstTensorView b, int power);
/// One value per destination, f32 or f64: scale[v], or 1, divided by v's number of edges if it has any.
void row_norms(const Context& context, const Graph& graph, ConstTensorView scale, TensorView out);

}  // namespace weft
