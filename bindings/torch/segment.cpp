// Segment reduction: the rows between two offsets become one row; and its gradient.
#include "core/names.hpp"
#include "operators.hpp"
#include "runtime.hpp"
#include "weft/ops.hpp"

namespace weft::pytorch {
namespace {

Validate looked_at(bool trusted) { return trusted ? Validate::trusted : Validate::full; }

}  // namespace

Tensor segment_reduce(Tensor x, Tensor offsets, std::string reduce, bool trusted) {
  const Input values(x, "x"), starts = Input::in_a_row(offsets, "offsets");
  Context context = context_of(x);
  const std::int64_t segments = starts.view().shape.rows - 1;
  if (segments < 0)
    throw Error(ErrorCode::invalid_argument, "offsets is empty: expected one more than there are segments");
  Shape by_segment = values.view().shape;
  by_segment.rows = segments;
  const Tensor out = empty(by_segment, values.view().dtype, x);
  weft::segment_reduce(context, starts, values, parse_reduce(reduce), writable(out), looked_at(trusted));
  return out;
}

Tensor segment_reduce_backward(Tensor x, Tensor offsets, Tensor out_grad, std::string reduce) {
  const Reduce by = parse_reduce(reduce);
  // ops/segment.py saves a placeholder of x if only its shape and type are read.
  const Input values = is_extremum(by) ? Input(x, "x") : Input::of_kind(x, "x");
  const Input starts = Input::in_a_row(offsets, "offsets"), grad(out_grad, "out_grad");
  Context context = context_of(out_grad);
  const Tensor x_grad = empty(values.view().shape, values.view().dtype, out_grad);
  weft::segment_reduce_backward(context, starts, values, grad, by, writable(x_grad), Validate::trusted);
  return x_grad;
}

}  // namespace weft::pytorch
