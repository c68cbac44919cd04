#include "core/cuda/event_pairs.hpp"

#include <cuda_runtime.h>

#include <utility>

#include "core/cuda/status.hpp"

namespace weft::cuda {

EventPairs::~EventPairs() {
  for (CUevent_st* event : events_) cudaEventDestroy(event);
}

bool EventPairs::begin() {
  const OnDevice on(device_.index);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_status(cudaStreamIsCapturing(stream_, &status), "asking whether a stream is being captured");
  if (status != cudaStreamCaptureStatusNone) return false;
  used_ -= used_ % 2;  // one that was begun and not ended does not count
  while (events_.size() < used_ + 2) {
    CUevent_st* made = nullptr;
    check_status(cudaEventCreate(&made), "making an event");
    events_.push_back(made);
  }
  check_status(cudaEventRecord(events_[used_], stream_), "recording an event");
  ++used_;
  return true;
}

void EventPairs::end() {
  const OnDevice on(device_.index);
  check_status(cudaEventRecord(events_[used_], stream_), "recording an event");
  ++used_;
}

std::vector<double> EventPairs::take() {
  std::vector<double> seconds;
  const OnDevice on(device_.index);
  const std::size_t ended = std::exchange(used_, 0);
  for (std::size_t i = 0; i + 1 < ended; i += 2) {
    float milliseconds = 0;
    check_status(cudaEventSynchronize(events_[i + 1]), "waiting for an event");
    check_status(cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]), "reading an event");
    seconds.push_back(1e-3 * static_cast<double>(milliseconds));
  }
  return seconds;
}

}  // namespace weft::cuda
