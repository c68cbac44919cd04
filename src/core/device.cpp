#include "core/device.hpp"

#include <cstring>

#include "core/check.hpp"
#include "core/cuda/runtime.hpp"
#include "core/memory.hpp"

namespace weft {

namespace {

struct FoundDevices {
  std::string why;
  std::vector<CudaDevice> devices = cuda_devices(&why);
};
const FoundDevices& found() {
  static const FoundDevices once;
  return once;
}

}  // namespace

void require_cuda(int index, std::string_view what) {
  const auto& [why, devices] = found();
  WEFT_CHECK(!devices.empty(), unsupported, "{} was asked for on cuda:{}, but {}; use the cpu device", what, index,
             why);
  WEFT_CHECK(index >= 0 && static_cast<std::size_t>(index) < devices.size(), invalid_argument,
             "{} was asked for on cuda:{}, but this machine has {} (cuda:0 to cuda:{})", what, index, devices.size(),
             devices.size() - 1);
}

const CudaDevice& cuda_device(int index) {
  require_cuda(index, "a GPU");
  return found().devices[static_cast<std::size_t>(index)];
}

void* allocate_on(Device device, CUstream_st* stream, std::size_t bytes, std::string_view what) {
  if (device.kind == DeviceKind::cpu) return allocate(bytes, 1, what);
  require_cuda(device.index, what);
  return cuda::allocate(device.index, stream, bytes, what);
}

void deallocate_on(Device device, CUstream_st* stream, void* memory) noexcept {
  if (memory == nullptr) return;
  if (device.kind == DeviceKind::cpu) return deallocate(memory);
  cuda::deallocate(device.index, stream, memory);
}

void copy_bytes(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes,
                CUstream_st* stream) {
  if (bytes == 0) return;
  const bool to_host = to_device.kind == DeviceKind::cpu, from_host = from_device.kind == DeviceKind::cpu;
  if (to_host && from_host) {
    std::memcpy(to, from, bytes);
    return;
  }
  const int index = to_host ? from_device.index : to_device.index;
  cuda::copy(index, to, from, bytes, stream);
  if (to_host || from_host) cuda::synchronise(index, stream);
}

void zero_bytes(Device device, void* memory, std::size_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  if (device.kind == DeviceKind::cpu) {
    std::memset(memory, 0, bytes);
  } else {
    cuda::zero(device.index, memory, bytes, stream);
  }
}

MemoryStats memory_stats(Device device) {
  return device.kind == DeviceKind::cpu ? memory_stats() : cuda::memory_stats(device.index);
}

void reset_memory_peak(Device device) {
  device.kind == DeviceKind::cpu ? reset_memory_peak() : cuda::reset_memory_peak(device.index);
}

void synchronise(Device device, CUstream_st* stream) {
  if (device.kind == DeviceKind::cuda) cuda::synchronise(device.index, stream);
}

}  // namespace weft
