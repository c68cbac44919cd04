// The types that every other header uses: index types, storage types, devices, and the names of operators. weft keeps
// storage type and accumulator type separate throughout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/half.hpp"

namespace weft {

using NodeId = std::int32_t;  // 32 bits: sparse kernels stream arrays of these
using EdgeId = std::int64_t;  // 64 bits: graphs with more than 2^31 edges are common

enum class Dtype : std::uint8_t { f32, f16, bf16, f64, i32, i64 };

[[noreturn]] void refuse_dtype(Dtype dtype);  // throws an Error: no enumerator has that value
/// Bytes per element.
constexpr std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16: return 2;
    case Dtype::f32:
    case Dtype::i32: return 4;
    case Dtype::f64:
    case Dtype::i64: return 8;
  }
  refuse_dtype(dtype);
}
std::string_view name(Dtype dtype);
/// Accepts "f32", "f16", "bf16", "f64", "i32" and "i64"; anything else is an Error that lists them.
Dtype parse_dtype(std::string_view text);
/// The largest finite value of a floating type.
double largest_value(Dtype dtype);
constexpr bool is_floating(Dtype dtype) { return dtype <= Dtype::f64; }

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

/// Gives "cpu" or "cuda:0".
std::string to_string(Device device);
/// Accepts "cpu", "cuda" and "cuda:N".
Device parse_device(std::string_view text);

/// The message that an edge u -> v sends to v: the source's features, the edge's, or both combined.
enum class SpmmOp : std::uint8_t { copy_u, copy_e, u_add_e, u_sub_e, u_mul_e, u_div_e };
enum class Reduce : std::uint8_t { sum, mean, max, min };
/// How an SDDMM combines its two operands per edge.
enum class SddmmOp : std::uint8_t { dot, add, sub, mul, div, copy_lhs, copy_rhs };
/// Where an SDDMM operand is indexed: by the edge's source, its destination, or the edge itself.
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
/// Whether a row's result is one of its messages, the winner, and not the sum of all.
constexpr bool is_extremum(Reduce reduce) { return reduce == Reduce::max || reduce == Reduce::min; }

}  // namespace weft
