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

void refuse_policy(std::string_view policy) {
  fail(ErrorCode::unsupported,
       "policy {}: this build has no kernels for comparison with published ones; leave the policy out, or use a build "
       "with WEFT_ABLATIONS=ON",
       policy);
}

}  // namespace weft::cuda
