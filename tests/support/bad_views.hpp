// Views that no function may accept, made from good ones.
#pragma once

#include <vector>

#include "weft/tensor.hpp"

namespace weft::test {

using Views = std::vector<ConstTensorView>;

inline ConstTensorView without_memory(ConstTensorView view) {
  view.data = nullptr;
  return view;
}
inline TensorView without_memory(TensorView view) {
  view.data = nullptr;
  return view;
}
inline ConstTensorView on_cuda(ConstTensorView view) {
  view.device = Device{DeviceKind::cuda, 0};
  return view;
}
inline TensorView on_cuda(TensorView view) {
  view.device = Device{DeviceKind::cuda, 0};
  return view;
}
/// Rows that overlap the next.
inline ConstTensorView overlapping(ConstTensorView view) {
  view.ld = view.shape.row_size() - 1;
  return view;
}
inline TensorView overlapping(TensorView view) {
  view.ld = view.shape.row_size() - 1;
  return view;
}
/// The same memory called something else.
inline ConstTensorView as_dtype(ConstTensorView view, Dtype dtype) {
  view.dtype = dtype;
  return view;
}
inline TensorView as_dtype(TensorView view, Dtype dtype) {
  view.dtype = dtype;
  return view;
}
/// The same memory with another shape; never larger than the real one in these tests.
inline ConstTensorView as_shape(ConstTensorView view, Shape shape) {
  view.shape = shape;
  view.ld = shape.row_size();
  return view;
}
inline TensorView as_shape(TensorView view, Shape shape) {
  view.shape = shape;
  view.ld = shape.row_size();
  return view;
}
inline ConstTensorView negative(ConstTensorView view) {
  view.shape.rows = -1;
  return view;
}

}  // namespace weft::test
