#include "weft/graph.hpp"

#include <atomic>

#include "core/check.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/cuda/edge_places.hpp"
#include "graph/graph_impl.hpp"
#include "graph/graph_internals.hpp"
#include "graph/sample/kept_rows.hpp"
#include "graph/scan.hpp"
#include "graph/windows/row_windows.hpp"

namespace weft {
namespace {

constexpr EdgeId no_offsets[1] = {0};

}  // namespace

GraphView Graph::Impl::view() const {
  return {num_rows,    num_cols,    static_cast<std::int64_t>(cols.size()),       offsets.data(),
          device_rows, cols.data(), edge_ids.empty() ? nullptr : edge_ids.data(), longest_row,
          empty_rows};
}

const Graph::Impl& Graph::Impl::on_host() const {
  WEFT_CHECK(device.kind == DeviceKind::cpu, invalid_argument,
             "the graph is on {}, where the host cannot read it: copy it with to(Device{{}}) first", to_string(device));
  return *this;
}

std::size_t Graph::Impl::bytes() const {
  const std::size_t rows_held = device_rows != nullptr ? cols.size() : rows.size();
  std::size_t on_demand = clustered != nullptr ? clustered->bytes() : 0;
  if (communities != nullptr && !redrawn) on_demand += communities->bytes();
  if (loa != nullptr) on_demand += loa->bytes();
  if (kept_ids() != nullptr) on_demand += cols.size() * sizeof(EdgeId);
  for (const auto& of_writes : places)
    for (const auto& of_both : of_writes) on_demand += of_both != nullptr ? of_both->bytes() : 0;
  for (const auto& of_width : kept_rows) on_demand += of_width->bytes();
  for (const auto& of_shape : windows) on_demand += of_shape->bytes() + of_shape->residual().bytes();
  return offsets.size_bytes() + cols.size_bytes() + edge_ids.size_bytes() + rows_held * sizeof(NodeId) + on_demand;
}

const Graph::Impl& Graph::Impl::of(const Graph& graph) {
  static const Graph none;
  return graph.impl_ ? *graph.impl_ : *none.impl_;
}

Graph Graph::Impl::make(std::int64_t num_rows, std::int64_t num_cols, std::span<const EdgeId> offsets,
                        std::span<const NodeId> cols, std::span<const EdgeId> edge_ids,
                        std::shared_ptr<const void> keeper) {
  auto pair = std::make_shared<Pair>();
  Impl& given = pair->given;
  given.num_rows = num_rows;
  given.num_cols = num_cols;
  given.offsets = offsets;
  given.cols = cols;
  given.edge_ids = edge_ids;
  given.keeper = std::move(keeper);
  given.pair = pair->reversed.pair = pair.get();
  return Graph(std::shared_ptr<const Impl>(pair, &given));
}

Graph own(std::int64_t num_rows, std::int64_t num_cols, EdgeArrays arrays) {
  const auto kept = std::make_shared<const EdgeArrays>(std::move(arrays));
  return Graph::adopt(num_rows, num_cols, {kept->offsets.data(), kept->offsets.size()},
                      {kept->nodes.data(), kept->nodes.size()}, {kept->ids.data(), kept->ids.size()}, kept,
                      Validate::trusted);
}

Graph::Graph() : Graph(Impl::make(0, 0, no_offsets, {}, {}, {})) {}
Graph::Graph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

std::int64_t Graph::num_rows() const { return Impl::of(*this).num_rows; }
std::int64_t Graph::num_cols() const { return Impl::of(*this).num_cols; }
std::int64_t Graph::num_edges() const { return static_cast<std::int64_t>(Impl::of(*this).cols.size()); }
Device Graph::device() const { return Impl::of(*this).device; }
std::span<const EdgeId> Graph::offsets() const& { return Impl::of(*this).on_host().offsets; }
std::span<const NodeId> Graph::cols() const& { return Impl::of(*this).on_host().cols; }
std::span<const EdgeId> Graph::edge_ids() const& { return Impl::of(*this).on_host().edge_ids; }
GraphView GraphInternals::view_without_ids(const Graph& graph) {
  GraphView result = Graph::Impl::of(graph).view();
  result.edge_ids = nullptr;
  return result;
}
std::uint64_t Graph::identity() const { return Impl::of(*this).identity; }

GraphView Graph::view() const& {
  const Impl& half = Impl::of(*this);
  if (!half.ids_on_demand) return half.view();
  const std::lock_guard guard(half.pair->lock);
  half.keep_ids();
  GraphView result = half.view();
  result.edge_ids = half.kept_ids();
  return result;
}

GraphView Graph::host_view() const& { return Impl::of(*this).on_host().view(); }

std::uint64_t Graph::Impl::next_identity() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::span<const NodeId> Graph::rows() const& {
  const Impl& impl = Impl::of(*this).on_host();
  const std::lock_guard guard(impl.pair->lock);
  Impl& half = &impl == &impl.pair->given ? impl.pair->given : impl.pair->reversed;
  if (!half.rows_built) {
    Buffer<NodeId> rows(half.cols.size(), "rows of a graph");
    parallel_runs(
        half.offsets.data(), half.num_rows, static_cast<EdgeId>(half.cols.size()),
        [out = rows.data()](NodeId row, EdgeId first, EdgeId last) { std::fill(out + first, out + last, row); });
    half.rows = std::move(rows);
    half.rows_built = true;
  }
  return {half.rows.data(), half.rows.size()};
}

bool GraphInternals::has_clustered_edges(const Graph& graph) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const std::lock_guard guard(half.pair->lock);
  return half.clustered != nullptr;
}

bool GraphInternals::has_communities(const Graph& graph) {
  const Graph::Impl& half = Graph::Impl::of(graph);
  const std::lock_guard guard(half.pair->lock);
  return half.communities != nullptr;
}

bool GraphInternals::is_redrawn(const Graph& graph) { return Graph::Impl::of(graph).redrawn; }

GraphView Graph::view_with_rows() const& {
  GraphView result = view();
  if (result.rows == nullptr && device().kind == DeviceKind::cpu) result.rows = rows().data();
  return result;
}

Graph Graph::transpose() const {
  const Impl& impl = Impl::of(*this);
  Impl::Pair& pair = *impl.pair;
  if (&impl == &pair.reversed) return Graph(std::shared_ptr<const Impl>(impl_, &pair.given));
  const std::lock_guard guard(pair.lock);
  if (!pair.reversed_built && pair.given.device.kind != DeviceKind::cpu) {
    pair.reverse_on_device();
    pair.reversed_built = true;
  }
  if (!pair.reversed_built) {
    const auto kept = or_out_of_memory("the transpose of a graph", [&] {
      return std::make_shared<const EdgeArrays>(reverse_edges(pair.given.view()));
    });
    Impl& half = pair.reversed;
    half.num_rows = pair.given.num_cols;
    half.num_cols = pair.given.num_rows;
    half.offsets = {kept->offsets.data(), kept->offsets.size()};
    half.cols = {kept->nodes.data(), kept->nodes.size()};
    half.edge_ids = {kept->ids.data(), kept->ids.size()};
    half.keeper = kept;
    pair.reversed_built = true;
  }
  return Graph(std::shared_ptr<const Impl>(impl_, &pair.reversed));
}

std::size_t Graph::bytes() const {
  const Impl::Pair& pair = *Impl::of(*this).pair;
  const std::lock_guard guard(Impl::of(*this).pair->lock);
  return pair.given.bytes() + pair.reversed.bytes();
}

}  // namespace weft
