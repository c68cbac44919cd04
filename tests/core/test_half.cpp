// Storage conversions, exhaustively: every half and bfloat16, and every float next to a rounding border.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/dispatch.hpp"

namespace weft {
namespace {

// The value of a 16-bit pattern straight from the definition of the format.
double value_of(std::uint16_t bits, int mantissa_bits, int bias) {
  const int exponent_bits = 15 - mantissa_bits;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}
double half_value(std::uint16_t bits) { return value_of(bits, 10, 15); }
double bfloat_value(std::uint16_t bits) { return value_of(bits, 7, 127); }

template <class T>
std::uint16_t bits_of(float value) {
  return T(value).bits;
}

// Every border between neighbours of one format: the tie goes to the even pattern, its neighbours among the
// floats to the nearer side. `infinity` is the pattern after the largest finite one.
template <class T>
void check_borders(double (*value)(std::uint16_t), std::uint16_t infinity) {
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const std::uint16_t high = low + 1;
    // Past the largest finite value the next step of the same size decides, as if the exponent went on.
    const double above = high < infinity ? value(high) : 2 * value(low) - value(static_cast<std::uint16_t>(low - 1));
    const auto middle = static_cast<float>((value(low) + above) / 2);
    if (std::isinf(middle)) continue;
    ASSERT_EQ(static_cast<double>(middle), (value(low) + above) / 2) << "a float must hold the border";
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(bits_of<T>(middle), even) << low;
    ASSERT_EQ(bits_of<T>(std::nextafterf(middle, 0.0f)), low) << low;
    ASSERT_EQ(bits_of<T>(std::nextafterf(middle, HUGE_VALF)), high) << low;
    ASSERT_EQ(bits_of<T>(-middle), even | 0x8000) << low;
    ASSERT_EQ(bits_of<T>(-std::nextafterf(middle, 0.0f)), low | 0x8000) << low;
    ASSERT_EQ(bits_of<T>(-std::nextafterf(middle, HUGE_VALF)), high | 0x8000) << low;
  }
}

// Half's conversion where a processor's own is not taken, whichever this one takes.
struct HalfByMasks {
  std::uint16_t bits;
  explicit HalfByMasks(float value) : bits(by_masks::half_of(value)) {}
  explicit operator float() const { return by_masks::value_of(bits); }
  static HalfByMasks from_bits(std::uint16_t bits) {
    HalfByMasks half(0);
    half.bits = bits;
    return half;
  }
};

template <class T>
void check_patterns(double (*expected)(std::uint16_t)) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto value = static_cast<float>(T::from_bits(bits));
    if (std::isnan(expected(bits))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(value)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected(bits)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(T(value).bits, bits);
  }
}

TEST(half, every_pattern_reads_as_its_value_and_comes_back) { check_patterns<Half>(half_value); }
TEST(half_by_masks, every_pattern_reads_as_its_value_and_comes_back) { check_patterns<HalfByMasks>(half_value); }
TEST(bfloat16, every_pattern_reads_as_its_value_and_comes_back) { check_patterns<BFloat16>(bfloat_value); }

TEST(half, rounds_to_nearest_even_at_every_border) { check_borders<Half>(half_value, 0x7c00); }
TEST(half_by_masks, rounds_to_nearest_even_at_every_border) { check_borders<HalfByMasks>(half_value, 0x7c00); }
TEST(bfloat16, rounds_to_nearest_even_at_every_border) { check_borders<BFloat16>(bfloat_value, 0x7f80); }

template <class T>
void check_ends_of_range() {
  EXPECT_EQ(T(65519.996f).bits, 0x7bff);
  EXPECT_EQ(T(65520.0f).bits, 0x7c00);
  EXPECT_EQ(T(-1e30f).bits, 0xfc00);
  EXPECT_EQ(T(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_EQ(T(0x1.0p-25f).bits, 0);
  EXPECT_EQ(T(std::nextafterf(0x1.0p-25f, 1.0f)).bits, 1);
  EXPECT_EQ(T(-0.0f).bits, 0x8000);
  EXPECT_EQ(T(std::numeric_limits<float>::denorm_min()).bits, 0);
}
TEST(half, overflows_at_65520_and_underflows_at_half_the_smallest_subnormal) { check_ends_of_range<Half>(); }
TEST(half_by_masks, overflows_at_65520_and_underflows_at_half_the_smallest_subnormal) {
  check_ends_of_range<HalfByMasks>();
}

TEST(bfloat16, the_largest_float_rounds_to_infinity) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::lowest()).bits, 0xff80);
}

