// Builds without CUDA have no device a graph could be on: every one of these refuses.
#include "graph/cuda/edges.hpp"

namespace weft::cuda {

std::int64_t first_outside(Device device, CUstream_st*, const GraphView&) {
  require_cuda(device.index, "a graph");
  return 0;
}
std::int64_t first_unsorted(Device device, CUstream_st*, const GraphView&) {
  require_cuda(device.index, "a graph");
  return 0;
}
std::int64_t first_fall(Device device, CUstream_st*, const EdgeId*, std::int64_t) {
  require_cuda(device.index, "segments");
  return 0;
}
std::int64_t first_degree_over(Device device, CUstream_st*, const EdgeId*, std::int64_t, std::int64_t) {
  require_cuda(device.index, "a graph");
  return 0;
}
RowExtremes row_extremes(Device device, CUstream_st*, const EdgeId*, std::int64_t) {
  require_cuda(device.index, "a graph");
  return {};
}
EdgeBuffers sort_edges(Device device, CUstream_st*, const GraphView&, EdgeId) {
  require_cuda(device.index, "a graph");
  return {};
}
EdgeBuffers reverse_edges(Device device, CUstream_st*, const GraphView&, bool, EdgeId) {
  require_cuda(device.index, "a graph");
  return {};
}
DeviceBuffer reversed_ids(Device device, CUstream_st*, const GraphView&, EdgeId) {
  require_cuda(device.index, "a graph");
  return {};
}
void find_offsets(Device device, CUstream_st*, const GraphView&, EdgeId*) { require_cuda(device.index, "a graph"); }
void expand_rows(Device device, CUstream_st*, const GraphView&, NodeId*) { require_cuda(device.index, "a graph"); }
void write_degrees(Device device, CUstream_st*, const EdgeId*, std::int64_t, Dtype, void*) {
  require_cuda(device.index, "a graph");
}
void write_mean_weights(Device device, CUstream_st*, const GraphView&, Dtype, void*) {
  require_cuda(device.index, "a graph");
}
void write_gcn_weights(Device device, CUstream_st*, const GraphView&, Dtype, void*) {
  require_cuda(device.index, "a graph");
}

}  // namespace weft::cuda
