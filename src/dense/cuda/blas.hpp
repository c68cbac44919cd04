// cuBLAS, with memory of its own, so that calls can be recorded in a CUDA graph.
#pragma once

#include <cstdint>

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"
#include "weft/tensor.hpp"

struct cublasContext;

namespace weft::dense::cuda {

class Blas {
 public:
  WEFT_LAUNCHER(Blas(Device device, CUstream_st* stream, bool tf32));
  WEFT_LAUNCHER(~Blas());
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// c [m, n] = a [m, k] b [k, n], row-major.
  WEFT_LAUNCHER(void multiply(std::int64_t m, std::int64_t n, std::int64_t k, ConstTensorView a, bool a_transposed,
                              ConstTensorView b, bool b_transposed, TensorView c, bool adds));

 private:
  Device device_;
  bool tf32_;
  DeviceBuffer workspace_;
  cublasContext* handle_ = nullptr;
};

}  // namespace weft::dense::cuda
