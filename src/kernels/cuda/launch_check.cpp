#include "kernels/cuda/launch_check.hpp"

#include "core/check.hpp"
#include "core/cuda/check.hpp"

namespace weft::cuda {

void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features) {
  check(cudaGetLastError(), "{} on a graph of {} rows and {} edges, {} features", op, rows, edges, features);
}

std::size_t allow_shared(const void* kernel, std::int64_t bytes) {
  constexpr std::int64_t without_asking = 48 << 10;
  if (bytes > without_asking) {
    int device = 0, most = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "asking for shared memory");
    WEFT_CHECK(bytes <= most, unsupported,
               "policy sample_kernel=cache_first: a block's samples take {} bytes of shared memory, and there are {}; "
               "expected a smaller sample width, or leave the policy out",
               bytes, most);
    // All there is: calls of other threads may need more than this one.
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
          "allowing {} bytes of shared memory", most);
  }
  return static_cast<std::size_t>(bytes);
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
