// The index space of sampled edges, and the edges in it, on a device.
#include <cub/device/device_scan.cuh>

#include "core/device.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/sample/kept_rows.hpp"

namespace weft::cuda {
namespace {

struct CountKept {
  const EdgeId* offsets;
  std::int64_t width;
  EdgeId* counts;  // [rows + 1], the first being 0
  __device__ void operator()(std::int64_t row) const {
    const EdgeId degree = offsets[row + 1] - offsets[row];
    counts[row + 1] = degree < width ? degree : width;
  }
};

struct TakeKept {
  GraphView graph;
  EdgeChoice choice;
  GraphView kept;
  NodeId* cols;
  EdgeId* places;
  __device__ void operator()(std::int64_t k) const {
    const NodeId row = kept.rows[k];
    const EdgeId first = graph.offsets[row], degree = graph.offsets[row + 1] - first;
    const EdgeId from = first + choice.place(row, degree, k - kept.offsets[row]);
    cols[k] = graph.cols[from];
    places[k] = from;
  }
};

struct PlaceToId {
  const EdgeId* edge_ids;
  EdgeId* places;
  __device__ void operator()(std::int64_t k) const { places[k] = edge_ids[places[k]]; }
};

}  // namespace

std::int64_t count_kept(Device device, CUstream_st* stream, const GraphView& graph, std::int64_t width,
                        EdgeId* kept_offsets) {
  const OnDevice on(device.index);
  constexpr const char* doing = "counting the edges that a sample keeps";
  check_status(cudaMemsetAsync(kept_offsets, 0, sizeof(EdgeId), stream), doing);
  each(graph.num_rows, stream, doing, CountKept{graph.offsets, width, kept_offsets});
  std::size_t bytes = 0;
  const auto scan = [&](void* memory) {
    check_status(cub::DeviceScan::InclusiveSum(memory, bytes, kept_offsets, kept_offsets, graph.num_rows + 1, stream),
                 doing);
  };
  scan(nullptr);
  const DeviceBuffer memory(device, stream, bytes, doing);
  scan(memory.data());
  EdgeId edges = 0;
  copy_bytes(Device{}, &edges, device, kept_offsets + graph.num_rows, sizeof(edges), stream);
  return edges;
}

void take_kept(Device device, CUstream_st* stream, const GraphView& graph, const EdgeChoice& choice,
               const GraphView& kept, NodeId* cols, EdgeId* places) {
  const OnDevice on(device.index);
  each(kept.num_edges, stream, "taking the edges that a sample keeps", TakeKept{graph, choice, kept, cols, places});
}

void places_to_ids(Device device, CUstream_st* stream, const EdgeId* edge_ids, std::int64_t count, EdgeId* places) {
  const OnDevice on(device.index);
  each(count, stream, "finding the ids of sampled edges", PlaceToId{edge_ids, places});
}

}  // namespace weft::cuda
