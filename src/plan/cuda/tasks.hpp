// The order of a plan's work, on the device.
#pragma once

#include <cstdint>
#include <memory>

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"
#include "graph/cuda/edge_order.hpp"
#include "weft/plan.hpp"

namespace weft {

inline bool by_columns(WorkOrder order) { return order == WorkOrder::columns || order == WorkOrder::clusters_columns; }
inline bool by_clusters(WorkOrder order) {
  return order == WorkOrder::clusters || order == WorkOrder::clusters_columns;
}

class DeviceTasks {
 public:
  /// In the order of the plan, which is over `graph`: `owner`, or the index space of its samples.
  WEFT_LAUNCHER(DeviceTasks(const Context& context, const GraphView& graph, const Plan& plan, const Graph* owner));
  /// [tasks] which task runs when; null: as they stand.
  const std::int32_t* order() const { return reinterpret_cast<const std::int32_t*>(order_.data()); }
  /// The edges in an order of their own; null: as the graph stores them.
  const EdgeOrder* edges() const { return edges_.get(); }
  /// Of those edges; null: the plan's operator knows no edge by its id, or runs draw them with the columns.
  const std::int32_t* ids() const { return with_ids_ ? edges_->ids() : nullptr; }

 private:
  /// Tasks that lie within one row by the column in their middle, then the others as they stand.
  void order_by_column(const Context& context, const GraphView& graph, std::int64_t edges_a_task);

  bool with_ids_ = false;
  DeviceBuffer order_;
  std::shared_ptr<const EdgeOrder> edges_;
};

/// Whether a plan's work walks edges in an order of their own.
inline bool walks_clusters(const Plan& plan) {
  return plan.backing.device_tasks != nullptr && plan.backing.device_tasks->edges() != nullptr;
}

}  // namespace weft
