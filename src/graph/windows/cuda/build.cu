#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/windows/cuda/build.hpp"
#include "graph/windows/cuda/build_passes.cuh"

namespace weft::cuda {
namespace {

using namespace window_passes;

/// One call's way through the passes.
template <class Key>
class Builder {
 public:
  Builder(Device device, CUstream_st* stream, const GraphView& graph, const WindowShape& shape)
      : device_(device),
        stream_(stream),
        g_(graph),
        shape_(shape),
        windows_((graph.num_rows + shape.rows - 1) / shape.rows) {}

  BuiltWindows build(const std::int32_t* order) {
    BuiltWindows result;
    result.windows = windows_;
    const DeviceBuffer places = buffer<NodeId>(g_.num_rows, "places of rows in windows");
    result.rows = buffer<NodeId>(windows_ * shape_.rows, "rows of windows");
    each(windows_ * shape_.rows, stream_, "listing the rows of windows",
         PlaceOfRow{order, g_.num_rows, as<NodeId>(result.rows), as<NodeId>(places)});
    sort(as<NodeId>(places));
    find_runs();
    find_dense();
    select(result);
    order_windows(result);
    fill(as<NodeId>(places), result);
    take_residual(result);
    if (shape_.edges) list_edges(result);
    if (shape_.places) list_places(result);
    return result;
  }

 private:
  template <class T>
  DeviceBuffer buffer(std::int64_t count, const char* what) const {
    return DeviceBuffer(device_, stream_, static_cast<std::size_t>(count) * sizeof(T), what);
  }
  template <class T>
  std::int64_t read(const T* from) const {
    T value = 0;
    copy_bytes(Device{}, &value, device_, from, sizeof value, stream_);
    return static_cast<std::int64_t>(value);
  }

  void sort(const NodeId* places) {
    for (int i = 0; i < 2; ++i) {
      keys_[i] = buffer<Key>(g_.num_edges, "windows and columns of edges");
      edges_[i] = buffer<std::uint32_t>(g_.num_edges, "edges by window and column");
    }
    each(g_.num_edges, stream_, "looking up the windows of edges",
         KeyOfEdge<Key>{g_, places, shape_.rows, as<Key>(keys_[0]), as<std::uint32_t>(edges_[0])});
    Key* const keys[] = {as<Key>(keys_[0]), as<Key>(keys_[1])};
    std::uint32_t* const edges[] = {as<std::uint32_t>(edges_[0]), as<std::uint32_t>(edges_[1])};
    const int at = sort_between(device_, stream_, "sorting edges by window and column", keys, edges, g_.num_edges,
                                bits_for(windows_ * g_.num_cols - 1));
    keys_[1 - at] = {};
    edges_[1 - at] = {};
    sorted_ = {keys[at], edges[at], g_.num_edges, g_.num_cols};
  }

  void find_runs() {
    const std::int64_t edges = g_.num_edges;
    const DeviceBuffer flags = buffer<std::uint8_t>(edges + 1, "columns of windows");
    numbers_ = buffer<std::uint32_t>(edges + 1, "columns of windows");
    auto* const numbers = as<std::uint32_t>(numbers_);
    each(edges + 1, stream_, "finding the columns of windows", FlagStarts<Key>{sorted_, as<std::uint8_t>(flags)});
    count_flags(device_, stream_, "numbering the columns of windows", as<std::uint8_t>(flags), numbers, edges + 1);
    runs_ = read(numbers + edges);
    starts_ = buffer<std::uint32_t>(runs_ + 1, "columns of windows");
    each(edges + 1, stream_, "finding the columns of windows",
         StartsOfRuns<Key>{sorted_, numbers, as<std::uint32_t>(starts_)});
  }

  void find_dense() {
    const DeviceBuffer flags = buffer<std::uint8_t>(runs_ + 1, "dense columns");
    dense_before_ = buffer<std::uint32_t>(runs_ + 1, "dense columns");
    edges_before_ = buffer<std::int64_t>(runs_ + 1, "edges of dense columns");
    first_run_ = buffer<std::int64_t>(windows_ + 1, "the first columns of windows");
    auto* const edges = as<std::int64_t>(edges_before_);
    each(runs_ + 1, stream_, "finding dense columns",
         FlagDense<Key>{sorted_, g_.rows, as<std::uint32_t>(starts_), runs_, windows_, shape_.threshold,
                        as<std::uint8_t>(flags), edges, as<std::int64_t>(first_run_)});
    count_flags(device_, stream_, "counting dense columns", as<std::uint8_t>(flags), as<std::uint32_t>(dense_before_),
                runs_ + 1);
    add_up(device_, stream_, "counting edges of dense columns", Sums::exclusive, edges, edges, runs_ + 1);
    starts_ = {};
  }

