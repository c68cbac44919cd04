#include "kernels/cuda/launch_check.hpp"

#include "core/check.hpp"
#include "core/cuda/check.hpp"

namespace weft::cuda {

void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features) {
  check(cudaGetLastError(), "{} on a graph of {} rows and {} edges, {} features", op, rows, edges, features);
}

void refuse_f64() {
  fail(ErrorCode::unsupported,
       "dtype f64: this build has no CUDA kernels in f64; use f32, the cpu device, or a build with WEFT_CUDA_F64=ON");
}

void refuse_shape(const GatherShape& shape) {
  fail(ErrorCode::internal, "no kernel of {} lanes x {} elements x {} steps with {} rows in flight was compiled",
       shape.lanes, shape.vector, shape.steps, shape.loads);
}

}  // namespace weft::cuda
