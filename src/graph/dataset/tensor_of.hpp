// Numbers that were read into something that grew, or that a reader needed first, as a tensor.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "weft/tensor.hpp"

namespace weft::io {

template <class Values>
Tensor tensor_of(const Values& values, std::string_view what) {
  using T = std::remove_cvref_t<decltype(*std::begin(values))>;
  Tensor tensor = Tensor::empty(Shape(static_cast<std::int64_t>(values.size())), dtype_of<T>, what);
  std::copy(std::begin(values), std::end(values), tensor.span<T>().begin());
  return tensor;
}

}  // namespace weft::io
