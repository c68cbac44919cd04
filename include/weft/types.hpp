// The small vocabulary every other header speaks: index types, storage types, devices, and the
// names of operators. Storage type and accumulator type are separate things throughout weft.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

using NodeId = std::int32_t;  // 32 bits: the index arrays are what a sparse kernel streams
using EdgeId = std::int64_t;  // 64 bits: graphs with more than 2^31 edges are ordinary

enum class Dtype : std::uint8_t { f32, f16, bf16, f64, i32, i64 };

std::size_t size_of(Dtype dtype);
std::string_view name(Dtype dtype);
/// "f32", "f16", "bf16", "f64", "i32" or "i64"; anything else is an Error that lists them.
Dtype parse_dtype(std::string_view text);
/// The largest finite value of a floating type.
double largest_value(Dtype dtype);
constexpr bool is_floating(Dtype dtype) { return dtype <= Dtype::f64; }

/// IEEE binary16 as storage. Arithmetic happens in float; converting back rounds once, to nearest even.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
  static constexpr Half from_bits(std::uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
};

/// bfloat16 as storage: the upper half of a float, rounded to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
};

// Conversions are inline, so that loops over many values take several at a time.

#if defined(__ARM_FP16_FORMAT_IEEE)
inline Half::Half(float value) : bits(std::bit_cast<std::uint16_t>(static_cast<__fp16>(value))) {}
inline Half::operator float() const { return std::bit_cast<__fp16>(bits); }
#else
// By masks among what each kind of value would become: of branches a compiler makes no vectors here, as an addition
// might trap.
namespace detail {
inline std::uint32_t chosen(bool first, std::uint32_t one, std::uint32_t other) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
  return (one & mask) | (other & ~mask);
}
}  // namespace detail

inline Half::Half(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
  // Infinity, or a NaN kept a quiet NaN.
  const std::uint32_t beyond = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
  // Rebased, then the 13 dropped bits rounded to even.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Next to 0.5 a float steps by 2^-24, as a subnormal half does, so adding rounds.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = detail::chosen(magnitude >= 0x38800000u, normal, subnormal);
  // 65520 and more round to infinity.
  bits = static_cast<std::uint16_t>(sign | detail::chosen(magnitude >= 0x477ff000u, beyond, finite));
}

inline Half::operator float() const {
  const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  // Infinities and NaN have the largest exponent of both formats: 31 + 2 * 112 = 255.
  const std::uint32_t normal = (magnitude << 13) + 0x38000000u + (magnitude >= 0x7c00u ? 0x38000000u : 0u);
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  return std::bit_cast<float>(sign | detail::chosen(magnitude >= 0x400u, normal, subnormal));
}
#endif

inline BFloat16::BFloat16(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (word >> 16) | 0x40u;  // stays a NaN
  bits = static_cast<std::uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/// The Dtype of a C++ storage type: dtype_of<float> == Dtype::f32.
template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::f32;
};
template <>
struct DtypeOf<Half> {
  static constexpr Dtype value = Dtype::f16;
};
template <>
struct DtypeOf<BFloat16> {
  static constexpr Dtype value = Dtype::bf16;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::f64;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr Dtype value = Dtype::i32;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr Dtype value = Dtype::i64;
};
template <class T>
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "cuda:0".
std::string to_string(Device device);
/// "cpu", "cuda" or "cuda:N".
Device parse_device(std::string_view text);

/// What an edge u -> v sends to v: the source's features, the edge's, or both combined.
enum class SpmmOp : std::uint8_t { copy_u, copy_e, u_add_e, u_sub_e, u_mul_e, u_div_e };
enum class Reduce : std::uint8_t { sum, mean, max, min };
/// What two operands give on an edge.
enum class SddmmOp : std::uint8_t { dot, add, sub, mul, div, copy_lhs, copy_rhs };
/// Where an SDDMM operand lives: at the edge's source, its destination, or on the edge itself.
enum class Target : std::uint8_t { u, v, e };
/// How attention scores an edge; see ops.hpp.
enum class Score : std::uint8_t { gat, gatv2, dot };

std::string_view name(SpmmOp op);
std::string_view name(Reduce reduce);
std::string_view name(SddmmOp op);
std::string_view name(Target target);
std::string_view name(Score score);
SpmmOp parse_spmm_op(std::string_view text);
Reduce parse_reduce(std::string_view text);
SddmmOp parse_sddmm_op(std::string_view text);
Target parse_target(std::string_view text);
Score parse_score(std::string_view text);

constexpr bool uses_node(SpmmOp op) { return op != SpmmOp::copy_e; }
constexpr bool uses_edge(SpmmOp op) { return op != SpmmOp::copy_u; }

}  // namespace weft
