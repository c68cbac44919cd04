// Whether a result is as exact as promised: |y - y64| <= c * eps * sum(|a| * |x|) with
// c = ceil(log2 terms) + 4, in the accumulator's eps; f16 and bf16 results may add one rounding.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "weft/context.hpp"
#include "weft/tensor.hpp"
#include "weft/types.hpp"

namespace weft::tool {

/// c for a sum of so many terms.
double sum_factor(std::int64_t terms);
/// So many roundings of a whole sum to the storage type, as a part of c.
double storage_factor(Dtype storage, double roundings);
/// The largest difference allowed. `absolute` is the sum of the absolute values of the terms.
double error_bound(Dtype storage, double factor, std::int64_t terms, double expected, double absolute);

struct Verification {
  bool right = true;
  double worst = 0;  // error over bound, the largest met
  std::string how;   // "all rows"
  std::string first_wrong;
};

/// What was to come out, in f64, and how far one may be off.
struct Expected {
  std::span<const double> values, absolute;
  std::int64_t row_size = 1;
};

/// Result row `origin(i)` against expected row i; factor(i) is c for its elements, terms(i) how many they sum. Of a
/// result that is `packed` only those rows are there, in order.
class Comparison {
 public:
  Comparison(const Expected& expected, const void* result, Dtype dtype, std::string how, bool packed = false)
      : expected_(expected), result_(result), dtype_(dtype), how_(std::move(how)), packed_(packed) {}

  template <class Origin, class Factor, class Terms>
  Verification run(Origin&& origin, Factor&& factor, Terms&& terms) {
    Verification total;
    total.how = how_;
    const auto rows =
        static_cast<std::int64_t>(expected_.values.size()) / (expected_.row_size > 0 ? expected_.row_size : 1);
    for (std::int64_t i = 0; i < rows; ++i) row(i, origin(i), factor(i), terms(i), total);
    return total;
  }

 private:
  void row(std::int64_t i, std::int64_t at, double factor, std::int64_t terms, Verification& total) const;

  Expected expected_;
  const void* result_;
  Dtype dtype_;
  std::string how_;
  bool packed_;
};

/// What should come out on the sampled rows, computed once for all results that are held against it.
struct Reference {
  Tensor values, absolute;                           // f64, a row for every sampled one; no absolute: the values
  std::function<std::int64_t(std::int64_t)> origin;  // where row i stands in a result
  std::function<double(std::int64_t)> factor;
  std::function<std::int64_t(std::int64_t)> terms;
  std::string how;

  /// A result on any device, contiguous and complete; of one on a GPU no more is fetched than is looked at.
  /// `on_the_way`, if given: how often a sum of so many terms may be rounded to the result's type before it is done.
  Verification compare(const Context& context, ConstTensorView result,
                       const std::function<double(std::int64_t terms)>& on_the_way = {}) const;
};

/// Of the bytes, order and all: whether a later run gave the very same result.
std::uint64_t fingerprint(const void* data, std::size_t bytes);
/// The same of a contiguous tensor on the context's device.
std::uint64_t fingerprint(const Context& context, ConstTensorView tensor);

}  // namespace weft::tool
