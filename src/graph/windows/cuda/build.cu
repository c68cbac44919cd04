#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/windows/cuda/build.hpp"

namespace weft::cuda {
namespace {

struct PlaceOfRow {
  const std::int32_t* order;  // null: in sequence
  std::int64_t num_rows;
  NodeId* rows;    // [windows, rows of a window]
  NodeId* places;  // [rows]
  __device__ void operator()(std::int64_t i) const {
    const NodeId row = i >= num_rows ? -1 : order != nullptr ? order[i] : static_cast<NodeId>(i);
    rows[i] = row;
    if (row >= 0) places[row] = static_cast<NodeId>(i);
  }
};

template <class Key>
struct KeyOfEdge {
  GraphView g;
  const NodeId* places;
  int window_rows;
  Key* keys;
  std::uint32_t* edges;
  __device__ void operator()(std::int64_t k) const {
    const auto window = static_cast<Key>(__ldg(places + g.rows[k]) / window_rows);
    keys[k] = window * static_cast<Key>(g.num_cols) + static_cast<Key>(g.cols[k]);
    edges[k] = static_cast<std::uint32_t>(k);
  }
};

/// Edges of one window and column stand side by side, in the order of their rows.
template <class Key>
struct SortedEdges {
  const Key* keys;
  const std::uint32_t* edges;
  std::int64_t count;
  std::int64_t num_cols;

