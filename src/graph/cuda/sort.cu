// The sort under graphs that are built on a device: stable radix sorts of (one end, position) pairs, after which
// everything else of an edge is gathered by position.
#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/cuda/edges.hpp"

namespace weft::cuda {
namespace {

template <class Position>
struct TakeKeys {
  const NodeId* ends;
  std::uint32_t* keys;
  Position* positions;
  __device__ void operator()(std::int64_t k) const {
    keys[k] = static_cast<std::uint32_t>(ends[k]);
    positions[k] = static_cast<Position>(k);
  }
};

template <class Position>
struct GatherKeys {
  const NodeId* ends;
  const Position* positions;
  std::uint32_t* keys;
  __device__ void operator()(std::int64_t k) const { keys[k] = static_cast<std::uint32_t>(ends[positions[k]]); }
};

template <class Position>
struct GatherCols {
  const NodeId* other_ends;
  const Position* positions;
  NodeId* cols;
  __device__ void operator()(std::int64_t k) const { cols[k] = other_ends[positions[k]]; }
};

template <class Position>
struct GatherIds {
  const EdgeId* ids;  // null: an edge's id is its position
  const Position* positions;
  EdgeId* edge_ids;
  __device__ void operator()(std::int64_t k) const {
    const Position from = positions[k];
    edge_ids[k] = ids != nullptr ? ids[from] : static_cast<EdgeId>(from);
  }
};

struct PlaceReversed {
  const NodeId* rows;  // of the graph
  const std::int32_t* positions;
  NodeId* cols;
  EdgeId* ids;
  __device__ void operator()(std::int64_t k) const {
    const std::int32_t from = positions[k];
    cols[k] = rows[from];
    ids[k] = from;
  }
};

/// Edges on their way: a key and a position each, in two copies between which the sort moves. Positions take 4 bytes
/// while they fit, which saves a third of what is moved.
template <class Position>
class EdgeSorter {
 public:
  EdgeSorter(Device device, CUstream_st* stream, std::int64_t count) : device_(device), stream_(stream), count_(count) {
    const auto items = static_cast<std::size_t>(count);
    for (DeviceBuffer& keys : keys_)
      keys = DeviceBuffer(device, stream, items * sizeof(std::uint32_t), "ends of edges being sorted");
    for (DeviceBuffer& positions : positions_)
      positions = DeviceBuffer(device, stream, items * sizeof(Position), "positions of edges being sorted");
  }

  void start_with(const NodeId* ends) {
    each(count_, stream_, "starting to sort edges", TakeKeys<Position>{ends, keys(), positions()});
  }
  void go_on_with(const NodeId* ends) {
    each(count_, stream_, "sorting edges", GatherKeys<Position>{ends, positions(), keys()});
  }
  /// By key, all of which are below `limit`; edges of one key stay in order.
  void sort(std::int64_t limit) {
    if (count_ == 0) return;
    std::uint32_t* const keys[] = {this->keys(), as<std::uint32_t>(keys_[1 - at_])};
    Position* const positions[] = {this->positions(), as<Position>(positions_[1 - at_])};
    if (sort_between(device_, stream_, "sorting edges", keys, positions, count_, bits_for(limit - 1)) != 0)
      at_ = 1 - at_;
  }

  /// Keys become the rows; columns are gathered from an array by position. Positions stay.
  EdgeBuffers finish(std::int64_t num_rows, std::int64_t num_cols, const NodeId* other_ends) {
    const auto items = static_cast<std::size_t>(count_);
    EdgeBuffers result;
    result.rows = std::move(keys_[at_]);
    drop_copies();
    result.cols = DeviceBuffer(device_, stream_, items * sizeof(NodeId), "columns of a graph");
    result.offsets =
        DeviceBuffer(device_, stream_, static_cast<std::size_t>(num_rows + 1) * sizeof(EdgeId), "offsets of a graph");
    each(count_, stream_, "placing sorted edges",
         GatherCols<Position>{other_ends, positions(), as<NodeId>(result.cols)});
    GraphView sorted{num_rows, num_cols, count_};
    sorted.rows = as<NodeId>(result.rows);
    find_offsets(device_, stream_, sorted, as<EdgeId>(result.offsets));
    return result;
  }
  /// Gathered from an array by position.
  DeviceBuffer ids(const EdgeId* given) {
    drop_copies();
    keys_[at_] = {};
    DeviceBuffer result(device_, stream_, static_cast<std::size_t>(count_) * sizeof(EdgeId), "edge ids of a graph");
    each(count_, stream_, "placing the ids of sorted edges",
         GatherIds<Position>{given, positions(), as<EdgeId>(result)});
    return result;
  }

