// From a run-time value to a compile-time one, through functions instead of macros.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/check.hpp"
#include "core/storage.hpp"

namespace weft {

/// Calls f(TypeTag<Storage>{}) for the floating storage type `dtype` names; `what` is the argument to blame.
template <class F>
decltype(auto) with_floating(Dtype dtype, std::string_view what, F&& f) {
  using Returned = decltype(f(TypeTag<float>{}));
  return with_storage_of(AllStorages{}, dtype, std::forward<F>(f), [&]() -> Returned {
    fail(ErrorCode::invalid_argument, "{} has dtype {}: expected f32, f16, bf16 or f64", what, name(dtype));
  });
}

/// The same over all six types.
template <class F>
decltype(auto) with_any_dtype(Dtype dtype, F&& f) {
  if (dtype == Dtype::i32) return f(TypeTag<std::int32_t>{});
  if (dtype == Dtype::i64) return f(TypeTag<std::int64_t>{});
  return with_floating(dtype, "tensor", std::forward<F>(f));
}

/// A double as a float whose last bit remembers that something was cut off (rounding to odd), so that
/// rounding the float to half afterwards is the one correct rounding of the double.
inline float round_to_odd_float(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || value != value || std::isinf(nearest)) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) bits -= 1;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}
inline float round_to_odd_float(float value) { return value; }
inline float round_to_odd_float(std::int64_t value) {  // not through double, which would round a first time
  const std::uint64_t magnitude =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  const int dropped = std::max(static_cast<int>(std::bit_width(magnitude)) - 24, 0);
  const bool inexact = (magnitude & ((std::uint64_t{1} << dropped) - 1)) != 0;
  const float rounded = std::ldexp(static_cast<float>(magnitude >> dropped | (inexact ? 1u : 0u)), dropped);
  return value < 0 ? -rounded : rounded;
}
inline float round_to_odd_float(std::int32_t value) { return round_to_odd_float(std::int64_t{value}); }

/// To an integer as far as it goes: towards zero, the nearest end for what lies outside, 0 for NaN.
template <class To, class From>
To saturate(From value) {
  constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  if constexpr (std::is_integral_v<From>) {
    return static_cast<To>(std::clamp<std::int64_t>(value, low, high));
  } else {
    if (value != value) return 0;
    if (value < static_cast<From>(low)) return low;
    return value >= -static_cast<From>(low) ? high : static_cast<To>(value);
  }
}

/// One conversion for every pair of storage types; halves go through float.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(round_to_odd_float(value));
  } else if constexpr (std::is_integral_v<To>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace weft
