// cublasLt as the peer of weft's dense products: of the algorithms its heuristic proposes the fastest one, with the
// epilogue done inside the product where cublasLt can.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "weft/tensor.hpp"

namespace weft::bench {

inline void check_lt(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("{}: cublasLt says {}", doing, cublasLtGetStatusString(status)));
}

inline cudaDataType cuda_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return CUDA_R_16F;
    case Dtype::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

/// c [m, n] = a b, all row-major, a and b taken transposed where said. cublasLt counts by columns: to it the product is
/// c^T = b^T a^T, so its first operand is b.
class LtProduct {
 public:
  struct Operand {
    ConstTensorView view;
    bool transposed;
  };

  /// `bias`: [n] of c's type, added before ReLU (cublasLt's RELU_BIAS), or with `bias_grad` the sums of b's columns.
  LtProduct(Operand a, Operand b, TensorView c, bool tf32, void* bias, bool bias_grad) : a_(a), b_(b), c_(c) {
    const bool rounds = tf32 && a.view.dtype == Dtype::f32;
    check_lt(cublasLtCreate(&handle_), "starting cublasLt");
    check_lt(cublasLtMatmulDescCreate(&desc_, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
             "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, bias_grad ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_RELU_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    b_layout_ = layout(b.view);
    a_layout_ = layout(a.view);
    c_layout_ = layout(c);
    if (cudaMalloc(&workspace_, workspace_bytes) != cudaSuccess) throw std::runtime_error("no memory for cublasLt");
    find_algorithms();
  }
  ~LtProduct() {
    cudaFree(workspace_);
    for (auto layout : {a_layout_, b_layout_, c_layout_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc_);
    cublasLtDestroy(handle_);
  }
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  std::size_t algorithms() const { return algorithms_.size(); }
  /// Whether the algorithm took the product: some that the heuristic proposes refuse it.
  bool run(std::size_t algorithm, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    return cublasLtMatmul(handle_, desc_, &one, b_.view.data, b_layout_, a_.view.data, a_layout_, &zero, c_.data,
                          c_layout_, c_.mutable_data(), c_layout_, &algorithms_[algorithm].algo, workspace_,
                          workspace_bytes, stream) == CUBLAS_STATUS_SUCCESS;
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check_lt(cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof(value)), "describing a product");
  }
  static cublasLtMatrixLayout_t layout(ConstTensorView view) {
    cublasLtMatrixLayout_t made = nullptr;
    check_lt(cublasLtMatrixLayoutCreate(&made, cuda_type(view.dtype), static_cast<std::uint64_t>(view.shape.row_size()),
                                        static_cast<std::uint64_t>(view.shape.rows), view.ld),
             "describing a matrix");
    return made;
  }
  /// None where cublasLt cannot do the product with this epilogue.
  void find_algorithms() {
    constexpr int most = 8;
    cublasLtMatmulPreference_t preference = nullptr;
    check_lt(cublasLtMatmulPreferenceCreate(&preference), "asking for algorithms");
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                         sizeof(workspace_bytes));
    algorithms_.resize(most);
    int found = 0;
    if (cublasLtMatmulAlgoGetHeuristic(handle_, desc_, b_layout_, a_layout_, c_layout_, c_layout_, preference, most,
                                       algorithms_.data(), &found) != CUBLAS_STATUS_SUCCESS)
      found = 0;
    algorithms_.resize(static_cast<std::size_t>(found));
    cublasLtMatmulPreferenceDestroy(preference);
  }

  Operand a_, b_;
  TensorView c_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_layout_ = nullptr, b_layout_ = nullptr, c_layout_ = nullptr;
  void* workspace_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
};

}  // namespace weft::bench
