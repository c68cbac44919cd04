// A point in a stream's work that other streams can wait for, on the device.
#pragma once

#include "core/device.hpp"

struct CUevent_st;

namespace weft {

class Milestone {
 public:
  Milestone() = default;
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;
  ~Milestone();

  /// Once: all that is in `stream` by now.
  void set(Device device, CUstream_st* stream);
  /// Work that follows in `stream` begins after the milestone was reached.
  void precede(CUstream_st* stream) const;

 private:
  Device device_;
  CUevent_st* event_ = nullptr;
};

}  // namespace weft
