// Gradients against central differences in float64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/values.hpp"

namespace weft::test {

/// sum of weight * value: a scalar whose gradient with respect to `value` is `weight`.
inline double weighted_sum(ConstTensorView value, ConstTensorView weight) {
  const std::vector<double> values = doubles(value), weights = doubles(weight);
  EXPECT_EQ(values.size(), weights.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size() && i < weights.size(); ++i) sum += values[i] * weights[i];
  return sum;
}

/// `analytic` against (loss(input + h) - loss(input - h)) / 2h, every `step`-th element. With h = 1e-5 the
/// differences carry an error of about 1e-10 from truncation and 1e-11 from rounding.
inline void expect_gradient(Tensor& input, ConstTensorView analytic, const std::function<double()>& loss,
                            const std::string& context, std::size_t step = 1) {
  ASSERT_TRUE(analytic) << context << ": no gradient was returned";
  ASSERT_EQ(to_string(analytic.shape), to_string(input.shape())) << context;
  constexpr double h = 1e-5, tolerance = 2e-8;
  const std::vector<double> gradient = doubles(analytic);
  const std::span<double> values = input.span<double>();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); i += step) {
    const double here = values[i];
    values[i] = here + h;
    const double above = loss();
    values[i] = here - h;
    const double below = loss();
    values[i] = here;
    const double numeric = (above - below) / (2 * h);
    if (std::fabs(gradient[i] - numeric) <= tolerance * std::max(1.0, std::fabs(numeric))) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << context << ": gradient of element " << i << " is " << gradient[i] << ", differences give "
                    << numeric;
  }
  EXPECT_EQ(wrong, 0u) << context << ": wrong gradients of " << values.size();
}

}  // namespace weft::test
