#include "dense/cuda/blas.hpp"

#include "core/check.hpp"
#include "core/cuda/status.hpp"
#include "dense/cuda/blas_functions.hpp"

namespace weft::dense::cuda {
namespace {

void check(cublasStatus_t status, const char* doing) {
  WEFT_CHECK(status == CUBLAS_STATUS_SUCCESS, device, "{}: cuBLAS says {}", doing,
             BlasFunctions::get().status_string(status));
}

cudaDataType type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return CUDA_R_16F;
    case Dtype::bf16: return CUDA_R_16BF;
    case Dtype::f64: return CUDA_R_64F;
    default: return CUDA_R_32F;
  }
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS recommends for Hopper

}  // namespace

Blas::Blas(Device device, CUstream_st* stream, bool tf32)
    : device_(device), tf32_(tf32), workspace_(device, stream, workspace_bytes, "cuBLAS's workspace") {
  const weft::cuda::OnDevice on(device.index);
  const BlasFunctions& blas = BlasFunctions::get();
  check(blas.create(&handle_), "starting cuBLAS");
  check(blas.set_stream(handle_, stream), "giving cuBLAS a stream");
  check(blas.set_workspace(handle_, workspace_.data(), workspace_bytes), "giving cuBLAS a workspace");
}

Blas::~Blas() {
  if (handle_ != nullptr) BlasFunctions::get().destroy(handle_);
}

void Blas::multiply(std::int64_t m, std::int64_t n, std::int64_t k, ConstTensorView a, bool a_transposed,
                    ConstTensorView b, bool b_transposed, TensorView c, bool adds) {
  const weft::cuda::OnDevice on(device_.index);
  // cuBLAS counts by columns: to it these are transposes, and c's is b's times a's.
  const auto as = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto call = [&](const auto one, const auto more, cublasComputeType_t compute) {
    check(BlasFunctions::get().gemm(handle_, as(b_transposed), as(a_transposed), n, m, k, &one, b.data,
                                    type_of(b.dtype), b.ld, a.data, type_of(a.dtype), a.ld, &more, c.mutable_data(),
                                    type_of(c.dtype), c.ld, compute, CUBLAS_GEMM_DEFAULT),
          "multiplying matrices");
  };
  if (a.dtype == Dtype::f64) return call(1.0, adds ? 1.0 : 0.0, CUBLAS_COMPUTE_64F);
  const bool rounds = tf32_ && a.dtype == Dtype::f32;
  call(1.0f, adds ? 1.0f : 0.0f, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
}

}  // namespace weft::dense::cuda
