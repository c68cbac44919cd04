// The functions of cuSPARSE that the peer calls, loaded with the library when the peer is first asked for.
#pragma once

#include <cusparse.h>

#include "core/lazy_library.hpp"

namespace weft::tool {

struct CusparseFunctions {
  LazyLibrary library{"cuSPARSE", WEFT_CUSPARSE_FILE, WEFT_CUDA_LIBRARIES};
  decltype(&::cusparseCreate) create = library.find("cusparseCreate");
  decltype(&::cusparseCreateCoo) create_coo = library.find("cusparseCreateCoo");
  decltype(&::cusparseCreateCsr) create_csr = library.find("cusparseCreateCsr");
  decltype(&::cusparseCreateDnMat) create_dnmat = library.find("cusparseCreateDnMat");
  decltype(&::cusparseCreateDnVec) create_dnvec = library.find("cusparseCreateDnVec");
  decltype(&::cusparseDestroy) destroy = library.find("cusparseDestroy");
  decltype(&::cusparseDestroyDnMat) destroy_dnmat = library.find("cusparseDestroyDnMat");
  decltype(&::cusparseDestroyDnVec) destroy_dnvec = library.find("cusparseDestroyDnVec");
  decltype(&::cusparseDestroySpMat) destroy_spmat = library.find("cusparseDestroySpMat");
  decltype(&::cusparseGetErrorName) get_error_name = library.find("cusparseGetErrorName");
  decltype(&::cusparseGetErrorString) get_error_string = library.find("cusparseGetErrorString");
  decltype(&::cusparseGetProperty) get_property = library.find("cusparseGetProperty");
  decltype(&::cusparseSDDMM) sddmm = library.find("cusparseSDDMM");
  decltype(&::cusparseSDDMM_bufferSize) sddmm_buffer_size = library.find("cusparseSDDMM_bufferSize");
  decltype(&::cusparseSDDMM_preprocess) sddmm_preprocess = library.find("cusparseSDDMM_preprocess");
  decltype(&::cusparseSetStream) set_stream = library.find("cusparseSetStream");
  decltype(&::cusparseSpMM) spmm = library.find("cusparseSpMM");
  decltype(&::cusparseSpMM_bufferSize) spmm_buffer_size = library.find("cusparseSpMM_bufferSize");
  decltype(&::cusparseSpMM_preprocess) spmm_preprocess = library.find("cusparseSpMM_preprocess");
  decltype(&::cusparseSpMV) spmv = library.find("cusparseSpMV");
  decltype(&::cusparseSpMV_bufferSize) spmv_buffer_size = library.find("cusparseSpMV_bufferSize");
  decltype(&::cusparseSpMV_preprocess) spmv_preprocess = library.find("cusparseSpMV_preprocess");

  /// An Error (unsupported) where the library cannot be loaded.
  static const CusparseFunctions& get() {
    static const CusparseFunctions functions;
    return functions;
  }
};

}  // namespace weft::tool
