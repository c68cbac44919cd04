// Times between points in a stream's work.
#pragma once

#include <vector>

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"

struct CUevent_st;

namespace weft::cuda {

class EventPairs {
 public:
  EventPairs(Device device, CUstream_st* stream) : device_(device), stream_(stream) {}
  EventPairs(const EventPairs&) = delete;
  EventPairs& operator=(const EventPairs&) = delete;
  WEFT_LAUNCHER(~EventPairs());

  /// The work between them is one pair's. False, and there is no pair, while the stream is being captured.
  WEFT_LAUNCHER(bool begin());
  WEFT_LAUNCHER(void end());
  /// Seconds of every pair since the last call, in order; waits for the last. Afterwards there are none, also where one
  /// could not be read.
  WEFT_LAUNCHER(std::vector<double> take());

 private:
  Device device_;
  [[maybe_unused]] CUstream_st* stream_;  // builds without CUDA only refuse
  std::vector<CUevent_st*> events_;       // made as they are needed, and used again
  [[maybe_unused]] std::size_t used_ = 0;
};

}  // namespace weft::cuda
