// The transpose of a sample that is drawn in place, without memory to be asked for.
#include <cub/device/device_radix_sort.cuh>

#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/cuda/edges.hpp"
#include "graph/sample/redrawn.hpp"

namespace weft::cuda {
namespace {

struct CountUp {
  std::int32_t* positions;
  __device__ void operator()(std::int64_t k) const { positions[k] = static_cast<std::int32_t>(k); }
};

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

template <class Value>
std::size_t sort_by_source(const GraphView& graph, const ReversedArrays& arrays, const Value* values, Value* sorted,
                           CUstream_st* stream) {
  std::size_t bytes = arrays.scratch_bytes;
  check_status(
      cub::DeviceRadixSort::SortPairs(arrays.scratch, bytes, reinterpret_cast<const std::uint32_t*>(graph.cols),
                                      reinterpret_cast<std::uint32_t*>(arrays.rows), values, sorted, graph.num_edges, 0,
                                      bits_for(graph.num_cols - 1), stream),
      "sorting kept edges");
  return bytes;
}

}  // namespace

void count_up(Device device, CUstream_st* stream, std::int32_t* positions, std::int64_t count) {
  const OnDevice on(device.index);
  each(count, stream, "numbering kept edges", CountUp{positions});
}

std::size_t reverse_scratch_bytes(Device device, const GraphView& graph) {
  const OnDevice on(device.index);
  return sort_by_source<std::int32_t>(graph, {}, nullptr, nullptr, nullptr);
}

void reverse_into(Device device, CUstream_st* stream, const GraphView& graph, const ReversedArrays& arrays) {
  const OnDevice on(device.index);
  if (arrays.ids == nullptr) {
    sort_by_source(graph, arrays, graph.rows, arrays.cols, stream);
  } else {
    sort_by_source(graph, arrays, arrays.positions, arrays.sorted_positions, stream);
    each(graph.num_edges, stream, "placing reversed edges",
         PlaceReversed{graph.rows, arrays.sorted_positions, arrays.cols, arrays.ids});
  }
  GraphView reversed{graph.num_cols, graph.num_rows, graph.num_edges};
  reversed.rows = arrays.rows;
  find_offsets(device, stream, reversed, arrays.offsets);
}

}  // namespace weft::cuda
