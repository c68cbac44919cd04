// Products of dense matrices: cuBLAS on a GPU, OpenBLAS on a CPU.
#pragma once

#include <memory>

#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

namespace cuda {
class Blas;  // src/nn/cuda
}

enum class Transposed : bool { no, yes };

class Gemm {
 public:
  /// `tf32`: on a GPU, f32 is rounded to 10 bits and multiplied by tensor cores.
  explicit Gemm(const Context& context, bool tf32 = false);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// c = a b, or with `adds` c + a b, a and b taken transposed where it says so. a and b are of one storage type, c of
  /// that or of what it is accumulated in. On a GPU nothing is allocated.
  void operator()(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c,
                  bool adds = false);

 private:
  void on_cpu(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c, bool adds);
  /// `view` itself, or a copy in f32 kept in `copy`.
  ConstTensorView wide(ConstTensorView view, Tensor& copy);

  int threads_;
  std::unique_ptr<cuda::Blas> blas_;
  Tensor a_copy_, b_copy_, c_copy_;  // of halves, on a CPU
};

}  // namespace weft::nn
