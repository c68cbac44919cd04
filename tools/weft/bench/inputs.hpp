// Seeded random tensors: element i depends on the seed and i alone, so every run and every thread
// count gives the same benchmark.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/signatures.hpp"
#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft::tool {

/// Even in [low, high), rounded to the storage type.
Tensor random_tensor(Shape shape, Dtype dtype, std::uint64_t seed, double low, double high, std::string_view what);

/// An operand twice: on the host, where the reference reads it, and where the operator runs. On the cpu they are one.
class Input {
 public:
  Input() = default;
  Input(const Context& context, Tensor host);

  const Tensor& host() const { return host_; }
  /// None where there is no operand.
  ConstTensorView there() const;
  /// Where the operator reads it, for others that are given the same memory.
  const void* data() const { return there().data; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(host_.bytes()); }
  explicit operator bool() const { return static_cast<bool>(host_); }

 private:
  Tensor host_, moved_;
};

/// Makes every element NaN, so that one nobody writes is seen. The tensor is contiguous.
void forget(const Context& context, TensorView tensor);
/// An output on the context's device, all NaN until something is written.
Tensor unwritten_tensor(const Context& context, Shape shape, Dtype dtype, std::string_view what);

/// A tensor [n, heads, width] as a kernel's operand: a dimension of 1 broadcasts.
Operand operand(ConstTensorView view);

}  // namespace weft::tool
