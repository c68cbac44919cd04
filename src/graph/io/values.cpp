#include "graph/io/values.hpp"

#include <atomic>
#include <bit>
#include <limits>

#include "core/check.hpp"
#include "core/parallel.hpp"

namespace weft::io {
namespace {

constexpr std::int64_t grain = 1 << 16;

bool is_exact_float(double value) { return static_cast<double>(static_cast<float>(value)) == value || value != value; }

// Whether the magnitude, its trailing zero bits aside, has at most `digits` bits.
bool fits_digits(std::int64_t value, int digits) {
  const std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  return magnitude == 0 || static_cast<int>(std::bit_width(magnitude >> std::countr_zero(magnitude))) <= digits;
}
bool is_exact_float(std::int64_t value) { return fits_digits(value, std::numeric_limits<float>::digits); }

template <class T, class Test>
bool all_of(std::span<const T> values, Test test) {
  std::atomic<bool> all{true};
  parallel_ranges(default_threads(), static_cast<std::int64_t>(values.size()), grain,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i)
                      if (!test(values[static_cast<std::size_t>(i)])) {
                        all.store(false, std::memory_order_relaxed);
                        return;
                      }
                  });
  return all.load();
}

template <class To, class From>
Tensor converted(std::span<const From> values) {
  Tensor result = Tensor::empty(Shape(static_cast<std::int64_t>(values.size())), dtype_of<To>, "the edge values");
  To* out = result.span<To>().data();
  parallel_ranges(default_threads(), static_cast<std::int64_t>(values.size()), grain,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i)
                      out[i] = static_cast<To>(values[static_cast<std::size_t>(i)]);
                  });
  return result;
}

}  // namespace

Tensor smallest_exact(std::span<const double> values) {
  const bool narrow = all_of(values, [](double value) { return is_exact_float(value); });
  return narrow ? converted<float>(values) : converted<double>(values);
}

Tensor smallest_exact(std::span<const std::int64_t> values) {
  if (all_of(values, [](std::int64_t value) { return is_exact_float(value); })) return converted<float>(values);
  const auto fits_double = [](std::int64_t value) { return fits_digits(value, std::numeric_limits<double>::digits); };
  return all_of(values, fits_double) ? converted<double>(values) : converted<std::int64_t>(values);
}

void check_scalar_values(const ConstTensorView& values, std::string_view format) {
  WEFT_CHECK(!values || values.shape.row_size() == 1, invalid_argument,
             "values have shape {}: {} holds one value per edge; write .weft to keep them", to_string(values.shape),
             format);
}

}  // namespace weft::io