  void select(BuiltWindows& result) {
    const DeviceBuffer selected = buffer<std::int64_t>(windows_ + 1, "windows for tensor cores");
    const DeviceBuffer columns = buffer<std::int64_t>(windows_ + 1, "dense columns of windows");
    first_tile_ = buffer<std::int64_t>(windows_ + 1, "the first tiles of windows");
    result.counts = buffer<WindowCounts>(windows_, "dense columns and edges of windows");
    auto* const tiles = as<std::int64_t>(first_tile_);
    each(windows_ + 1, stream_, "selecting windows",
         SelectWindows{as<std::uint32_t>(dense_before_), as<std::int64_t>(edges_before_), as<std::int64_t>(first_run_),
                       windows_, shape_.rows, shape_.select, as<WindowCounts>(result.counts),
                       as<std::int64_t>(selected), as<std::int64_t>(columns), tiles});
    edges_before_ = {};
    for (std::int64_t* const counted : {as<std::int64_t>(selected), as<std::int64_t>(columns), tiles})
      add_up(device_, stream_, "counting tiles", Sums::exclusive, counted, counted, windows_ + 1);
    result.selected = read(as<std::int64_t>(selected) + windows_);
    result.dense_columns = read(as<std::int64_t>(columns) + windows_);
    result.tiles = read(tiles + windows_);
  }

  void order_windows(BuiltWindows& result) {
    const std::int64_t most_tiles = (g_.num_cols + window_step - 1) / window_step;
    DeviceBuffer keys[2], windows[2];
    for (int i = 0; i < 2; ++i) {
      keys[i] = buffer<std::uint32_t>(windows_, "tiles of windows");
      windows[i] = buffer<std::uint32_t>(windows_, "windows by their tiles");
    }
    const auto* const tiles = as<std::int64_t>(first_tile_);
    std::uint32_t* const from[] = {as<std::uint32_t>(keys[0]), as<std::uint32_t>(keys[1])};
    std::uint32_t* const sorted[] = {as<std::uint32_t>(windows[0]), as<std::uint32_t>(windows[1])};
    each(windows_, stream_, "ordering windows", KeyOfWindow{tiles, most_tiles, from[0], sorted[0]});
    const int at = sort_between(device_, stream_, "ordering windows", from, sorted, windows_, bits_for(most_tiles));
    result.work = buffer<WindowWork>(windows_, "tiles of windows");
    each(windows_, stream_, "ordering windows", ListWork{tiles, sorted[at], as<WindowWork>(result.work)});
  }

  void fill(const NodeId* places, BuiltWindows& result) {
    const std::int64_t words = result.tiles * (window_step / 32) * shape_.rows;
    result.cols = buffer<NodeId>(result.tiles * window_step, "columns of tiles");
    result.bits = buffer<std::uint32_t>(words, "bits of tiles");
    leaves_ = buffer<std::uint8_t>(g_.num_edges + 1, "edges of tiles");  // one more, for their number
    zero_bytes(device_, result.bits.data(), static_cast<std::size_t>(words) * sizeof(std::uint32_t), stream_);
    zero_bytes(device_, leaves_.data(), static_cast<std::size_t>(g_.num_edges) + 1, stream_);
    if (shape_.edges) {
      groups_[0] = buffer<std::uint32_t>(g_.num_edges, "tiles of edges");
      spots_ = buffer<std::uint16_t>(g_.num_edges, "where edges are in tiles");
      each(g_.num_edges, stream_, "filling tiles",
           SetGroups{as<std::uint32_t>(groups_[0]), static_cast<std::uint32_t>(result.tiles * (shape_.rows / 16))});
    }
    each(g_.num_edges, stream_, "filling tiles",
         FillTiles<Key>{sorted_, as<std::uint32_t>(numbers_), g_.rows, places, as<std::uint32_t>(dense_before_),
                        as<std::int64_t>(first_run_), as<std::int64_t>(first_tile_), shape_.rows,
                        as<NodeId>(result.cols), as<std::uint32_t>(result.bits), as<std::uint8_t>(leaves_),
                        as<std::uint32_t>(groups_[0]), as<std::uint16_t>(spots_)});
  }

