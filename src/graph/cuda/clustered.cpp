// The clustered edges of a graph, made on first use.
#include "core/check.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/graph_impl.hpp"
#include "graph/graph_internals.hpp"

namespace weft {

std::shared_ptr<const EdgeOrder> GraphInternals::clustered_edges(const Graph& graph, CUstream_st* stream,
                                                                 bool with_ids) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  GraphView view = half.view();
  WEFT_CHECK(EdgeOrder::possible(view), unsupported,
             "edges of {} rows, {} columns and {} edges cannot be clustered: expected a square graph of 1 to 2^31 - 1 "
             "edges; use another order",
             view.num_rows, view.num_cols, view.num_edges);
  const std::lock_guard guard(half.pair->lock);
  if (half.clustered == nullptr) half.clustered = std::make_shared<EdgeOrder>(half.device, view, half.stream);
  if (with_ids && half.clustered->ids() == nullptr) {
    DeviceBuffer temporary;
    if (half.ids_on_demand) view.edge_ids = half.ids_for_now(temporary);
    half.clustered->add_ids(half.device, view, half.stream);
  }
  half.clustered->ready_in(stream);
  return half.clustered;
}

}  // namespace weft