 private:
  /// Of what is sorted, before more is asked for.
  void drop_copies() {
    keys_[1 - at_] = {};
    positions_[1 - at_] = {};
  }
  std::uint32_t* keys() const { return as<std::uint32_t>(keys_[at_]); }
  Position* positions() const { return as<Position>(positions_[at_]); }

  Device device_;
  CUstream_st* stream_;
  std::int64_t count_;
  DeviceBuffer keys_[2], positions_[2];
  int at_ = 0;  // the copy that holds
};

/// By source first: the sort by destination then keeps the sources of a row in order, and of one source the ids.
template <class Position>
EdgeBuffers sort_with(Device device, CUstream_st* stream, const GraphView& list) {
  EdgeSorter<Position> sorter(device, stream, list.num_edges);
  sorter.start_with(list.cols);
  sorter.sort(list.num_cols);
  sorter.go_on_with(list.rows);
  sorter.sort(list.num_rows);
  EdgeBuffers result = sorter.finish(list.num_rows, list.num_cols, list.cols);
  result.edge_ids = sorter.ids(nullptr);
  return result;
}

template <class Position>
EdgeSorter<Position> by_source(Device device, CUstream_st* stream, const GraphView& graph) {
  EdgeSorter<Position> sorter(device, stream, graph.num_edges);
  sorter.start_with(graph.cols);
  sorter.sort(graph.num_cols);
  return sorter;
}

template <class Position>
EdgeBuffers reverse_with(Device device, CUstream_st* stream, const GraphView& graph, bool with_ids) {
  EdgeSorter<Position> sorter = by_source<Position>(device, stream, graph);
  EdgeBuffers result = sorter.finish(graph.num_cols, graph.num_rows, graph.rows);
  if (with_ids) result.edge_ids = sorter.ids(graph.edge_ids);
  return result;
}

}  // namespace

EdgeBuffers sort_edges(Device device, CUstream_st* stream, const GraphView& list, EdgeId narrow_limit) {
  const OnDevice on(device.index);
  return list.num_edges < narrow_limit ? sort_with<std::uint32_t>(device, stream, list)
                                       : sort_with<std::uint64_t>(device, stream, list);
}

EdgeBuffers reverse_edges(Device device, CUstream_st* stream, const GraphView& graph, bool with_ids,
                          EdgeId narrow_limit) {
  const OnDevice on(device.index);
  return graph.num_edges < narrow_limit ? reverse_with<std::uint32_t>(device, stream, graph, with_ids)
                                        : reverse_with<std::uint64_t>(device, stream, graph, with_ids);
}

DeviceBuffer reversed_ids(Device device, CUstream_st* stream, const GraphView& graph, EdgeId narrow_limit) {
  const OnDevice on(device.index);
  return graph.num_edges < narrow_limit ? by_source<std::uint32_t>(device, stream, graph).ids(graph.edge_ids)
                                        : by_source<std::uint64_t>(device, stream, graph).ids(graph.edge_ids);
}

std::size_t reverse_scratch_bytes(Device device, const GraphView& graph) {
  return sort_bytes<std::uint32_t, std::int32_t>(device, graph.num_edges, bits_for(graph.num_cols - 1));
}

void reverse_into(Device device, CUstream_st* stream, const GraphView& graph, const ReversedArrays& arrays) {
  const OnDevice on(device.index);
  const bool with_ids = arrays.ids != nullptr;
  const SortedPairs<std::uint32_t, std::int32_t> by_source{reinterpret_cast<const std::uint32_t*>(graph.cols),
                                                           with_ids ? arrays.positions : graph.rows,
                                                           reinterpret_cast<std::uint32_t*>(arrays.rows),
                                                           with_ids ? arrays.sorted_positions : arrays.cols,
                                                           graph.num_edges,
                                                           bits_for(graph.num_cols - 1)};
  sort_pairs(device, stream, "sorting kept edges", by_source, {arrays.scratch, arrays.scratch_bytes});
  if (with_ids)
    each(graph.num_edges, stream, "placing reversed edges",
         PlaceReversed{graph.rows, arrays.sorted_positions, arrays.cols, arrays.ids});
  GraphView reversed{graph.num_cols, graph.num_rows, graph.num_edges};
  reversed.rows = arrays.rows;
  find_offsets(device, stream, reversed, arrays.offsets);
}

}  // namespace weft::cuda
