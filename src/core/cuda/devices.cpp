#include <cuda_runtime.h>

#include "weft/context.hpp"

namespace weft {

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
    devices.push_back({index, properties.name, properties.major * 10 + properties.minor, properties.totalGlobalMem});
  }
  if (devices.empty() && why != nullptr) *why = "this machine has no GPU";
  return devices;
}

}  // namespace weft
