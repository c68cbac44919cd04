#include "weft/types.hpp"

#include <limits>

#include "core/check.hpp"

namespace weft {

std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16: return 2;
    case Dtype::f32:
    case Dtype::i32: return 4;
    case Dtype::f64:
    case Dtype::i64: return 8;
  }
  fail(ErrorCode::internal, "dtype {} has no size", static_cast<int>(dtype));
}

double largest_value(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 65504;
    case Dtype::bf16: return static_cast<float>(BFloat16::from_bits(0x7f7f));
    case Dtype::f32: return std::numeric_limits<float>::max();
    case Dtype::f64: return std::numeric_limits<double>::max();
    default: fail(ErrorCode::internal, "dtype {} is no floating type", static_cast<int>(dtype));
  }
}

Half::Half(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000u;
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // infinity, or NaN kept a quiet NaN
    bits = static_cast<std::uint16_t>(sign | 0x7c00u |
                                      (magnitude > 0x7f800000u ? 0x200u | ((magnitude >> 13) & 0x3ffu) : 0u));
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (magnitude >= 0x38800000u) {  // normal: rebias, then round the 13 dropped bits to even
    const std::uint32_t rebased = magnitude - 0x38000000u;
    bits = static_cast<std::uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
  } else {  // subnormal: next to 0.5 a float steps by 2^-24, as a subnormal half does, so adding rounds
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
}

Half::operator float() const {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float subnormal = static_cast<float>(magnitude) * 0x1.0p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

BFloat16::BFloat16(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);  // stays a NaN, quiet
  } else {
    bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
}

}  // namespace weft
