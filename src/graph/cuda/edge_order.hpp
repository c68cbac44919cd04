// The edges of a device graph in an order of weft's own, row by row: rows whose sources are the same ones follow one
// another, so that what they gather is still in cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cuda/milestone.hpp"
#include "core/device.hpp"
#include "weft/graph.hpp"

namespace weft {

class EdgeOrder {
 public:
  /// Communities by label propagation over samples of every row's sources, then the rows of one after the other. Square
  /// graphs of fewer than 2^31 edges only.
  EdgeOrder(Device device, const GraphView& graph, CUstream_st* stream);
  /// Makes the ids of the edges, of the same graph, once: who reads no values of edges does without.
  void add_ids(Device device, const GraphView& graph, CUstream_st* stream);

  static bool possible(const GraphView& graph) {
    return graph.num_rows == graph.num_cols && graph.num_edges > 0 && graph.num_edges < (std::int64_t{1} << 31);
  }

  const EdgeId* starts() const { return reinterpret_cast<const EdgeId*>(starts_.data()); }  // [rows]
  const NodeId* rows() const { return reinterpret_cast<const NodeId*>(rows_.data()); }      // [edges]
  const NodeId* cols() const { return reinterpret_cast<const NodeId*>(cols_.data()); }
  const std::int32_t* ids() const { return reinterpret_cast<const std::int32_t*>(ids_.data()); }  // null: not made
  /// Of the arrays, on the device.
  std::size_t bytes() const { return bytes_; }
  /// Work that follows in `stream` finds the arrays complete, whichever stream they were made in.
  void ready_in(CUstream_st* stream) const {
    made_.precede(stream);
    if (ids() != nullptr) ids_made_.precede(stream);
  }

 private:
  DeviceBuffer starts_, rows_, cols_, ids_;
  std::size_t bytes_ = 0;
  Milestone made_, ids_made_;
};

}  // namespace weft
