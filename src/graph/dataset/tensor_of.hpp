// Numbers that were read into something that grew, or that a reader needed first, as a tensor.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "weft/dataset.hpp"

namespace weft::io {

template <class Values>
Tensor tensor_of(const Values& values, std::string_view what) {
  using T = std::remove_cvref_t<decltype(*std::begin(values))>;
  Tensor tensor = Tensor::empty(Shape(static_cast<std::int64_t>(values.size())), dtype_of<T>, what);
  std::copy(std::begin(values), std::end(values), tensor.span<T>().begin());
  return tensor;
}

/// Names one after the other.
template <class Texts>
NodeNames names_of(const Texts& texts) {
  NodeNames names;
  names.offsets = Tensor::zeros(Shape(static_cast<std::int64_t>(std::size(texts)) + 1), Dtype::i64, "offsets of names");
  auto end = names.offsets.template span<std::int64_t>().begin();
  for (const auto& text : texts) {
    names.text += text;
    *++end = static_cast<std::int64_t>(names.text.size());
  }
  return names;
}

/// Classes of labels that count them from 0.
inline std::int64_t classes_in(const Tensor& labels) {
  std::int64_t classes = 0;
  for (const std::int32_t label : labels.span<std::int32_t>()) classes = std::max(classes, std::int64_t{label} + 1);
  return classes;
}

}  // namespace weft::io
