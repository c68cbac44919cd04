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

/// The order [nodes], on the device as `graph` is, which is square; its ids are not looked at. Waits for the stream on
/// the way, but not for the order.
WEFT_LAUNCHER(DeviceBuffer arrange_by_ranges(Device device, CUstream_st* stream, const GraphView& graph,
                                             const LoaOptions& options));

}  // namespace weft::cuda
