// What a benchmark asks of CUDA, without its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/gather_floor.hpp"
#include "bench/timing.hpp"
#include "core/cuda/launcher.hpp"
#include "weft/context.hpp"

namespace weft::tool {

/// Events around the call. `behind_work`: a kernel that only waits goes before them, so that what the host takes to
/// launch is not timed while the GPU is idle and the time is the device's own.
WEFT_LAUNCHER(std::unique_ptr<Timer> make_event_timer(const Context& context, bool behind_work = true));
WEFT_LAUNCHER(std::unique_ptr<GatherFloor> make_cuda_floor(const Context& context, FloorJob job));
/// Of bytes on the device, order and all.
WEFT_LAUNCHER(std::uint64_t cuda_fingerprint(const Context& context, const void* data, std::size_t bytes));
/// Every byte 0xff: NaN in each floating type.
WEFT_LAUNCHER(void cuda_poison(int index, CUstream_st* stream, void* data, std::size_t bytes));

struct GpuFacts {
  std::string name, driver, runtime;  // versions of CUDA: what the driver can do, what weft was built with
  int compute_capability = 0, multiprocessors = 0;
  std::size_t memory_bytes = 0, l2_bytes = 0;
  double clock_mhz = 0, memory_clock_mhz = 0;  // peak; 0 where the driver does not say
};
WEFT_LAUNCHER(GpuFacts gpu_facts(int index));

}  // namespace weft::tool
