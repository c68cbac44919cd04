// What stands in for CUDA in a build without it: nothing is found, and nothing can be asked for.
#include "core/check.hpp"
#include "core/cuda/launcher.hpp"
#include "core/cuda/runtime.hpp"

namespace weft {
namespace {

[[noreturn]] void refuse(int index) {
  fail(ErrorCode::unsupported, "device cuda:{} is not available: this build of weft has no CUDA; use the cpu device",
       index);
}

}  // namespace

void refuse_without_cuda(std::string_view launcher) {
  fail(ErrorCode::unsupported, "{} needs a GPU: this build of weft has no CUDA; use the cpu device", launcher);
}

bool built_with_cuda() { return false; }

std::vector<CudaDevice> cuda_devices(std::string* why) {
  if (why != nullptr) *why = "this build of weft has no CUDA (configured with WEFT_CUDA=OFF, or no toolkit was found)";
  return {};
}

namespace cuda {

void* allocate(int index, CUstream_st*, std::size_t, std::string_view) { refuse(index); }
void deallocate(int, CUstream_st*, void*) noexcept {}
void copy(int index, void*, const void*, std::size_t, CUstream_st*) { refuse(index); }
void zero(int index, void*, std::size_t, CUstream_st*) { refuse(index); }
void synchronise(int index, CUstream_st*) { refuse(index); }
MemoryStats memory_stats(int) { return {}; }
void reset_memory_peak(int) {}

}  // namespace cuda
}  // namespace weft
