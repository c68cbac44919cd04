// Only +, -, *, / in a fixed order, which IEEE 754 rounds one way. This file must be compiled with
// -ffp-contract=off (generate.cmake): a fused multiply-add rounds once where two operations round
// twice, and compilers for some processors fuse by default.
#include "graph/generate/power.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace weft::generator {
namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;

double power_of_two(int exponent) {  // for normal results
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace

double portable_log2(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (mantissa > 0x1.6a09e667f3bcdp+0) {  // sqrt(2): keeps |t| below 0.172, so 11 terms reach 2^-53
    mantissa *= 0.5;
    exponent += 1;
  }
  const double t = (mantissa - 1) / (mantissa + 1);
  const double square = t * t;
  double series = 0;  // atanh(t) / t = 1 + t^2 / 3 + t^4 / 5 + ...
  for (int k = 11; k >= 0; --k) series = series * square + 1.0 / (2 * k + 1);
  return exponent + 2 * t * series / ln2;
}

double portable_exp2(double y) {
  const double whole = std::floor(y + 0.5);
  const double z = (y - whole) * ln2;  // |z| < 0.347: 14 terms reach 2^-53
  double series = 1;
  for (int k = 14; k >= 1; --k) series = 1 + series * z / k;
  return series * power_of_two(static_cast<int>(whole));
}

}  // namespace weft::generator
