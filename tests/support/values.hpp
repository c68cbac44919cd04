// Tensors for tests: the same numbers for the same seed on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "core/dispatch.hpp"
#include "weft/tensor.hpp"

namespace weft::test {

inline constexpr Dtype floating_dtypes[] = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64};

/// splitmix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Evenly from [low, high).
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Evenly from {low, ..., high}.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

/// Every element from draw(), rounded once to `dtype`.
template <class Draw>
Tensor filled(Shape shape, Dtype dtype, Draw&& draw) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = static_cast<double>(draw());
  return Tensor::from(std::span<const double>(values), shape, dtype);
}

inline Tensor random_tensor(Shape shape, Dtype dtype, std::uint64_t seed, double low = -2, double high = 2) {
  Random random(seed);
  return filled(shape, dtype, [&] { return random.uniform(low, high); });
}

/// Magnitudes in [0.5, 2], either sign: safe to divide by.
inline Tensor random_divisors(Shape shape, Dtype dtype, std::uint64_t seed) {
  Random random(seed);
  return filled(shape, dtype, [&] { return random.uniform(0.5, 2) * (random.next() % 2 == 0 ? 1 : -1); });
}

/// Small whole numbers: exact in every storage type, and full of ties.
inline Tensor random_integers(Shape shape, Dtype dtype, std::uint64_t seed, std::int64_t low = -3,
                              std::int64_t high = 3) {
  Random random(seed);
  return filled(shape, dtype, [&] { return random.integer(low, high); });
}

inline Tensor constant(Shape shape, Dtype dtype, double value) {
  return filled(shape, dtype, [&] { return value; });
}

inline Tensor tensor_of(Shape shape, std::initializer_list<double> values, Dtype dtype = Dtype::f32) {
  return Tensor::from(std::span<const double>(values.begin(), values.size()), shape, dtype);
}

/// The elements a view shows, row after row, whatever its leading dimension.
inline std::vector<double> doubles(ConstTensorView view) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(view.shape.size()));
  with_any_dtype(view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t row = 0; row < view.shape.rows; ++row)
      for (std::int64_t i = 0; i < view.shape.row_size(); ++i)
        values.push_back(convert<double>(view.as<T>()[row * view.ld + i]));
  });
  return values;
}

/// A tensor whose elements stand inside a wider one, so that its leading dimension is not its width.
class Embedded {
 public:
  /// `values` [n] or [n, width] inside [n, width + 5], surrounded by NaN.
  explicit Embedded(ConstTensorView values)
      : wide_(constant(Shape(values.shape.rows, values.shape.width + 5), values.dtype, std::nan(""))) {
    const std::size_t element = size_of(values.dtype);
    const auto row_bytes = static_cast<std::size_t>(values.shape.width) * element;
    for (std::int64_t row = 0; row < values.shape.rows; ++row)
      std::memcpy(address(row), static_cast<const std::byte*>(values.data) + row * values.ld * std::int64_t(element),
                  row_bytes);
  }
  TensorView view() { return columns(wide_.view(), before, wide_.shape().width - 5); }
  /// Whether everything around the embedded columns is still NaN.
  bool surroundings_untouched() const {
    const std::vector<double> all = doubles(wide_);
    const std::int64_t ld = wide_.shape().width;
    for (std::int64_t i = 0; i < wide_.shape().size(); ++i) {
      const bool inside = i % ld >= before && i % ld < ld - (5 - before);
      if (!inside && !std::isnan(all[static_cast<std::size_t>(i)])) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t before = 3;
  std::byte* address(std::int64_t row) {
    return static_cast<std::byte*>(wide_.view().mutable_data()) +
           (row * wide_.shape().width + before) * static_cast<std::int64_t>(size_of(wide_.dtype()));
  }
  Tensor wide_;
};

}  // namespace weft::test
