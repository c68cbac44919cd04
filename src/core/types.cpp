#include "weft/types.hpp"

#include <limits>

#include "core/check.hpp"

namespace weft {

void refuse_dtype(Dtype dtype) { fail(ErrorCode::internal, "dtype {} has no size", static_cast<int>(dtype)); }

double largest_value(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 65504;
    case Dtype::bf16: return static_cast<float>(BFloat16::from_bits(0x7f7f));
    case Dtype::f32: return std::numeric_limits<float>::max();
    case Dtype::f64: return std::numeric_limits<double>::max();
    default: fail(ErrorCode::internal, "dtype {} is no floating type", static_cast<int>(dtype));
  }
}

}  // namespace weft
