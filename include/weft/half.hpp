// Two-byte storage types. Arithmetic is in float; converting back rounds once, to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace weft {

/// IEEE binary16 as storage.
struct Half {
  std::uint16_t bits;
  Half() = default;  // leaves the bits uninitialised; Half{} is 0
  explicit Half(float value);
  explicit operator float() const;
  static constexpr Half from_bits(std::uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
};

/// bfloat16 as storage: the upper half of a float.
struct BFloat16 {
  std::uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
};

// Conversions are inline, so that the compiler can vectorise loops over them.

/// Conversions for processors that may lack an instruction for them. Masks select between the results for each kind of
/// value: with branches the compiler does not vectorise this code, because an addition might trap.
namespace by_masks {

inline std::uint32_t chosen(bool first, std::uint32_t one, std::uint32_t other) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
  return (one & mask) | (other & ~mask);
}

inline std::uint16_t half_of(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
  // Infinity, or a quiet NaN for any NaN.
  const std::uint32_t beyond = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
  // The exponent rebased, then the 13 dropped bits rounded to even.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Floats just above 0.5 are 2^-24 apart, like subnormal halves, so adding 0.5 rounds.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = chosen(magnitude >= 0x38800000u, normal, subnormal);
  // Values from 65520 on round to infinity.
  return static_cast<std::uint16_t>(sign | chosen(magnitude >= 0x477ff000u, beyond, finite));
}

inline float value_of(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  // Infinities and NaN have the largest exponent of both formats: 31 + 2 * 112 = 255.
  const std::uint32_t normal = (magnitude << 13) + 0x38000000u + (magnitude >= 0x7c00u ? 0x38000000u : 0u);
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  return std::bit_cast<float>(sign | chosen(magnitude >= 0x400u, normal, subnormal));
}

}  // namespace by_masks

#ifdef __ARM_FP16_FORMAT_IEEE
inline Half::Half(float value) : bits(std::bit_cast<std::uint16_t>(static_cast<__fp16>(value))) {}
inline Half::operator float() const { return std::bit_cast<__fp16>(bits); }
#else
inline Half::Half(float value) : bits(by_masks::half_of(value)) {}
inline Half::operator float() const { return by_masks::value_of(bits); }
#endif

inline BFloat16::BFloat16(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (word >> 16) | 0x40u;  // stays a NaN
  bits = static_cast<std::uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

}  // namespace weft