TEST(nan, stays_nan_whatever_its_payload) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x7f801fffu}) {
    const auto value = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
    EXPECT_TRUE(std::isnan(static_cast<float>(HalfByMasks(value)))) << bits;
    EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(value)))) << bits;
  }
}

// A double just off a border between halves: through a plain float it would land on the tie and round wrongly.
TEST(convert, rounds_doubles_to_half_and_bfloat16_once) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const double middle = (half_value(low) + half_value(static_cast<std::uint16_t>(low + 1))) / 2;
    ASSERT_EQ(convert<Half>(std::nextafter(middle, 0.0)).bits, low) << low;
    ASSERT_EQ(convert<Half>(std::nextafter(middle, 1e9)).bits, low + 1) << low;
    ASSERT_EQ(convert<Half>(middle).bits, low % 2 == 0 ? low : low + 1) << low;
  }
  for (std::uint16_t low = 0x80; low < 0x7f7f; ++low) {
    const double middle = (bfloat_value(low) + bfloat_value(static_cast<std::uint16_t>(low + 1))) / 2;
    ASSERT_EQ(convert<BFloat16>(std::nextafter(middle, 0.0)).bits, low) << low;
    ASSERT_EQ(convert<BFloat16>(std::nextafter(middle, 1e300)).bits, low + 1) << low;
  }
}

TEST(convert, takes_integers_and_extremes_of_doubles) {
  EXPECT_EQ(static_cast<float>(convert<Half>(std::int32_t{2049})), 2048.0f);
  EXPECT_EQ(static_cast<float>(convert<Half>(std::int64_t{2051})), 2052.0f);
  EXPECT_EQ(convert<Half>(1e300).bits, 0x7c00);
  EXPECT_EQ(convert<Half>(-1e300).bits, 0xfc00);
  EXPECT_EQ(convert<Half>(1e-300).bits, 0);
  EXPECT_TRUE(std::isnan(static_cast<float>(convert<BFloat16>(std::nan("")))));
  EXPECT_EQ(convert<std::int64_t>(Half(3.0f)), 3);
  EXPECT_EQ(convert<double>(BFloat16(0.5f)), 0.5);
  EXPECT_EQ(convert<float>(1.0 + 0x1.0p-30), 1.0f);
}

// An int64 that a double cannot hold must still be rounded to bfloat16 once.
TEST(convert, rounds_large_integers_to_bfloat16_once) {
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);  // between two bfloat16, low one even
  EXPECT_EQ(convert<double>(convert<BFloat16>(tie)), 0x1.0p62);
  EXPECT_EQ(convert<double>(convert<BFloat16>(tie + 1)), 0x1.02p62);
  EXPECT_EQ(convert<double>(convert<BFloat16>(tie - 1)), 0x1.0p62);
  EXPECT_EQ(convert<double>(convert<BFloat16>(-tie - 1)), -0x1.02p62);
  EXPECT_EQ(convert<double>(convert<BFloat16>(std::numeric_limits<std::int64_t>::min())), -0x1.0p63);
  EXPECT_EQ(convert<Half>(std::numeric_limits<std::int64_t>::min()).bits, 0xfc00);
}

TEST(convert, to_integers_saturates_and_takes_nan_for_zero) {
  constexpr auto low32 = std::numeric_limits<std::int32_t>::min(), high32 = std::numeric_limits<std::int32_t>::max();
  constexpr auto low64 = std::numeric_limits<std::int64_t>::min(), high64 = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(convert<std::int32_t>(1e30), high32);
  EXPECT_EQ(convert<std::int32_t>(-HUGE_VALF), low32);
  EXPECT_EQ(convert<std::int32_t>(2147483647.9), high32);
  EXPECT_EQ(convert<std::int32_t>(-2147483648.0), low32);
  EXPECT_EQ(convert<std::int32_t>(-2.9f), -2);
  EXPECT_EQ(convert<std::int64_t>(0x1.0p63), high64);
  EXPECT_EQ(convert<std::int64_t>(-0x1.0p63f), low64);
  EXPECT_EQ(convert<std::int64_t>(std::nanf("")), 0);
  EXPECT_EQ(convert<std::int32_t>(high64), high32);
  EXPECT_EQ(convert<std::int32_t>(std::int64_t{-5}), -5);
}

}  // namespace
}  // namespace weft
