#include "graph/windows/row_windows.hpp"

#include "core/check.hpp"
#include "core/stopwatch.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/graph_impl.hpp"
#include "graph/graph_internals.hpp"
#include "graph/order/cuda/loa.hpp"
#include "graph/windows/cuda/build.hpp"
#include "graph/windows/cuda/look.hpp"

namespace weft {
namespace {

template <class T>
const T* array(const DeviceBuffer& buffer) {
  return reinterpret_cast<const T*>(buffer.data());
}

/// Of the residual graph's arrays.
struct Residual {
  DeviceBuffer offsets, rows, cols, ids;
};

}  // namespace

RowWindows::RowWindows(Device device, const GraphView& graph, const WindowShape& shape, const RowOrder* order,
                       CUstream_st* stream)
    : shape_(shape), device_(device) {
  if (order != nullptr) order->ready_in(stream);
  synchronise(device, stream);
  const Stopwatch watch;
  cuda::BuiltWindows built =
      cuda::build_windows(device, stream, graph, shape, order != nullptr ? order->rows() : nullptr);
  windows_ = built.windows;
  tiles_count_ = built.tiles;
  selected_ = built.selected;
  dense_columns_ = built.dense_columns;
  dense_edges_ = graph.num_edges - built.residual_edges;
  rows_ = std::move(built.rows);
  work_ = std::move(built.work);
  cols_ = std::move(built.cols);
  bits_ = std::move(built.bits);
  counts_ = std::move(built.counts);
  edge_starts_ = std::move(built.edge_starts);
  edges_ = std::move(built.edges);
  place_starts_ = std::move(built.place_starts);
  places_ = std::move(built.places);
  const auto rows = static_cast<std::size_t>(shape.rows), tiles = static_cast<std::size_t>(tiles_count_);
  bytes_ = static_cast<std::size_t>(windows_) * (rows * sizeof(NodeId) + sizeof(WindowWork) + sizeof(WindowCounts)) +
           tiles * (window_step * sizeof(NodeId) + window_step / 32 * rows * sizeof(std::uint32_t));
  if (shape.edges)
    bytes_ += tiles * (rows / 16) * sizeof(std::uint32_t) + static_cast<std::size_t>(dense_edges_) * sizeof(TileEdge);
  if (shape.places)
    bytes_ += (static_cast<std::size_t>(graph.num_cols) + 1 + tiles * window_step) * sizeof(std::uint32_t);
  auto arrays = std::make_shared<Residual>();
  arrays->offsets = std::move(built.residual_offsets);
  arrays->rows = std::move(built.residual_rows);
  arrays->cols = std::move(built.residual_cols);
  arrays->ids = std::move(built.residual_ids);
  const auto edges = static_cast<std::size_t>(built.residual_edges);
  residual_ =
      GraphInternals::adopt_on_device(device, stream, graph.num_rows, graph.num_cols,
                                      {array<EdgeId>(arrays->offsets), static_cast<std::size_t>(graph.num_rows) + 1},
                                      {array<NodeId>(arrays->cols), edges}, array<NodeId>(arrays->rows),
                                      {array<EdgeId>(arrays->ids), shape.edges ? edges : 0}, arrays);
  made_.set(device, stream);
  synchronise(device, stream);
  seconds_ = watch.seconds();
}

WindowsView RowWindows::view() const {
  return {windows_, array<NodeId>(rows_), array<WindowWork>(work_), array<NodeId>(cols_), array<std::uint32_t>(bits_)};
}

TileEdgesView RowWindows::tile_edges() const { return {array<std::uint32_t>(edge_starts_), array<TileEdge>(edges_)}; }

TilePlacesView RowWindows::tile_places() const {
  return {array<std::uint32_t>(place_starts_), array<std::uint32_t>(places_)};
}

std::vector<WindowCounts> RowWindows::counts() const {
  std::vector<WindowCounts> counts(static_cast<std::size_t>(windows_));
  copy_bytes(Device{}, counts.data(), device_, counts_.data(), counts.size() * sizeof(WindowCounts), nullptr);
  return counts;
}

std::shared_ptr<const RowOrder> Graph::Impl::rows_in(WindowLayout layout) const {
  if (layout == WindowLayout::none) return nullptr;
  if (layout == WindowLayout::clusters) return rows_by_community();
  // Windows of 64 and 128 rows take several of LOA's 16 rows, as its ranges of 4096 are whole windows of any size.
  // Groups as large as the windows make 1 % of the edges more dense (pubmed, ca-CondMat), for an order each.
  constexpr LoaOptions options;
  static_assert(cuda::arranges_on_gpu(options));
  if (loa == nullptr)
    loa = std::make_shared<const RowOrder>(device, cuda::arrange_by_ranges(device, stream, view(), options), num_rows,
                                           stream);
  return loa;
}

Graph GraphInternals::adopt_on_device(Device device, CUstream_st* stream, std::int64_t num_rows, std::int64_t num_cols,
                                      std::span<const EdgeId> offsets, std::span<const NodeId> cols, const NodeId* rows,
                                      std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper) {
  return Graph::Impl::make_on(device, stream, num_rows, num_cols, offsets, cols, rows, edge_ids, std::move(keeper));
}

WindowEstimate GraphInternals::estimate_windows(const Graph& graph, const WindowShape& shape, CUstream_st* stream) {
  constexpr std::int64_t most_looked_at = 128;  // windows
  const Graph::Impl& half = Graph::Impl::of(graph);
  const GraphView view = half.view();
  const std::lock_guard guard(half.pair->lock);
  const auto order = half.rows_in(shape.layout);
  if (order) order->ready_in(stream);
  const std::int64_t windows = (view.num_rows + shape.rows - 1) / shape.rows;
  const std::int64_t looked_at = std::min(windows, most_looked_at);
  const cuda::WindowTotals seen =
      cuda::look_at_windows(half.device, stream, view, shape, order ? order->rows() : nullptr, looked_at);
  if (seen.edges == 0) return {};
  // Windows differ in their edges: those that were looked at stand for as many edges as all have.
  const double scale = static_cast<double>(view.num_edges) / static_cast<double>(seen.edges);
  return {std::min(1.0, static_cast<double>(seen.dense_edges) / static_cast<double>(seen.edges)),
          static_cast<double>(seen.tiles) * scale};
}

std::shared_ptr<const RowWindows> GraphInternals::row_windows(const Graph& graph, const WindowShape& shape,
                                                              CUstream_st* stream) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  GraphView view = half.view();
  WEFT_CHECK(EdgeOrder::possible(view) && !half.redrawn, unsupported,
             "a {} x {} graph of {} edges{} has no windows: expected a square one of 1 to 2^31 - 1 edges that stay",
             view.num_rows, view.num_cols, view.num_edges, half.redrawn ? ", drawn in place," : "");
  const std::lock_guard guard(half.pair->lock);
  for (const auto& made : half.windows)
    if (made->shape() == shape) {
      made->ready_in(stream);
      return made;
    }
  const auto order = half.rows_in(shape.layout);
  DeviceBuffer temporary;
  if (shape.edges && half.ids_on_demand) view.edge_ids = half.ids_for_now(temporary);
  half.windows.push_back(std::make_shared<const RowWindows>(half.device, view, shape, order.get(), half.stream));
  half.windows.back()->ready_in(stream);
  return half.windows.back();
}

void GraphInternals::drop_windows(const Graph& graph) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const std::lock_guard guard(half.pair->lock);
  half.windows.clear();
}

}  // namespace weft
