// Graphs from one device to another.
#include <algorithm>

#include "core/device.hpp"
#include "graph/graph_impl.hpp"

namespace weft {
namespace {

/// The arrays of one half on a device.
struct Copied {
  DeviceBuffer offsets, rows, cols, edge_ids;
};

template <class T>
std::span<const T> copy_array(Device to, Device from, std::span<const T> array, CUstream_st* stream,
                              std::string_view what, DeviceBuffer& kept) {
  if (array.empty()) return {};
  kept = DeviceBuffer(to, stream, array.size_bytes(), what);
  copy_bytes(to, kept.data(), from, array.data(), array.size_bytes(), stream);
  return {reinterpret_cast<const T*>(kept.data()), array.size()};
}

}  // namespace

void Graph::Impl::copy_half(Impl& to, const Impl& from, std::span<const NodeId> rows, Device device,
                            CUstream_st* stream) {
  auto kept = std::make_shared<Copied>();
  to.num_rows = from.num_rows;
  to.num_cols = from.num_cols;
  to.device = device;
  to.longest_row = from.longest_row;
  to.empty_rows = from.empty_rows;
  if (from.device.kind == DeviceKind::cpu) {
    to.longest_row = to.empty_rows = 0;
    for (std::size_t row = 0; row + 1 < from.offsets.size(); ++row) {
      const EdgeId degree = from.offsets[row + 1] - from.offsets[row];
      to.longest_row = std::max(to.longest_row, degree);
      to.empty_rows += degree == 0;
    }
  }
  to.offsets = copy_array(device, from.device, from.offsets, stream, "the offsets of a graph", kept->offsets);
  to.cols = copy_array(device, from.device, from.cols, stream, "the columns of a graph", kept->cols);
  to.edge_ids = copy_array(device, from.device, from.edge_ids, stream, "the edge ids of a graph", kept->edge_ids);
  // On the host rows are built when they are wanted; kernels on a device always want them.
  if (device.kind != DeviceKind::cpu)
    to.device_rows = copy_array(device, from.device, rows, stream, "the rows of a graph", kept->rows).data();
  to.keeper = std::move(kept);
}

Graph Graph::to(Device device, CUstream_st* stream) const {
  const Impl& shown = Impl::of(*this);
  Impl::Pair& source = *shown.pair;
  const bool reversed = &shown == &source.reversed;
  const auto rows_of = [&](const Impl& half) -> std::span<const NodeId> {
    if (half.device.kind != DeviceKind::cpu) return {half.device_rows, half.cols.size()};
    return Graph(std::shared_ptr<const Impl>(impl_, &half)).rows();
  };
  auto pair = std::make_shared<Impl::Pair>();
  pair->given.pair = pair->reversed.pair = pair.get();
  Impl::copy_half(pair->given, source.given, rows_of(source.given), device, stream);
  bool both = false;
  {
    const std::lock_guard guard(source.lock);
    both = source.reversed_built;
  }
  if (both) {
    Impl::copy_half(pair->reversed, source.reversed, rows_of(source.reversed), device, stream);
    pair->reversed_built = true;
  }
  return Graph(std::shared_ptr<const Impl>(pair, reversed ? &pair->reversed : &pair->given));
}

}  // namespace weft
