#include "graph/graph_impl.hpp"
#include "graph/graph_internals.hpp"

namespace weft {

Graph GraphInternals::adopt_rows(std::int64_t num_cols, Tensor offsets, Tensor cols, CUstream_st* stream) {
  struct Arrays {
    Tensor offsets, cols, rows;
  };
  const std::int64_t num_rows = offsets.shape().rows - 1, num_edges = cols.shape().rows;
  const Device device = offsets.device();
  const auto kept = std::make_shared<Arrays>(Arrays{std::move(offsets), std::move(cols), {}});
  const EdgeId* const first = kept->offsets.view().as<EdgeId>();
  const NodeId* const sources = kept->cols.view().as<NodeId>();
  const std::span<const EdgeId> all_offsets{first, static_cast<std::size_t>(num_rows) + 1};
  const std::span<const NodeId> all_cols{sources, static_cast<std::size_t>(num_edges)};
  if (device.kind == DeviceKind::cpu)
    return Graph::adopt(num_rows, num_cols, all_offsets, all_cols, {}, kept, Validate::trusted);
  kept->rows = Tensor::empty(Shape(num_edges), Dtype::i32, "rows of a graph", device, stream);
  GraphView list{num_rows, num_cols, num_edges};
  list.offsets = first;
  list.cols = sources;
  if (num_edges > 0) cuda::expand_rows(device, stream, list, kept->rows.view().as<NodeId>());
  return Graph::Impl::make_on(device, stream, num_rows, num_cols, all_offsets, all_cols, kept->rows.view().as<NodeId>(),
                              {}, kept);
}

}  // namespace weft
