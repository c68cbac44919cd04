// Failed calls of CUDA, for files nvcc compiles (its front end and fmt's compile-time formats do not agree).
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace weft::cuda {

[[noreturn]] void fail_with(cudaError_t status, const std::string& doing);

/// An Error with what weft was doing and CUDA's own words, unless `status` is a success.
inline void check_status(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) fail_with(status, doing);
}

}  // namespace weft::cuda
