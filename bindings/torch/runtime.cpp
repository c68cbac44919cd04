#include "runtime.hpp"

#include <torch/csrc/stable/accelerator.h>

#include <pthread.h>

#include "weft/embedding.hpp"
#include "weft/version.hpp"

namespace weft::pytorch {
namespace {

/// A forked process has none of torch's threads: handing them work would wait forever.
bool is_forked = false;

/// Runs every seat once, on torch's threads.
void run_by_torch(void*, int seats, void (*work)(void*, int), void* job) {
  if (is_forked) {
    for (int seat = 0; seat < seats; ++seat) work(job, seat);
    return;
  }
  torch::stable::parallel_for(0, seats, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t seat = begin; seat < end; ++seat) work(job, static_cast<int>(seat));
  });
}

#ifdef USE_CUDA
CUstream_st* current_stream(int device) {
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(device, &stream));
  return static_cast<CUstream_st*>(stream);
}
/// In torch's current stream of the device, which every context made here uses.
void* allocate(void*, Device device, std::size_t bytes, CUstream_st*) {
  const torch::stable::accelerator::DeviceGuard on(device.index);
  void* memory = nullptr;
  return aoti_torch_cuda_caching_allocator_raw_alloc(bytes, &memory) == AOTI_TORCH_SUCCESS ? memory : nullptr;
}
void deallocate(void*, Device, void* memory, std::size_t, CUstream_st*) {
  aoti_torch_cuda_caching_allocator_raw_delete(memory);
}
#endif

/// Runs once per process, when this library is loaded.
const bool embedded = [] {
  pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  set_executor({run_by_torch});
#ifdef USE_CUDA
  set_allocator(DeviceKind::cuda, {allocate, deallocate});
#endif
  return true;
}();

}  // namespace

Context context_of(const Tensor& tensor) {
  const Device device = device_of(tensor);
  if (device.kind == DeviceKind::cpu) return Context::cpu(static_cast<int>(torch::stable::get_num_threads()));
#ifdef USE_CUDA
  return Context::cuda(device.index, current_stream(device.index));
#else
  return Context::cuda(device.index);  // throws: this build has no CUDA
#endif
}

void finish_work(Device device) {
#ifdef USE_CUDA
  if (device.kind == DeviceKind::cuda) Context::cuda(device.index, current_stream(device.index)).synchronise();
#else
  static_cast<void>(device);
#endif
}

Workspace::Workspace(Context& context, std::size_t bytes, const Tensor& like) : context_(context) {
  if (bytes == 0) return;
  const auto floats = static_cast<std::int64_t>((bytes + Arena::alignment + 3) / 4);
  memory_ = empty(Shape(floats), Dtype::f32, like);
  context_.borrow_workspace(
      {static_cast<std::byte*>(memory_->mutable_data_ptr()), static_cast<std::size_t>(floats) * 4});
}
Workspace::~Workspace() { context_.borrow_workspace({}); }

}  // namespace weft::pytorch

/// torch reclaims all memory that a program compiled into CUDA graphs allocates in its first run. From the first
/// program on that torch traces for a GPU, what weft caches (transposes, plans) comes from weft's own CUDA pool.
extern "C" __attribute__((visibility("default"))) void weft_keep_in_own_memory() {
#ifdef USE_CUDA
  weft::set_allocator(weft::DeviceKind::cuda);
#endif
}

extern "C" __attribute__((visibility("default"))) const char* weft_version() { return weft::version().data(); }
