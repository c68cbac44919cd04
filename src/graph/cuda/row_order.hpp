// The rows of a device graph in an order of weft's own: rows whose sources are the same ones follow one another, so
// that what they gather is still in cache, or in the same window.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cuda/milestone.hpp"
#include "core/device.hpp"
#include "weft/graph.hpp"

namespace weft {

class RowOrder {
 public:
  /// Communities by label propagation over samples of every row's sources, then the rows of one after the other. Of a
  /// square graph.
  RowOrder(Device device, const GraphView& graph, CUstream_st* stream);
  /// An order of so many rows that work in `stream` has found.
  RowOrder(Device device, DeviceBuffer order, std::int64_t rows, CUstream_st* stream);

  /// [rows] which row comes when.
  const std::int32_t* rows() const { return reinterpret_cast<const std::int32_t*>(rows_.data()); }
  std::size_t bytes() const { return bytes_; }
  /// Work that follows in `stream` finds the order complete, whichever stream it was made in.
  void ready_in(CUstream_st* stream) const { made_.precede(stream); }

 private:
  DeviceBuffer rows_;
  std::size_t bytes_ = 0;
  Milestone made_;
};

}  // namespace weft
