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

/// Makes a device current for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int index) {
    check(cudaGetDevice(&before_), "asking for the current GPU");
    if (before_ != index) check(cudaSetDevice(index), "choosing device cuda:{}", index);
    changed_ = before_ != index;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace weft::cuda