  __device__ bool starts(std::int64_t i) const { return i == 0 || keys[i] != keys[i - 1]; }
  __device__ std::int64_t window(std::int64_t i) const {
    return static_cast<std::int64_t>(keys[i] / static_cast<Key>(num_cols));
  }
  __device__ NodeId column(std::int64_t i) const { return static_cast<NodeId>(keys[i] % static_cast<Key>(num_cols)); }
};

template <class Key>
struct FlagStarts {
  SortedEdges<Key> sorted;
  std::int64_t* flags;
  __device__ void operator()(std::int64_t i) const { flags[i] = sorted.starts(i); }
};

template <class Key>
struct StartsOfRuns {
  SortedEdges<Key> sorted;
  const std::int64_t* numbers;  // inclusive sums of the flags
  std::uint32_t* starts;        // [runs + 1]
  __device__ void operator()(std::int64_t i) const {
    if (i == sorted.count) {
      starts[numbers[i - 1]] = static_cast<std::uint32_t>(i);
    } else if (sorted.starts(i)) {
      starts[numbers[i] - 1] = static_cast<std::uint32_t>(i);
    }
  }
};

/// Runs, and the windows they are of.
template <class Key>
struct FlagDense {
  SortedEdges<Key> sorted;
  const NodeId* rows;  // of the graph's edges
  const std::uint32_t* starts;
  std::int64_t runs, windows;
  int threshold;
  std::int64_t* dense;      // [runs + 1] whether the column is
  std::int64_t* edges;      // [runs + 1] of dense ones, parallel edges once
  std::int64_t* first_run;  // [windows + 1]
  __device__ void operator()(std::int64_t r) const {
    const std::int64_t before = r > 0 ? sorted.window(starts[r - 1]) : -1;
    const std::int64_t here = r < runs ? sorted.window(starts[r]) : windows;
    for (std::int64_t w = before + 1; w <= here; ++w) first_run[w] = r;
    if (r == runs) {
      dense[r] = edges[r] = 0;
      return;
    }
    int different = 0;
    NodeId last = -1;
    for (std::uint32_t i = starts[r]; i < starts[r + 1]; ++i) {
      const NodeId row = rows[sorted.edges[i]];
      different += row != last;
      last = row;
    }
    dense[r] = different >= threshold;
    edges[r] = different >= threshold ? different : 0;
  }
};

/// Counts the dense columns of windows and decides which of them have tiles.
struct SelectWindows {
  const std::int64_t *dense_before, *edges_before, *first_run;
  std::int64_t windows;
  int rows;
  WindowModel model;
  WindowCounts* counts;                      // [windows]
  std::int64_t *selected, *columns, *tiles;  // [windows + 1] 0 but for those that are selected
  __device__ void operator()(std::int64_t w) const {
    selected[w] = columns[w] = tiles[w] = 0;
    if (w == windows) return;
    const std::int64_t first = first_run[w], end = first_run[w + 1];
    const WindowCounts here{static_cast<std::int32_t>(dense_before[end] - dense_before[first]),
                            static_cast<std::int32_t>(edges_before[end] - edges_before[first])};
    counts[w] = here;
    if (!model.keeps(here, rows)) return;
    selected[w] = 1;
    columns[w] = here.columns;
    tiles[w] = (here.columns + window_step - 1) / window_step;
  }
};

/// Windows with more tiles come first.
struct KeyOfWindow {
  const std::int64_t* first_tile;
  std::int64_t most_tiles;
  std::uint32_t *keys, *windows;
  __device__ void operator()(std::int64_t w) const {
    keys[w] = static_cast<std::uint32_t>(most_tiles - (first_tile[w + 1] - first_tile[w]));
    windows[w] = static_cast<std::uint32_t>(w);
  }
};

struct ListWork {
  const std::int64_t* first_tile;
  const std::uint32_t* windows;
  WindowWork* work;
  __device__ void operator()(std::int64_t i) const {
    const std::uint32_t w = windows[i];
    work[i] = {static_cast<std::int32_t>(w), static_cast<std::int32_t>(first_tile[w]),
               static_cast<std::int32_t>(first_tile[w + 1] - first_tile[w])};
  }
};

template <class Key>
struct FillTiles {
  SortedEdges<Key> sorted;
  const NodeId *rows, *places;
  const std::uint32_t* starts;
  const std::int64_t *dense_before, *first_run, *first_tile;
  int window_rows;
  NodeId* cols;
  std::uint32_t* bits;
  std::int64_t* stays;    // [edges] 1: in the residual
  std::uint32_t* groups;  // [edges] of 16 rows of a tile; null: not asked for
  std::uint16_t* spots;   // [edges] TileEdge::spot
  __device__ void operator()(std::int64_t r) const {
    if (dense_before[r + 1] == dense_before[r]) return;
    const std::int64_t window = sorted.window(starts[r]);
    if (first_tile[window + 1] == first_tile[window]) return;  // not selected
    const std::int64_t place = first_tile[window] * window_step + dense_before[r] - dense_before[first_run[window]];
    cols[place] = sorted.column(starts[r]);
    if (dense_before[r + 1] == dense_before[first_run[window + 1]])  // the window's last: it fills its tile
      for (std::int64_t i = place + 1; i % window_step != 0; ++i) cols[i] = sorted.column(starts[r]);
    NodeId last = -1;
    for (std::uint32_t i = starts[r]; i < starts[r + 1]; ++i) {
      const std::uint32_t k = sorted.edges[i];
      const NodeId row = rows[k];
      if (row != last) {
        const int at = places[row] % window_rows;
        const auto column = static_cast<int>(place % window_step);
        const std::int64_t word = (place / window_step * window_rows + at) * (window_step / 32) + column / 32;
        atomicOr(bits + word, 1u << window_bit(column % 32));
        stays[k] = 0;
        if (groups != nullptr) {
          groups[k] = static_cast<std::uint32_t>(place / window_step * (window_rows / 16) + at / 16);
          spots[k] = static_cast<std::uint16_t>(at % 16 * TileEdge::pitch + column);
        }
      }
      last = row;
    }
  }
};

struct SetStays {
  std::int64_t* stays;
  std::int64_t edges;
  __device__ void operator()(std::int64_t k) const { stays[k] = k < edges; }
};

struct SetGroups {
  std::uint32_t* groups;
  std::uint32_t none;
  __device__ void operator()(std::int64_t k) const { groups[k] = none; }
};
struct NumberEdges {
  std::uint32_t* edges;
  __device__ void operator()(std::int64_t k) const { edges[k] = static_cast<std::uint32_t>(k); }
};
struct ListEdges {
  const EdgeId* edge_ids;  // null: their numbers
  const std::uint32_t *groups, *listed;
  const std::uint16_t* spots;  // by number
  std::int64_t edges, dense, num_groups;
  std::uint32_t* starts;
  TileEdge* tile_edges;
  EdgeId* residual_ids;
  __device__ void operator()(std::int64_t j) const {
    if (j <= dense) {  // groups up to the one that begins here
      const std::int64_t before = j > 0 ? std::int64_t{groups[j - 1]} : -1;
      const std::int64_t here = j < dense ? std::int64_t{groups[j]} : num_groups;
      for (std::int64_t g = before + 1; g <= here; ++g) starts[g] = static_cast<std::uint32_t>(j);
    }
    if (j == edges) return;
    const std::uint32_t k = listed[j];
    const EdgeId id = edge_ids != nullptr ? edge_ids[k] : static_cast<EdgeId>(k);
    if (j >= dense) {
      residual_ids[j - dense] = id;
      return;
    }
    tile_edges[j] = {static_cast<std::uint32_t>(id), spots[k]};
  }
};

struct ResidualOffsets {
  const EdgeId* offsets;
  const std::int64_t* before;  // exclusive sums of those that stay
  EdgeId* residual;
  __device__ void operator()(std::int64_t row) const { residual[row] = before[offsets[row]]; }
};

struct ResidualEdges {
  GraphView g;
  const std::int64_t* before;
  NodeId *rows, *cols;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t to = before[k];
    if (before[k + 1] == to) return;
    rows[to] = g.rows[k];
    cols[to] = g.cols[k];
  }
};

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
    return result;
  }

 private:
  template <class T>
  DeviceBuffer buffer(std::int64_t count, const char* what) const {
    return DeviceBuffer(device_, stream_, static_cast<std::size_t>(count) * sizeof(T), what);
  }
  std::int64_t read(const std::int64_t* from) const {
    std::int64_t value = 0;
    copy_bytes(Device{}, &value, device_, from, sizeof value, stream_);
    return value;
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
    const DeviceBuffer numbers = buffer<std::int64_t>(g_.num_edges, "columns of windows");
    auto* const flags = as<std::int64_t>(numbers);
    each(g_.num_edges, stream_, "finding the columns of windows", FlagStarts<Key>{sorted_, flags});
    add_up(device_, stream_, "numbering the columns of windows", Sums::inclusive, flags, flags, g_.num_edges);
    runs_ = read(flags + g_.num_edges - 1);
    starts_ = buffer<std::uint32_t>(runs_ + 1, "columns of windows");
    each(g_.num_edges + 1, stream_, "finding the columns of windows",
         StartsOfRuns<Key>{sorted_, flags, as<std::uint32_t>(starts_)});
  }

  void find_dense() {
    dense_before_ = buffer<std::int64_t>(runs_ + 1, "dense columns");
    edges_before_ = buffer<std::int64_t>(runs_ + 1, "edges of dense columns");
    first_run_ = buffer<std::int64_t>(windows_ + 1, "the first columns of windows");
    auto *const dense = as<std::int64_t>(dense_before_), *const edges = as<std::int64_t>(edges_before_);
    each(runs_ + 1, stream_, "finding dense columns",
         FlagDense<Key>{sorted_, g_.rows, as<std::uint32_t>(starts_), runs_, windows_, shape_.threshold, dense, edges,
                        as<std::int64_t>(first_run_)});
    for (std::int64_t* const counted : {dense, edges})
      add_up(device_, stream_, "counting dense columns", Sums::exclusive, counted, counted, runs_ + 1);
  }

  void select(BuiltWindows& result) {
    const DeviceBuffer selected = buffer<std::int64_t>(windows_ + 1, "windows for tensor cores");
    const DeviceBuffer columns = buffer<std::int64_t>(windows_ + 1, "dense columns of windows");
    first_tile_ = buffer<std::int64_t>(windows_ + 1, "the first tiles of windows");
    result.counts = buffer<WindowCounts>(windows_, "dense columns and edges of windows");
    auto* const tiles = as<std::int64_t>(first_tile_);
    each(windows_ + 1, stream_, "selecting windows",
         SelectWindows{as<std::int64_t>(dense_before_), as<std::int64_t>(edges_before_), as<std::int64_t>(first_run_),
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
    stays_ = buffer<std::int64_t>(g_.num_edges + 1, "edges outside of tiles");
    zero_bytes(device_, result.bits.data(), static_cast<std::size_t>(words) * sizeof(std::uint32_t), stream_);
    each(g_.num_edges + 1, stream_, "filling tiles", SetStays{as<std::int64_t>(stays_), g_.num_edges});
    if (shape_.edges) {
      groups_[0] = buffer<std::uint32_t>(g_.num_edges, "tiles of edges");
      spots_ = buffer<std::uint16_t>(g_.num_edges, "where edges are in tiles");
      each(g_.num_edges, stream_, "filling tiles",
           SetGroups{as<std::uint32_t>(groups_[0]), static_cast<std::uint32_t>(result.tiles * (shape_.rows / 16))});
    }
    each(runs_, stream_, "filling tiles",
         FillTiles<Key>{sorted_, g_.rows, places, as<std::uint32_t>(starts_), as<std::int64_t>(dense_before_),
                        as<std::int64_t>(first_run_), as<std::int64_t>(first_tile_), shape_.rows,
                        as<NodeId>(result.cols), as<std::uint32_t>(result.bits), as<std::int64_t>(stays_),
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

  void take_residual(BuiltWindows& result) {
    for (DeviceBuffer* const done : {&keys_[0], &keys_[1], &edges_[0], &edges_[1], &starts_}) *done = {};
    auto* const before = as<std::int64_t>(stays_);
    add_up(device_, stream_, "counting edges outside of tiles", Sums::exclusive, before, before, g_.num_edges + 1);
    result.residual_edges = read(before + g_.num_edges);
    result.residual_offsets = buffer<EdgeId>(g_.num_rows + 1, "offsets of a residual graph");
    result.residual_rows = buffer<NodeId>(result.residual_edges, "rows of a residual graph");
    result.residual_cols = buffer<NodeId>(result.residual_edges, "columns of a residual graph");
    each(g_.num_rows + 1, stream_, "taking edges outside of tiles",
         ResidualOffsets{g_.offsets, before, as<EdgeId>(result.residual_offsets)});
    each(g_.num_edges, stream_, "taking edges outside of tiles",
         ResidualEdges{g_, before, as<NodeId>(result.residual_rows), as<NodeId>(result.residual_cols)});
  }

  Device device_;
  CUstream_st* stream_;
  const GraphView& g_;
  const WindowShape& shape_;
  std::int64_t windows_, runs_ = 0;
  DeviceBuffer groups_[2], listed_[2], spots_;
  DeviceBuffer keys_[2], edges_[2], starts_, dense_before_, edges_before_, first_run_, first_tile_, stays_;
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
