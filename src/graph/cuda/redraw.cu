// The transpose of a sample that is drawn in place, without memory to be asked for.
#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/cuda/edges.hpp"
#include "graph/sample/redrawn.hpp"

namespace weft::cuda {
namespace {

struct PlaceReversed {
  const NodeId* rows;  // of the graph
  const std::int32_t* positions;
  NodeId* cols;
  EdgeId* ids;
  __device__ void operator()(std::int64_t k) const {
    const std::int32_t from = positions[k];
    cols[k] = rows[from];
    ids[k] = from;
  }
};

}  // namespace

void number_edges(Device device, CUstream_st* stream, std::int32_t* positions, std::int64_t count) {
  count_up(device, stream, "numbering kept edges", positions, count);
}

std::size_t reverse_scratch_bytes(Device device, const GraphView& graph) {
  return sort_bytes<std::uint32_t, std::int32_t>(device, graph.num_edges, bits_for(graph.num_cols - 1));
}

void reverse_into(Device device, CUstream_st* stream, const GraphView& graph, const ReversedArrays& arrays) {
  const OnDevice on(device.index);
  const bool with_ids = arrays.ids != nullptr;
  const SortedPairs<std::uint32_t, std::int32_t> by_source{reinterpret_cast<const std::uint32_t*>(graph.cols),
                                                           with_ids ? arrays.positions : graph.rows,
                                                           reinterpret_cast<std::uint32_t*>(arrays.rows),
                                                           with_ids ? arrays.sorted_positions : arrays.cols,
                                                           graph.num_edges,
                                                           bits_for(graph.num_cols - 1)};
  sort_pairs(device, stream, "sorting kept edges", by_source, {arrays.scratch, arrays.scratch_bytes});
  if (with_ids)
    each(graph.num_edges, stream, "placing reversed edges",
         PlaceReversed{graph.rows, arrays.sorted_positions, arrays.cols, arrays.ids});
  GraphView reversed{graph.num_cols, graph.num_rows, graph.num_edges};
  reversed.rows = arrays.rows;
  find_offsets(device, stream, reversed, arrays.offsets);
}

}  // namespace weft::cuda
