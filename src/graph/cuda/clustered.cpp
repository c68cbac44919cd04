// The clustered edges of a graph and of its samples, made on first use.
#include "core/check.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/graph_impl.hpp"
#include "graph/graph_internals.hpp"
#include "graph/sample/kept_rows.hpp"

namespace weft {
namespace {

void check_possible(const GraphView& view) {
  WEFT_CHECK(EdgeOrder::possible(view), unsupported,
             "edges of {} rows, {} columns and {} edges cannot be clustered: expected a square graph of 1 to 2^31 - 1 "
             "edges; use another order",
             view.num_rows, view.num_cols, view.num_edges);
}

}  // namespace

std::shared_ptr<const RowOrder> Graph::Impl::rows_by_community() const {
  if (communities == nullptr) communities = std::make_shared<const RowOrder>(device, view(), stream);
  return communities;
}

std::shared_ptr<const EdgeOrder> GraphInternals::clustered_edges(const Graph& graph, CUstream_st* stream,
                                                                 bool with_ids) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  GraphView view = half.view();
  check_possible(view);
  const std::lock_guard guard(half.pair->lock);
  if (half.clustered == nullptr)
    half.clustered = std::make_shared<EdgeOrder>(half.device, view, half.rows_by_community(), half.stream,
                                                 half.redrawn ? EdgeOrder::Columns::change : EdgeOrder::Columns::stay);
  if (with_ids && half.clustered->ids() == nullptr) {
    WEFT_CHECK(!(half.redrawn && half.ids_on_demand), internal,
               "ids of edges that are drawn in place are asked for: expected them to be known");
    DeviceBuffer temporary;
    if (half.ids_on_demand) view.edge_ids = half.ids_for_now(temporary);
    half.clustered->add_ids(view, half.stream);
  }
  half.clustered->ready_in(stream);
  return half.clustered;
}

std::shared_ptr<const EdgeOrder> GraphInternals::clustered_kept_rows(const Graph& graph, std::int64_t width,
                                                                     CUstream_st* stream) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const GraphView space = kept_rows(graph, width)->over(half.view());
  check_possible(space);
  const std::lock_guard guard(half.pair->lock);
  const auto kept = half.kept_rows_of(width);
  if (kept->clustered == nullptr)
    kept->clustered = std::make_shared<const EdgeOrder>(half.device, space, half.rows_by_community(), half.stream,
                                                        EdgeOrder::Columns::drawn);
  kept->clustered->ready_in(stream);
  return kept->clustered;
}

void GraphInternals::place_clusters_again(const Graph& graph, CUstream_st* stream) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const std::lock_guard guard(half.pair->lock);
  if (half.clustered != nullptr) half.clustered->place_again(half.view(), &half == &half.pair->given, stream);
}

}  // namespace weft
