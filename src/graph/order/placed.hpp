// A graph where an order of its nodes is looked for.
#pragma once

#include "weft/graph.hpp"

namespace weft {

/// The graph itself where it is on the device already, else a copy there.
inline Graph placed_on(const Graph& graph, Device device, CUstream_st* stream = nullptr) {
  return graph.device() == device ? graph : graph.to(device, stream);
}

}  // namespace weft
