// The accuracy promise and bitwise equality, as assertions.
//
// The promise: |y - y64| <= c * eps * sum |term|, c = ceil(log2 degree) + 4, eps = 2^-23 where sums are
// kept in float32 and 2^-52 where they are kept in float64. Half storage adds one rounding: since
// rounding is monotone, the result must then lie between the rounded ends of the float32 interval.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/values.hpp"
#include "weft/graph.hpp"

namespace weft::test {

/// What the oracle says an output should be.
struct Expected {
  Shape shape;
  std::vector<double> y;            // in float64
  std::vector<double> absolute;     // sum of |term|, one an element
  std::vector<std::int64_t> terms;  // summed into each element, one a row of the output
  double more = 0;                  // added to c: what the terms themselves may be off by
};

/// Half and bfloat16 as the double nearest to `value` in them.
inline double rounded_to(Dtype dtype, double value) {
  return with_floating(dtype, "dtype", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert<double>(convert<T>(value));
  });
}

inline double error_factor(std::int64_t terms, double more = 0) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(terms, 1) - 1)) + 4 + more;
}

/// The closed interval a result of this storage type may lie in.
struct Interval {
  double low, high;
};
inline Interval allowed(Dtype dtype, double y, double absolute, std::int64_t terms, double more = 0) {
  if (dtype == Dtype::f64) {  // the oracle sums in float64 too, so both may be off
    const double margin = 2 * error_factor(terms, more) * 0x1p-52 * absolute;
    return {y - margin, y + margin};
  }
  const double margin = error_factor(terms, more) * 0x1p-23 * absolute;
  if (dtype == Dtype::f32) return {y - margin, y + margin};
  return {rounded_to(dtype, y - margin), rounded_to(dtype, y + margin)};
}

inline void expect_within_bound(ConstTensorView actual, const Expected& expected, const std::string& context) {
  ASSERT_TRUE(actual) << context << ": no result";
  ASSERT_EQ(to_string(actual.shape), to_string(expected.shape)) << context;
  const std::vector<double> values = doubles(actual);
  const auto row_size = static_cast<std::size_t>(actual.shape.row_size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = expected.y[i];
    bool fine;
    Interval interval{y, y};
    if (!std::isfinite(y) || !std::isfinite(expected.absolute[i])) {
      fine = std::isnan(y) ? std::isnan(values[i]) : values[i] == y;
    } else {
      interval = allowed(actual.dtype, y, expected.absolute[i], expected.terms[i / row_size], expected.more);
      fine = values[i] >= interval.low && values[i] <= interval.high;
    }
    if (fine) continue;
    if (++wrong > 3) continue;
    ADD_FAILURE() << fmt::format("{}: element [{}, {}] is {}, expected {} (allowed {} to {}, {} terms of {} together)",
                                 context, i / row_size, i % row_size, values[i], y, interval.low, interval.high,
                                 expected.terms[i / row_size], expected.absolute[i]);
  }
  EXPECT_EQ(wrong, 0u) << context << ": elements of " << values.size() << " outside the bound";
}

/// Every element within `tolerance` of the other, absolutely and relatively; NaN equals NaN.
inline void expect_near(ConstTensorView actual, const std::vector<double>& expected, double tolerance,
                        const std::string& context) {
  const std::vector<double> values = doubles(actual);
  ASSERT_EQ(values.size(), expected.size()) << context;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << context << ": element " << i << " is " << values[i] << ", expected NaN";
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(values[i], expected[i]) << context << ": element " << i;
    } else {
      EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
          << context << ": element " << i;
    }
  }
}

inline void expect_values(ConstTensorView actual, const std::vector<double>& expected,
                          const std::string& context = "") {
  expect_near(actual, expected, 0, context);
}

/// The same bits, NaN payloads and the signs of zeros included.
inline bool bitwise_equal(ConstTensorView a, ConstTensorView b) {
  if (a.given != b.given) return false;
  if (!(a.shape == b.shape) || a.dtype != b.dtype) return false;
  const std::size_t element = size_of(a.dtype);
  const std::size_t row_bytes = static_cast<std::size_t>(a.shape.row_size()) * element;
  for (std::int64_t row = 0; row < a.shape.rows; ++row) {
    const auto* left = static_cast<const std::byte*>(a.data) + row * a.ld * static_cast<std::int64_t>(element);
    const auto* right = static_cast<const std::byte*>(b.data) + row * b.ld * static_cast<std::int64_t>(element);
    if (row_bytes > 0 && std::memcmp(left, right, row_bytes) != 0) return false;
  }
  return true;
}

inline std::vector<std::int64_t> degrees_of(const Graph& graph) {
  std::vector<std::int64_t> degrees;
  for (std::int64_t row = 0; row < graph.num_rows(); ++row)
    degrees.push_back(graph.offsets()[static_cast<std::size_t>(row) + 1] -
                      graph.offsets()[static_cast<std::size_t>(row)]);
  return degrees;
}

}  // namespace weft::test
