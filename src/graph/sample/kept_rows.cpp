#include "graph/sample/kept_rows.hpp"

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "core/device.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_impl.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

/// Places in a row are computed in 32 bits.
void check_longest_row(const GraphView& view, Device device, CUstream_st* stream) {
  constexpr EdgeId most = std::numeric_limits<std::int32_t>::max();
  if (view.num_edges <= most) return;
  const bool here = device.kind == DeviceKind::cpu;
  const std::int64_t row =
      here ? find_first(view.num_rows, [&](std::int64_t v) { return view.offsets[v + 1] - view.offsets[v] > most; })
           : cuda::first_degree_over(device, stream, view.offsets, view.num_rows, most);
  WEFT_CHECK(row == view.num_rows, unsupported,
             "row {} has more than {} edges: samples are of graphs whose rows have fewer", row, most);
}

std::int64_t count_on_host(const GraphView& view, std::int64_t width, EdgeId* offsets) {
  parallel_ranges(default_threads(), view.num_rows, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) offsets[v + 1] = std::min(view.offsets[v + 1] - view.offsets[v], width);
  });
  return counts_to_offsets({offsets, static_cast<std::size_t>(view.num_rows) + 1});
}

}  // namespace

std::shared_ptr<KeptRows> Graph::Impl::kept_rows_of(std::int64_t width) const {
  for (const auto& made : kept_rows)
    if (made->width == width) return made;
  return nullptr;
}

bool GraphInternals::has_clustered_kept_rows(const Graph& graph, std::int64_t width) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const std::lock_guard guard(half.pair->lock);
  const auto kept = half.kept_rows_of(width);
  return kept != nullptr && kept->clustered != nullptr;
}

std::shared_ptr<const KeptRows> GraphInternals::kept_rows(const Graph& graph, std::int64_t width) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const std::lock_guard guard(half.pair->lock);
  if (auto made = half.kept_rows_of(width)) return made;
  const GraphView view = view_without_ids(graph);
  check_longest_row(view, half.device, half.stream);
  auto rows = std::make_shared<KeptRows>();
  rows->width = width;
  rows->offsets =
      Tensor::zeros(Shape(view.num_rows + 1), Dtype::i64, "kept edges before each row", half.device, half.stream);
  auto* const offsets = rows->offsets.view().as<EdgeId>();
  rows->edges = half.device.kind == DeviceKind::cpu ? count_on_host(view, width, offsets)
                                                    : cuda::count_kept(half.device, half.stream, view, width, offsets);
  if (half.device.kind == DeviceKind::cuda && rows->edges < view.num_edges) {
    rows->rows = Tensor::empty(Shape(rows->edges), Dtype::i32, "rows of kept edges", half.device, half.stream);
    cuda::expand_rows(half.device, half.stream, rows->over(view), rows->rows.view().as<NodeId>());
    synchronise(half.device, half.stream);
  }
  half.kept_rows.push_back(rows);
  return rows;
}

std::size_t KeptRows::bytes() const {
  return offsets.bytes() + rows.bytes() + (clustered != nullptr ? clustered->bytes() : 0);
}

GraphView KeptRows::over(const GraphView& whole) const {
  GraphView space = whole;
  space.num_edges = edges;
  space.offsets = offsets.view().as<EdgeId>();
  if (rows) space.rows = rows.view().as<NodeId>();
  space.longest_row = std::min(whole.longest_row >= 0 ? whole.longest_row : whole.num_edges, width);
  return space;
}

}  // namespace weft
