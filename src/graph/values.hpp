// Checks on edge values a caller passes.
#pragma once

#include <string_view>

#include "core/check.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// An Error unless `values` can be read by the host as its shape says.
inline void check_values(const ConstTensorView& values, std::string_view argument) {
  WEFT_CHECK(values.given, invalid_argument, "{} is missing: expected one row for every edge", argument);
  WEFT_CHECK(values.device.kind == DeviceKind::cpu, unsupported, "{} is on {}: expected it on the cpu", argument,
             to_string(values.device));
  WEFT_CHECK(values.shape.rows >= 0 && values.shape.heads >= 0 && values.shape.width >= 0, invalid_argument,
             "{} has shape {}: no dimension may be negative", argument, to_string(values.shape));
  WEFT_CHECK(values.ld >= values.shape.row_size(), invalid_argument,
             "{} has a leading dimension of {}: expected at least the {} elements of a row", argument, values.ld,
             values.shape.row_size());
  WEFT_CHECK(values.data != nullptr || values.shape.size() == 0, invalid_argument, "{} {} has no memory behind it",
             argument, to_string(values.shape));
}

}  // namespace weft
