#include "bench/cuda/measure.hpp"
#include "core/cuda/check.hpp"
#include "core/device.hpp"

namespace weft::tool {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Attributes newer drivers may no longer tell count as unknown.
double megahertz(cudaDeviceAttr attribute, int index) {
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, attribute, index) == cudaSuccess) return kilohertz * 1e-3;
  cudaGetLastError();
  return 0;
}

}  // namespace

GpuFacts gpu_facts(int index) {
  const CudaDevice& device = cuda_device(index);
  int driver = 0, runtime = 0;
  weft::cuda::check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  weft::cuda::check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
  GpuFacts facts;
  facts.name = device.name;
  facts.driver = version_text(driver);
  facts.runtime = version_text(runtime);
  facts.compute_capability = device.compute_capability;
  facts.multiprocessors = device.multiprocessors;
  facts.memory_bytes = device.memory_bytes;
  facts.l2_bytes = device.l2_bytes;
  facts.clock_mhz = megahertz(cudaDevAttrClockRate, index);
  facts.memory_clock_mhz = megahertz(cudaDevAttrMemoryClockRate, index);
  return facts;
}

}  // namespace weft::tool
