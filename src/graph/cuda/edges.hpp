// What a graph on a device needs kernels for. Pointers are the device's; work goes into the stream, and only what
// returns a number waits for it.
#pragma once

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"
#include "graph/counting_sort.hpp"
#include "weft/graph.hpp"

namespace weft::cuda {

/// The arrays of one half of a graph. `edge_ids` has no memory where edge k's id is k.
struct EdgeBuffers {
  DeviceBuffer offsets, rows, cols, edge_ids;
};

// Each finds the lowest place where something is wrong, and gives the number of places where nothing is.

/// An edge of the list (rows, cols) with an end out of range.
WEFT_LAUNCHER(std::int64_t first_outside(Device device, CUstream_st* stream, const GraphView& list));
/// An id that is none of `count`, of ids of 64 bits.
WEFT_LAUNCHER(std::int64_t first_no_node(Device device, CUstream_st* stream, const std::int64_t* ids,
                                         std::int64_t edges, std::int64_t count));
/// An edge that belongs behind its successor: the list is not in stored order.
WEFT_LAUNCHER(std::int64_t first_unsorted(Device device, CUstream_st* stream, const GraphView& list));
/// A row whose offsets fall.
WEFT_LAUNCHER(std::int64_t first_fall(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows));
/// A row with more edges than `most`.
WEFT_LAUNCHER(std::int64_t first_degree_over(Device device, CUstream_st* stream, const EdgeId* offsets,
                                             std::int64_t rows, std::int64_t most));

/// What a planner wants to know of the rows.
struct RowExtremes {
  std::int64_t longest = 0;  // edges
  std::int64_t empty = 0;    // rows
};
WEFT_LAUNCHER(RowExtremes row_extremes(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows));

/// The edges of a list with valid ends as sort_edges of the host stores them.
WEFT_LAUNCHER(EdgeBuffers sort_edges(Device device, CUstream_st* stream, const GraphView& list,
                                     EdgeId narrow_limit = narrow_sort_limit));
/// The edges of a graph (with rows) as reverse_edges of the host stores them, their ids where they are wanted.
WEFT_LAUNCHER(EdgeBuffers reverse_edges(Device device, CUstream_st* stream, const GraphView& graph, bool with_ids,
                                        EdgeId narrow_limit = narrow_sort_limit));
/// Those ids alone.
WEFT_LAUNCHER(DeviceBuffer reversed_ids(Device device, CUstream_st* stream, const GraphView& graph,
                                        EdgeId narrow_limit = narrow_sort_limit));

/// The arrays that a graph is reversed into, without any to be asked for.
struct ReversedArrays {
  EdgeId* offsets;  // [columns + 1]
  NodeId *rows, *cols;
  // Null: ids are not wanted.
  EdgeId* ids;
  const std::int32_t* positions;  // [edges] 0, 1, 2, ...
  std::int32_t* sorted_positions;
  void* scratch;
  std::size_t scratch_bytes;
};
WEFT_LAUNCHER(std::size_t reverse_scratch_bytes(Device device, const GraphView& graph));
/// Of a graph of fewer than 2^31 edges, with rows; edge k's id is k.
WEFT_LAUNCHER(void reverse_into(Device device, CUstream_st* stream, const GraphView& graph,
                                const ReversedArrays& arrays));

/// offsets [num_rows + 1] of edges whose rows ascend.
WEFT_LAUNCHER(void find_offsets(Device device, CUstream_st* stream, const GraphView& sorted, EdgeId* offsets));
/// rows [num_edges] from offsets; there must be a row where there are edges.
WEFT_LAUNCHER(void expand_rows(Device device, CUstream_st* stream, const GraphView& graph, NodeId* rows));

/// Ids and offsets in the other width; what does not fit is cut off.
WEFT_LAUNCHER(void convert_ids(Device device, CUstream_st* stream, const std::int64_t* from, std::int64_t count,
                               std::int32_t* to));
WEFT_LAUNCHER(void convert_ids(Device device, CUstream_st* stream, const std::int32_t* from, std::int64_t count,
                               std::int64_t* to));

/// In-degrees that `dtype` holds.
WEFT_LAUNCHER(void write_degrees(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows,
                                 Dtype dtype, void* out));
/// By edge id: 1 / deg(v), and 1 / sqrt(deg(v) * deg_out(u)), computed in float64.
WEFT_LAUNCHER(void write_mean_weights(Device device, CUstream_st* stream, const GraphView& graph, Dtype dtype,
                                      void* out));
WEFT_LAUNCHER(void write_gcn_weights(Device device, CUstream_st* stream, const GraphView& graph, Dtype dtype,
                                     void* out));

}  // namespace weft::cuda
