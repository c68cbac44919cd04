#include <cuda_runtime.h>

#include "weft/context.hpp"

namespace weft {
namespace {

/// Attributes newer drivers may no longer tell count as 0.
double attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, index) == cudaSuccess) return value;
  cudaGetLastError();
  return 0;
}

}  // namespace

bool built_with_cuda() { return true; }

std::vector<CudaDevice> cuda_devices(std::string* why) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();  // not sticky: the next call starts clean
    if (why != nullptr) *why = std::string("this machine has no usable GPU (") + cudaGetErrorString(status) + ")";
    return {};
  }
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) continue;
    CudaDevice device{index, properties.name, properties.major * 10 + properties.minor, properties.totalGlobalMem};
    device.multiprocessors = properties.multiProcessorCount;
    device.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
    // Two transfers a clock; kHz times bits.
    device.memory_gb_s =
        2e-6 / 8 * attribute(cudaDevAttrMemoryClockRate, index) * attribute(cudaDevAttrGlobalMemoryBusWidth, index);
    devices.push_back(std::move(device));
  }
  if (devices.empty() && why != nullptr) *why = "this machine has no GPU";
  return devices;
}

}  // namespace weft
