// The edges of a device graph, row by row, in an order of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/cuda/milestone.hpp"
#include "core/device.hpp"
#include "graph/cuda/row_order.hpp"
#include "weft/graph.hpp"

namespace weft {

class EdgeOrder {
 public:
  /// What becomes of the graph's columns: they stay as they are; they and all else but the number of edges change, and
  /// place_again() follows; or there are none, as runs draw them in this order (samples).
  enum class Columns { stay, change, drawn };
  /// `graph`: any index space over the rows that `order` is of.
  EdgeOrder(Device device, const GraphView& graph, std::shared_ptr<const RowOrder> order, CUstream_st* stream,
            Columns columns = Columns::stay);
  ~EdgeOrder();
  /// Makes the ids of the edges, of the same graph, once: who reads no values of edges does without.
  void add_ids(const GraphView& graph, CUstream_st* stream);
  /// After the graph's edges have changed (Columns::change), in the order of `stream`. `rows_stay`: only their columns
  /// have, while every row has as many as before and the ids are in sequence. Asks for no memory.
  void place_again(const GraphView& graph, bool rows_stay, CUstream_st* stream);

  /// Square graphs of fewer than 2^31 edges only.
  static bool possible(const GraphView& graph) {
    return graph.num_rows == graph.num_cols && graph.num_edges > 0 && graph.num_edges < (std::int64_t{1} << 31);
  }

  const EdgeId* starts() const { return reinterpret_cast<const EdgeId*>(starts_.data()); }        // [rows]
  const NodeId* rows() const { return reinterpret_cast<const NodeId*>(rows_.data()); }            // [edges]
  const NodeId* cols() const { return reinterpret_cast<const NodeId*>(cols_.data()); }            // null: drawn by runs
  const std::int32_t* ids() const { return reinterpret_cast<const std::int32_t*>(ids_.data()); }  // null: not made
  /// Of the arrays, on the device.
  std::size_t bytes() const { return bytes_; }
  /// Work that follows in `stream` finds the arrays complete, whichever stream they were made in.
  void ready_in(CUstream_st* stream) const {
    made_.precede(stream);
    if (ids() != nullptr) ids_made_.precede(stream);
  }

 private:
  struct Work;  // memory of place()
  void place(const GraphView& graph, CUstream_st* stream);
  void place_ids(const GraphView& graph, CUstream_st* stream);

  Device device_;
  std::shared_ptr<const RowOrder> order_;
  std::unique_ptr<Work> work_;
  DeviceBuffer starts_, rows_, cols_, ids_;
  std::size_t bytes_ = 0;
  Milestone made_, ids_made_;
};

}  // namespace weft
