// Where values of edges stand between a walk over a graph's transpose and one over the graph, made on first use.
#include <limits>

#include "core/check.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/cuda/edge_places.hpp"
#include "graph/graph_impl.hpp"
#include "graph/graph_internals.hpp"

namespace weft {

void EdgePlaces::check_bins(std::int64_t num_edges, int bin_bits) {
  WEFT_CHECK((num_edges - 1) >> bin_bits <= std::numeric_limits<std::uint16_t>::max(), internal,
             "{} edges in bins of 2^{}: expected at most 2^16 bins", num_edges, bin_bits);
}

std::shared_ptr<const EdgePlaces> GraphInternals::places_from_transpose(const Graph& graph, bool writes_clustered,
                                                                        bool reads_clustered, CUstream_st* stream) {
  using Impl = Graph::Impl;
  const Impl& half = Impl::of(graph);
  const Graph reversed = graph.transpose();
  WEFT_CHECK(EdgePlaces::possible(view_without_ids(graph)), unsupported,
             "values of {} edges have no places: expected 1 to 2^31 - 1 edges; find them by edge id",
             graph.num_edges());
  WEFT_CHECK(!half.redrawn, unsupported,
             "values of edges that are drawn in place have no places that last: find them by edge id");
  const auto order_of = [&](const Graph& walked, bool clustered) {
    return clustered ? clustered_edges(walked, half.stream) : nullptr;
  };
  const auto writing = order_of(reversed, writes_clustered), reading = order_of(graph, reads_clustered);
  DeviceBuffer temporary;  // at most one half makes ids on demand
  const auto walk = [&](const Impl& over, const EdgeOrder* order) {
    if (order != nullptr) return EdgePlaces::Walk{nullptr, order->ids()};
    return EdgePlaces::Walk{over.ids_on_demand ? over.ids_for_now(temporary) : over.view().edge_ids};
  };
  const std::lock_guard guard(half.pair->lock);
  std::shared_ptr<const EdgePlaces>& kept = half.places[writes_clustered][reads_clustered];
  if (kept == nullptr) {
    const auto write = walk(Impl::of(reversed), writing.get()), read = walk(half, reading.get());
    kept = std::make_shared<const EdgePlaces>(half.device, half.view().num_edges, write, read, half.stream);
  }
  kept->ready_in(stream);
  return kept;
}

}  // namespace weft
