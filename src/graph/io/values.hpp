// Edge values on their way between files and tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/memory.hpp"
#include "weft/graph.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

/// The smallest type that holds every value exactly: f32, else f64.
Tensor smallest_exact(std::span<const double> values);
/// f32, else f64, else i64.
Tensor smallest_exact(std::span<const std::int64_t> values);

/// Refuses values that are no scalar per edge; `format` is named in the message.
void check_scalar_values(const ConstTensorView& values, std::string_view format);

/// Value of edge `id`, for views of any leading dimension.
template <class T>
T value_at(const ConstTensorView& values, EdgeId id) {
  return values.as<T>()[id * values.ld];
}

}  // namespace weft::io
