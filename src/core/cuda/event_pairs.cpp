#include "core/cuda/event_pairs.hpp"

#include <cuda_runtime.h>

#include "core/cuda/status.hpp"

namespace weft::cuda {

EventPairs::~EventPairs() {
  for (CUevent_st* event : events_) cudaEventDestroy(event);
}

void EventPairs::begin() {
  const OnDevice on(device_.index);
  used_ -= used_ % 2;  // one that was begun and not ended does not count
  while (events_.size() < used_ + 2) {
    events_.push_back(nullptr);
    check_status(cudaEventCreate(&events_.back()), "making an event");
  }
  check_status(cudaEventRecord(events_[used_++], stream_), "recording an event");
}

void EventPairs::end() {
  const OnDevice on(device_.index);
  check_status(cudaEventRecord(events_[used_++], stream_), "recording an event");
}

std::vector<double> EventPairs::take() {
  std::vector<double> seconds;
  const OnDevice on(device_.index);
  for (std::size_t i = 0; i + 1 < used_; i += 2) {
    float milliseconds = 0;
    check_status(cudaEventSynchronize(events_[i + 1]), "waiting for an event");
    check_status(cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]), "reading an event");
    seconds.push_back(1e-3 * static_cast<double>(milliseconds));
  }
  used_ = 0;
  return seconds;
}

}  // namespace weft::cuda
