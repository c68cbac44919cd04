// How the reference reads and writes single elements: every storage type becomes a double exactly on
// the way in, and is rounded once on the way out.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/dispatch.hpp"
#include "kernels/signatures.hpp"

namespace weft::reference {

inline double load_at(const void* data, Dtype dtype, std::int64_t index) {
  return with_floating(dtype, "operand", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert<double>(static_cast<const T*>(data)[index]);
  });
}

inline double load(const Operand& operand, std::int64_t row, std::int64_t head, std::int64_t feature) {
  return load_at(operand.data, operand.dtype,
                 row * operand.row_stride + head * operand.head_stride + feature * operand.feature_stride);
}

/// Element `column` of a row of an output some earlier pass wrote.
inline double load(const Result& result, std::int64_t row, std::int64_t column) {
  return load_at(result.data, result.dtype, row * result.row_stride + column);
}

inline void store(const Result& result, std::int64_t row, std::int64_t column, double value) {
  with_floating(result.dtype, "result", [&](auto tag) {
    using T = typename decltype(tag)::type;
    static_cast<T*>(result.data)[row * result.row_stride + column] = convert<T>(value);
  });
}

/// A float64 sum that carries what each addition rounds off (Neumaier): summed plainly, 100 000 equal terms
/// are further off than the float64 kernels this judges.
struct Sum {
  double sum = 0, lost = 0;

  void add(double term) {
    const double next = sum + term;
    lost += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  double value() const { return std::isfinite(sum) ? sum + lost : sum; }
};

/// The derivative at exactly 0 is the slope.
inline double leaky_relu(double value, double slope) { return value > 0 ? value : slope * value; }
inline double leaky_relu_derivative(double value, double slope) { return value > 0 ? 1 : slope; }

}  // namespace weft::reference
