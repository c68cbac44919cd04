// The order in which the tasks of a plan run, on the device.
#pragma once

#include <cstdint>

#include "core/device.hpp"
#include "weft/graph.hpp"

namespace weft {

/// Tasks that lie within one row by their first column, then the others as they stand: groups that run together then
/// sweep the same window of X, and find in cache what their neighbours loaded.
class DeviceTasks {
 public:
  DeviceTasks(const Context& context, const GraphView& graph, std::int64_t edges_a_task);
  const std::int32_t* order() const { return reinterpret_cast<const std::int32_t*>(order_.data()); }

 private:
  DeviceBuffer order_;  // [tasks]
};

}  // namespace weft
