// From a run-time value to a compile-time one, through functions instead of macros.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "core/check.hpp"
#include "weft/types.hpp"

namespace weft {

template <class T>
struct TypeTag {
  using type = T;
};

/// What a storage type is accumulated in.
template <class Storage>
using AccumulatorOf = std::conditional_t<std::is_same_v<Storage, double>, double, float>;

/// Calls f(TypeTag<Storage>{}) for the floating storage type `dtype` names; `what` is the argument to blame.
template <class F>
decltype(auto) with_floating(Dtype dtype, std::string_view what, F&& f) {
  switch (dtype) {
    case Dtype::f32: return f(TypeTag<float>{});
    case Dtype::f16: return f(TypeTag<Half>{});
    case Dtype::bf16: return f(TypeTag<BFloat16>{});
    case Dtype::f64: return f(TypeTag<double>{});
    default: fail(ErrorCode::invalid_argument, "{} has dtype {}: expected f32, f16, bf16 or f64", what, name(dtype));
  }
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
inline float round_to_odd_float(std::int32_t value) { return round_to_odd_float(static_cast<double>(value)); }
inline float round_to_odd_float(std::int64_t value) { return round_to_odd_float(static_cast<double>(value)); }

/// One conversion for every pair of storage types; halves go through float.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(round_to_odd_float(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace weft
