// Graphs built where their edges are.
#include "core/check.hpp"
#include "core/device.hpp"
#include "graph/convert_ids.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_impl.hpp"

namespace weft {
namespace {

void check_ends(ConstTensorView ends, std::string_view argument) {
  WEFT_CHECK(ends.given, invalid_argument, "{} is missing: expected one node id for every edge", argument);
  WEFT_CHECK(ends.dtype == Dtype::i32 || ends.dtype == Dtype::i64, invalid_argument,
             "{} has dtype {}: expected i32 or i64, a node id for every edge", argument, name(ends.dtype));
  WEFT_CHECK(ends.shape.rows >= 0 && ends.shape.row_size() == 1 && ends.ld == 1, invalid_argument,
             "{} has shape {} and leading dimension {}: expected one node id for every edge, side by side", argument,
             to_string(ends.shape), ends.ld);
  WEFT_CHECK(ends.data != nullptr || ends.shape.rows == 0, invalid_argument,
             "{} has shape {} but no memory (null data)", argument, to_string(ends.shape));
}

/// Ids of 64 bits in 32, each of them one of `count`.
Tensor narrowed(ConstTensorView ends, std::string_view argument, std::string_view count_name, std::int64_t count,
                CUstream_st* stream) {
  const std::int64_t edges = ends.shape.rows;
  const auto* const ids = ends.as<std::int64_t>();
  const bool on_gpu = ends.device.kind == DeviceKind::cuda;
  if (on_gpu) require_cuda(ends.device.index, "a graph");
  const std::int64_t wrong =
      on_gpu ? cuda::first_no_node(ends.device, stream, ids, edges, count) : find_first(edges, [=](std::int64_t k) {
        return static_cast<std::uint64_t>(ids[k]) >= static_cast<std::uint64_t>(count);
      });
  if (wrong < edges) {
    std::int64_t id = 0;
    copy_bytes(Device{}, &id, ends.device, ids + wrong, sizeof(id), stream);
    check_end(argument, count_name, id, count, wrong);
  }
  return converted_ids<NodeId, std::int64_t>(ends, "ends of edges in 32 bits", stream);
}

NodeId read_node(Device device, CUstream_st* stream, const NodeId* from) {
  NodeId node = 0;
  copy_bytes(Device{}, &node, device, from, sizeof(node), stream);
  return node;
}

template <class T>
DeviceBuffer copy_of(Device device, CUstream_st* stream, const T* values, std::int64_t count, std::string_view what) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  DeviceBuffer copy(device, stream, bytes, what);
  copy_bytes(device, copy.data(), device, values, bytes, stream);
  return copy;
}

/// The arrays of a list that is in stored order already.
cuda::EdgeBuffers as_it_stands(Device device, CUstream_st* stream, const GraphView& list) {
  cuda::EdgeBuffers arrays;
  arrays.offsets =
      DeviceBuffer(device, stream, static_cast<std::size_t>(list.num_rows + 1) * sizeof(EdgeId), "offsets of a graph");
  arrays.rows = copy_of(device, stream, list.rows, list.num_edges, "rows of a graph");
  arrays.cols = copy_of(device, stream, list.cols, list.num_edges, "columns of a graph");
  cuda::find_offsets(device, stream, list, reinterpret_cast<EdgeId*>(arrays.offsets.data()));
  return arrays;
}

}  // namespace

void Graph::Impl::hold(std::int64_t rows_count, std::int64_t cols_count, std::int64_t edges, cuda::EdgeBuffers arrays,
                       Device where, CUstream_st* in_stream) {
  const auto kept = std::make_shared<cuda::EdgeBuffers>(std::move(arrays));
  const auto count = static_cast<std::size_t>(edges);
  num_rows = rows_count;
  num_cols = cols_count;
  device = where;
  stream = in_stream;
  offsets = {reinterpret_cast<const EdgeId*>(kept->offsets.data()), static_cast<std::size_t>(rows_count) + 1};
  cols = {reinterpret_cast<const NodeId*>(kept->cols.data()), count};
  edge_ids = {reinterpret_cast<const EdgeId*>(kept->edge_ids.data()), kept->edge_ids.data() != nullptr ? count : 0};
  device_rows = reinterpret_cast<const NodeId*>(kept->rows.data());
  keeper = kept;
}

Graph Graph::Impl::make_on(Device device, CUstream_st* stream, std::int64_t num_rows, std::int64_t num_cols,
                           std::span<const EdgeId> offsets, std::span<const NodeId> cols, const NodeId* rows,
                           std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper) {
  const Graph graph = make(num_rows, num_cols, offsets, cols, edge_ids, std::move(keeper));
  Impl& half = Impl::of(graph).pair->given;
  half.device = device;
  half.stream = stream;
  half.device_rows = rows;
  half.look_at_rows();
  return graph;
}

