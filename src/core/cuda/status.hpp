// CUDA's errors, for files nvcc compiles (its front end and fmt's compile-time formats do not agree).
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace weft::cuda {

[[noreturn]] void fail_with(cudaError_t status, const std::string& doing);

/// An Error with what weft was doing and CUDA's own words, unless `status` is a success.
inline void check_status(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) fail_with(status, doing);
}

/// Makes a device current for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int index) {
    check_status(cudaGetDevice(&before_), "asking for the current GPU");
    if (before_ == index) return;
    const cudaError_t status = cudaSetDevice(index);
    if (status != cudaSuccess) fail_with(status, "choosing device cuda:" + std::to_string(index));
    changed_ = true;
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
