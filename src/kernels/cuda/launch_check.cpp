#include "kernels/cuda/launch_check.hpp"

#include "core/check.hpp"
#include "core/cuda/check.hpp"

namespace weft::cuda {

void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features) {
  check(cudaGetLastError(), "{} on a graph of {} rows and {} edges, {} features", op, rows, edges, features);
}

std::size_t shared_for_places(const void* kernel, std::int64_t places) {
  constexpr std::int64_t without_asking = 48 << 10;
  const std::int64_t bytes = places * static_cast<std::int64_t>(sizeof(std::int32_t));
  if (bytes <= without_asking / 2) return static_cast<std::size_t>(bytes);
  const cudaError_t allowed =
      bytes < (std::int64_t{1} << 31)
          ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))
          : cudaErrorInvalidValue;
  if (allowed != cudaSuccess) cudaGetLastError();
  WEFT_CHECK(allowed == cudaSuccess, invalid_argument,
             "a block's tasks have up to {} sampled edges, and no room for their places in shared memory: expected "
             "tasks of fewer edges; leave the policy's edges out",
             places);
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
