// Elements of any floating storage type, on the host and on a GPU alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/pack.hpp"
#include "core/philox.hpp"
#include "core/storage.hpp"

/// Before a loop whose arrays are to stand in registers on a GPU: which element is meant must be known then.
#ifdef __CUDA_ARCH__
#define WEFT_UNROLLED _Pragma("unroll")
#else
#define WEFT_UNROLLED
#endif

namespace weft::loops {

/// What is past the range of f16 becomes the largest value there is; NaN stays.
template <class T>
WEFT_ANYWHERE inline AccumulatorOf<T> within_range(AccumulatorOf<T> value) {
  if constexpr (std::is_same_v<T, Half>) {
    constexpr float most = 65504.0f;
    if (value > most) value = most;
    if (value < -most) value = -most;
  }
  return value;
}
template <class T>
WEFT_ANYWHERE inline T narrow_within(AccumulatorOf<T> value) {
  return narrow<T>(within_range<T>(value));
}

/// `Count` elements from the i-th on, which is a multiple of it.
template <class T, int Count>
WEFT_ANYWHERE inline Pack<T, Count> pack_at(const void* from, std::int64_t i) {
  const T* const first = static_cast<const T*>(from) + i;
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Pack<T, Count>*>(first);
#else
  Pack<T, Count> pack;
  for (int n = 0; n < Count; ++n) pack.values[n] = first[n];
  return pack;
#endif
}
template <class T, int Count>
WEFT_ANYWHERE inline void put_pack(void* to, std::int64_t i, const Pack<T, Count>& pack) {
  T* const first = static_cast<T*>(to) + i;
#ifdef __CUDA_ARCH__
  *reinterpret_cast<Pack<T, Count>*>(first) = pack;
#else
  for (int n = 0; n < Count; ++n) first[n] = pack.values[n];
#endif
}

/// 64-bit division takes a GPU a hundred instructions: only where numbers need it.
WEFT_ANYWHERE inline std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if ((static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b)) >> 32 == 0)
    return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

WEFT_ANYWHERE inline float exponential(float x) { return expf(x); }
WEFT_ANYWHERE inline double exponential(double x) { return exp(x); }
/// The same as exactly as T can tell.
template <class T>
WEFT_ANYWHERE inline AccumulatorOf<T> exponential_for(AccumulatorOf<T> x) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 2) return __expf(x);
#endif
  return exponential(x);
}
WEFT_ANYWHERE inline float logarithm(float x) { return logf(x); }
WEFT_ANYWHERE inline double logarithm(double x) { return log(x); }

}  // namespace weft::loops
