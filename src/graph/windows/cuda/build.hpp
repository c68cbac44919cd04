// The passes that make windows: a sort of edges by (window, column), runs of equal pairs, prefix sums, the selection.
#pragma once

#include "core/cuda/launcher.hpp"
#include "graph/windows/row_windows.hpp"

namespace weft::cuda {

struct BuiltWindows {
  std::int64_t windows = 0, selected = 0, tiles = 0, dense_columns = 0, residual_edges = 0;
  DeviceBuffer rows, counts, work, cols, bits;
  DeviceBuffer residual_offsets, residual_rows, residual_cols;
  DeviceBuffer edge_starts, edges, residual_ids;  // where shape.edges asks for them
  DeviceBuffer place_starts, places;              // where shape.places does
};
/// `order` [rows]: null for rows in sequence. Waits for the stream.
WEFT_LAUNCHER(BuiltWindows build_windows(Device device, CUstream_st* stream, const GraphView& graph,
                                         const WindowShape& shape, const std::int32_t* order));

}  // namespace weft::cuda
