// What builds with CUDA alone define: WEFT_LAUNCHER(void launch(Device device, CUstream_st* stream)); declares it. In
// other builds the declaration is its own stand-in, and a call is an Error that says that there is no CUDA.
#pragma once

#include <string_view>

namespace weft {

[[noreturn]] void refuse_without_cuda(std::string_view launcher);

}  // namespace weft

#if defined(WEFT_HAS_CUDA) || defined(__CUDACC__)
#define WEFT_LAUNCHER(...) __VA_ARGS__
#else
#define WEFT_LAUNCHER(...) \
  inline __VA_ARGS__ { ::weft::refuse_without_cuda(__func__); }
#endif