  /// Edges by 16 rows of a tile; those of the residual come behind all others, in their order.
  void list_edges(BuiltWindows& result) {
    const std::int64_t edges = g_.num_edges, dense = edges - result.residual_edges;
    const std::int64_t groups = result.tiles * (shape_.rows / 16);
    for (int i = 0; i < 2; ++i) listed_[i] = buffer<std::uint32_t>(edges, "edges by their tiles");
    groups_[1] = buffer<std::uint32_t>(edges, "tiles of edges");
    std::uint32_t* const keys[] = {as<std::uint32_t>(groups_[0]), as<std::uint32_t>(groups_[1])};
    std::uint32_t* const listed[] = {as<std::uint32_t>(listed_[0]), as<std::uint32_t>(listed_[1])};
    each(edges, stream_, "listing the edges of tiles", NumberEdges{listed[0]});
    const int at = sort_between(device_, stream_, "listing the edges of tiles", keys, listed, edges, bits_for(groups));
    result.edge_starts = buffer<std::uint32_t>(groups + 1, "the first edges of tiles");
    result.edges = buffer<TileEdge>(dense, "the edges of tiles");
    result.residual_ids = buffer<EdgeId>(result.residual_edges, "ids of a residual graph's edges");
    each(edges + 1, stream_, "listing the edges of tiles",
         ListEdges{g_.edge_ids, keys[at], listed[at], as<std::uint16_t>(spots_), edges, dense, groups,
                   as<std::uint32_t>(result.edge_starts), as<TileEdge>(result.edges), as<EdgeId>(result.residual_ids)});
  }

  /// Places of tiles by their columns; those behind a window's last column, which it fills up, are among them.
  void list_places(BuiltWindows& result) {
    const std::int64_t count = result.tiles * window_step;
    DeviceBuffer keys[2], places[2];
    for (int i = 0; i < 2; ++i) {
      keys[i] = buffer<std::uint32_t>(count, "columns of tiles");
      places[i] = buffer<std::uint32_t>(count, "places of columns in tiles");
    }
    std::uint32_t* const from[] = {as<std::uint32_t>(keys[0]), as<std::uint32_t>(keys[1])};
    std::uint32_t* const to[] = {as<std::uint32_t>(places[0]), as<std::uint32_t>(places[1])};
    each(count, stream_, "listing the columns of tiles", KeyOfPlace{as<NodeId>(result.cols), from[0], to[0]});
    const int at =
        sort_between(device_, stream_, "listing the columns of tiles", from, to, count, bits_for(g_.num_cols - 1));
    result.place_starts = buffer<std::uint32_t>(g_.num_cols + 1, "places of columns in tiles");
    each(g_.num_cols + 1, stream_, "listing the columns of tiles",
         StartsOfColumns{from[at], count, as<std::uint32_t>(result.place_starts)});
    result.places = std::move(places[at]);
  }

  void take_residual(BuiltWindows& result) {
    for (DeviceBuffer* const done : {&keys_[0], &keys_[1], &edges_[0], &edges_[1], &numbers_}) *done = {};
    const DeviceBuffer sums = buffer<std::uint32_t>(g_.num_edges + 1, "edges of tiles");
    auto* const left = as<std::uint32_t>(sums);
    count_flags(device_, stream_, "counting edges of tiles", as<std::uint8_t>(leaves_), left, g_.num_edges + 1);
    result.residual_edges = g_.num_edges - read(left + g_.num_edges);
    result.residual_offsets = buffer<EdgeId>(g_.num_rows + 1, "offsets of a residual graph");
    result.residual_rows = buffer<NodeId>(result.residual_edges, "rows of a residual graph");
    result.residual_cols = buffer<NodeId>(result.residual_edges, "columns of a residual graph");
    each(g_.num_rows + 1, stream_, "taking edges outside of tiles",
         ResidualOffsets{g_.offsets, left, as<EdgeId>(result.residual_offsets)});
    each(g_.num_edges, stream_, "taking edges outside of tiles",
         ResidualEdges{g_, left, as<NodeId>(result.residual_rows), as<NodeId>(result.residual_cols)});
  }

  Device device_;
  CUstream_st* stream_;
  const GraphView& g_;
  const WindowShape& shape_;
  std::int64_t windows_, runs_ = 0;
  DeviceBuffer groups_[2], listed_[2], spots_;
  DeviceBuffer keys_[2], edges_[2], numbers_, starts_, dense_before_, edges_before_, first_run_, first_tile_, leaves_;
  SortedEdges<Key> sorted_{};
};

}  // namespace

BuiltWindows build_windows(Device device, CUstream_st* stream, const GraphView& graph, const WindowShape& shape,
                           const std::int32_t* order) {
  const OnDevice on(device.index);
  const std::int64_t windows = (graph.num_rows + shape.rows - 1) / shape.rows;
  const bool narrow = windows * graph.num_cols <= std::int64_t{1} << 32;
  return narrow ? Builder<std::uint32_t>(device, stream, graph, shape).build(order)
                : Builder<std::uint64_t>(device, stream, graph, shape).build(order);
}

}  // namespace weft::cuda
