// LOA by ranges on a GPU: a block arranges a range of the candidates.
#pragma once

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"
#include "weft/graph.hpp"
#include "weft/reorder.hpp"

namespace weft::cuda {

/// What a block's memory holds; other options are the host's to arrange by.
constexpr bool arranges_on_gpu(const LoaOptions& options) {
  return options.range > 0 && options.range <= 65536 && options.window <= 32 && options.look_ahead <= 4096;
}

/// order [nodes], on the host. `graph` is on the device, and square.
WEFT_LAUNCHER(void arrange_by_ranges(Device device, CUstream_st* stream, const GraphView& graph,
                                     const LoaOptions& options, NodeId* order));

}  // namespace weft::cuda
