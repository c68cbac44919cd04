// Graphs from one device to another.
#include <algorithm>

#include "core/device.hpp"
#include "graph/graph_impl.hpp"

namespace weft {
namespace {

template <class T>
DeviceBuffer copy_array(Device to, Device from, std::span<const T> array, CUstream_st* stream, std::string_view what) {
  DeviceBuffer copy(to, stream, array.size_bytes(), what);
  copy_bytes(to, copy.data(), from, array.data(), array.size_bytes(), stream);
  return copy;
}

}  // namespace

void Graph::Impl::copy(const Impl& from, Device to, CUstream_st* in_stream) {
  const auto edges = static_cast<std::int64_t>(from.cols.size());
  cuda::EdgeBuffers arrays;
  arrays.offsets = copy_array(to, from.device, from.offsets, in_stream, "the offsets of a graph");
  // On the host rows are built when they are wanted; kernels on a device always want them, and find them faster than
  // they could be copied. They stand before the columns: whoever waits for those has them too.
  if (to.kind != DeviceKind::cpu) {
    arrays.rows = DeviceBuffer(to, in_stream, from.cols.size() * sizeof(NodeId), "the rows of a graph");
    GraphView view{from.num_rows, from.num_cols, edges, reinterpret_cast<const EdgeId*>(arrays.offsets.data())};
    cuda::expand_rows(to, in_stream, view, reinterpret_cast<NodeId*>(arrays.rows.data()));
  }
  arrays.cols = copy_array(to, from.device, from.cols, in_stream, "the columns of a graph");
  std::span<const EdgeId> ids = from.edge_ids;
  DeviceBuffer temporary;
  const bool later = from.ids_on_demand && to.kind != DeviceKind::cpu;
  if (from.ids_on_demand && !later) {
    ids = {from.ids_for_now(temporary), from.cols.size()};
    synchronise(from.device, from.stream);
  }
  if (!ids.empty()) arrays.edge_ids = copy_array(to, from.device, ids, in_stream, "the edge ids of a graph");
  if (temporary.data() != nullptr) synchronise(from.device, in_stream);
  ids_on_demand = later;
  hold(from.num_rows, from.num_cols, edges, std::move(arrays), to, in_stream);
  longest_row = from.longest_row;
  empty_rows = from.empty_rows;
  if (from.device.kind != DeviceKind::cpu) return;
  longest_row = empty_rows = 0;
  for (std::size_t row = 0; row + 1 < from.offsets.size(); ++row) {
    const EdgeId degree = from.offsets[row + 1] - from.offsets[row];
    longest_row = std::max(longest_row, degree);
    empty_rows += degree == 0;
  }
}

Graph Graph::to(Device device, CUstream_st* stream) const {
  const Impl& shown = Impl::of(*this);
  Impl::Pair& source = *shown.pair;
  const bool reversed = &shown == &source.reversed;
  auto pair = std::make_shared<Impl::Pair>();
  pair->given.pair = pair->reversed.pair = pair.get();
  pair->given.copy(source.given, device, stream);
  {
    const std::lock_guard guard(source.lock);
    pair->reversed_built = source.reversed_built;
    if (pair->reversed_built) pair->reversed.copy(source.reversed, device, stream);
  }
  // Copies from the host have waited; those between devices read arrays that may be given back as soon as this returns.
  if (shown.device.kind != DeviceKind::cpu) synchronise(device, stream);
  return Graph(std::shared_ptr<const Impl>(pair, reversed ? &pair->reversed : &pair->given));
}

}  // namespace weft
