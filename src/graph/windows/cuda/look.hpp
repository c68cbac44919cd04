// A look at some windows of a graph, to tell what windows of all of it would have.
#pragma once

#include "core/cuda/launcher.hpp"
#include "graph/windows/row_windows.hpp"

namespace weft::cuda {

/// Of the windows that were looked at; columns are a sample, scaled up. Parallel edges count as often as they are
/// there.
struct WindowTotals {
  std::uint64_t edges = 0, dense_edges = 0, tiles = 0;
};
/// One kernel over `windows` windows, evenly spaced; waits for the stream. `order` [rows]: null for rows in sequence.
WEFT_LAUNCHER(WindowTotals look_at_windows(Device device, CUstream_st* stream, const GraphView& graph,
                                           const WindowShape& shape, const std::int32_t* order, std::int64_t windows));

}  // namespace weft::cuda
