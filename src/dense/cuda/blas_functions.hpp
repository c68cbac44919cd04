// The functions of cuBLAS that weft calls, loaded with the library at the first product it is needed for.
#pragma once

#include <cublas_v2.h>

#include "core/lazy_library.hpp"

namespace weft::dense::cuda {

struct BlasFunctions {
  LazyLibrary library{"cuBLAS", WEFT_CUBLAS_FILE, WEFT_CUDA_LIBRARIES};
  decltype(&::cublasGetStatusString) status_string = library.find("cublasGetStatusString");
  decltype(&::cublasCreate_v2) create = library.find("cublasCreate_v2");
  decltype(&::cublasDestroy_v2) destroy = library.find("cublasDestroy_v2");
  decltype(&::cublasSetStream_v2) set_stream = library.find("cublasSetStream_v2");
  decltype(&::cublasSetWorkspace_v2) set_workspace = library.find("cublasSetWorkspace_v2");
  // cublas_v2.h overloads cublasGemmEx_64 in C++; this is its C function.
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, std::int64_t, std::int64_t, std::int64_t,
                         const void*, const void*, cudaDataType, std::int64_t, const void*, cudaDataType, std::int64_t,
                         const void*, void*, cudaDataType, std::int64_t, cublasComputeType_t,
                         cublasGemmAlgo_t) = library.find("cublasGemmEx_64");

  /// An Error (unsupported) where the library cannot be loaded.
  static const BlasFunctions& get() {
    static const BlasFunctions functions;
    return functions;
  }
};

}  // namespace weft::dense::cuda
