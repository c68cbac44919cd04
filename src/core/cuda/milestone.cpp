#include "core/cuda/milestone.hpp"

#include <cuda_runtime.h>

#include "core/cuda/status.hpp"

namespace weft {

void Milestone::set(Device device, CUstream_st* stream) {
  const cuda::OnDevice on(device.index);
  device_ = device;
  cuda::check_status(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
  cuda::check_status(cudaEventRecord(event_, stream), "recording an event");
}

void Milestone::precede(CUstream_st* stream) const {
  const cuda::OnDevice on(device_.index);
  cuda::check_status(cudaStreamWaitEvent(stream, event_, 0), "waiting for an event");
}

Milestone::~Milestone() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

}  // namespace weft
