// CUDA's errors as weft's.
#pragma once

#include <cuda_runtime.h>

#include "core/check.hpp"
#include "core/cuda/status.hpp"

namespace weft::cuda {

/// An Error unless `status` is a success: what weft was doing, then CUDA's own words.
template <class... Args>
void check(cudaError_t status, fmt::format_string<Args...> doing, Args&&... args) {
  if (status != cudaSuccess) [[unlikely]]
    fail_with(status, fmt::format(doing, std::forward<Args>(args)...));
}

}  // namespace weft::cuda
