// Products of dense matrices: weft's own on a CPU, and on a GPU where they are tall and narrow; cuBLAS for the others.
#pragma once

#include <memory>

#include "dense/neighbour_rows.hpp"
#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft::dense {

namespace cuda {
class Blas;  // src/dense/cuda
}

enum class Transposed : bool { no, yes };

/// What becomes of a product on its way to memory, in this order.
struct Finish {
  bool adds = false;          // what is there is added
  ConstTensorView bias = {};  // [columns], in what is accumulated in
  bool relu = false;
  ConstTensorView gate = {};  // where this is not above 0 nothing is left, and the rest is multiplied by gate_scale
  float gate_scale = 1;
  bool saturates = false;  // f16: past its range the largest value

  /// For what is added up over neighbours: infinities of both signs have no sum.
  static Finish within_range() {
    Finish finish;
    finish.saturates = true;
    return finish;
  }
};

class Gemm {
 public:
  /// The context must outlive this. `tf32`: on a GPU, f32 is rounded to 10 bits and multiplied by tensor cores.
  explicit Gemm(const Context& context, bool tf32 = false);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// c = a b, or with `adds` c + a b, a and b taken transposed where it says so. a and b are of one storage type, c of
  /// that or of what it is accumulated in. On a GPU nothing is allocated.
  void operator()(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c,
                  bool adds = false);

  /// Whether products of a matrix [rows, in] with weights [in, out] and their gradients are weft's own, which do the
  /// passes around them on the way: outer is for these alone, and on a GPU so is multiply.
  bool own(Dtype dtype, std::int64_t rows, std::int64_t in, std::int64_t out) const;
  /// Memory for the gradient of such weights. Before any is computed.
  void reserve(Dtype dtype, std::int64_t rows, std::int64_t in, std::int64_t out);
  /// c = finish(a b), b [in, out] or with b_as its transpose.
  void multiply(ConstTensorView a, ConstTensorView b, Transposed b_as, TensorView c, const Finish& finish);
  /// Whether there is a product of [rows, in] sums over neighbours with weights [in, out] that makes the rows itself.
  bool makes_rows(Dtype dtype, std::int64_t rows, std::int64_t in, std::int64_t out) const;
  /// c = finish(a b) with such rows, of b's storage type, whether or not the product is weft's own otherwise. The rows
  /// that are kept give the same bits in multiply. On a GPU no row has more than tuning::most_fused_row edges.
  void multiply(const NeighbourRows& a, ConstTensorView b, Transposed b_as, TensorView c, const Finish& finish);
  /// c = a^T g, and where it is given bias_grad = the sum of g's rows.
  void outer(ConstTensorView a, ConstTensorView g, TensorView c, TensorView bias_grad);

 private:
  void on_cpu(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c, bool adds);
  Arena workspace(std::size_t bytes);

  const Context& context_;
  Device device_;
  CUstream_st* stream_ = nullptr;
  int threads_;
  bool tf32_;
  std::unique_ptr<cuda::Blas> blas_;  // of a GPU alone
  Tensor partial_;                    // sums over chunks of rows
  Tensor workspace_;                  // of the largest product so far, on a CPU
};

}  // namespace weft::dense
