#include "core/loops/with_storage.hpp"

#include "core/check.hpp"

namespace weft::loops {

void refuse_storage(Dtype dtype) {
  fail(ErrorCode::unsupported,
       "dtype {}: dense passes are there for f32, f16 and bf16, and for f64 on the cpu device; convert the tensor",
       name(dtype));
}

}  // namespace weft::loops