void Graph::Impl::look_at_rows() {
  const cuda::RowExtremes seen = cuda::row_extremes(device, stream, offsets.data(), num_rows);
  longest_row = seen.longest;
  empty_rows = seen.empty;
}

void Graph::Impl::keep_ids() const {
  if (kept_ids() != nullptr) return;
  WEFT_CHECK(!redrawn, internal, "ids of edges that are drawn in place are asked for: expected them to be known");
  DeviceBuffer ids = cuda::reversed_ids(device, stream, pair->given.view());
  synchronise(device, stream);
  made_ids = std::move(ids);
}

const EdgeId* Graph::Impl::ids_for_now(DeviceBuffer& temporary) const {
  if (kept_ids() != nullptr) return kept_ids();
  temporary = cuda::reversed_ids(device, stream, pair->given.view());
  return reinterpret_cast<const EdgeId*>(temporary.data());
}

void Graph::Impl::Pair::reverse_on_device() {
  const Device where = given.device;
  const bool with_ids = given.cols.size() < ids_at_once;
  reversed.hold(given.num_cols, given.num_rows, static_cast<std::int64_t>(given.cols.size()),
                cuda::reverse_edges(where, given.stream, given.view(), with_ids), where, given.stream);
  reversed.ids_on_demand = !with_ids;
  reversed.look_at_rows();
  // Whoever asked for it may work in any stream.
  synchronise(where, given.stream);
}

Graph Graph::from_edges(std::int64_t num_nodes, EdgeTensors edges, CUstream_st* stream) {
  check_node_count(num_nodes, "num_nodes");
  return from_edges({.num_sources = num_nodes, .num_destinations = num_nodes}, edges, stream);
}

Graph Graph::from_edges(NodeCounts nodes, EdgeTensors edges, CUstream_st* stream) {
  const auto [num_sources, num_destinations] = nodes;
  const auto [sources, destinations] = edges;
  check_ends(destinations, "destinations");
  check_ends(sources, "sources");
  WEFT_CHECK(destinations.device == sources.device, invalid_argument,
             "destinations is on {} and sources on {}: expected both on one device", to_string(destinations.device),
             to_string(sources.device));
  WEFT_CHECK(destinations.dtype == sources.dtype, invalid_argument,
             "destinations has dtype {} and sources {}: expected both i32 or both i64", name(destinations.dtype),
             name(sources.dtype));
  if (destinations.dtype == Dtype::i64) {
    check_edge_list_sizes(num_destinations, num_sources, static_cast<std::size_t>(destinations.shape.rows),
                          static_cast<std::size_t>(sources.shape.rows));
    const Tensor to = narrowed(destinations, "destinations", "num_destinations", num_destinations, stream);
    const Tensor from = narrowed(sources, "sources", "num_sources", num_sources, stream);
    return from_edges(nodes, {.sources = from, .destinations = to}, stream);
  }
  const Device device = destinations.device;
  const auto count = [](ConstTensorView ends) { return static_cast<std::size_t>(ends.shape.rows); };
  if (device.kind == DeviceKind::cpu)
    return from_edges(nodes, {.sources = {sources.as<NodeId>(), count(sources)},
                              .destinations = {destinations.as<NodeId>(), count(destinations)}});
  check_edge_list_sizes(num_destinations, num_sources, count(destinations), count(sources));
  GraphView list{num_destinations, num_sources, sources.shape.rows};
  list.rows = destinations.as<NodeId>();
  list.cols = sources.as<NodeId>();
  require_cuda(device.index, "a graph");
  const std::int64_t wrong = cuda::first_outside(device, stream, list);
  if (wrong < list.num_edges)
    check_edge_ends(list, wrong, read_node(device, stream, list.rows + wrong),
                    read_node(device, stream, list.cols + wrong));
  const bool stored_order = cuda::first_unsorted(device, stream, list) == list.num_edges;
  auto pair = std::make_shared<Impl::Pair>();
  pair->given.pair = pair->reversed.pair = pair.get();
  pair->given.hold(num_destinations, num_sources, list.num_edges,
                   stored_order ? as_it_stands(device, stream, list) : cuda::sort_edges(device, stream, list), device,
                   stream);
  pair->given.look_at_rows();
  synchronise(device, stream);
  return Graph(std::shared_ptr<const Impl>(pair, &pair->given));
}

}  // namespace weft
