// Seeded random tensors: element i depends on the seed and i alone, so every run and every thread
// count gives the same benchmark.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/signatures.hpp"
#include "weft/tensor.hpp"

namespace weft::tool {

/// Even in [low, high), rounded to the storage type.
Tensor random_tensor(Shape shape, Dtype dtype, std::uint64_t seed, double low, double high, std::string_view what);

/// A tensor [n, heads, width] as a kernel's operand: a dimension of 1 broadcasts.
Operand operand(ConstTensorView view);

}  // namespace weft::tool
