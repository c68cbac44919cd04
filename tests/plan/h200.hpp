// The GPU that rates of the planner were measured on, as its driver tells of it.
#pragma once

#include "weft/context.hpp"

namespace weft::test {

inline CudaDevice h200() {
  CudaDevice device;
  device.compute_capability = 90;
  device.multiprocessors = 132;
  device.l2_bytes = 62914560;
  device.memory_gb_s = 4917;
  return device;
}

}  // namespace weft::test
