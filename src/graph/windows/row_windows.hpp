// Windows of rows for tensor cores: the columns that several rows of a window share are dense there, and their edges
// are bits of a tile; all other edges of the graph are the residual, a graph of its own.
//
// A window is a list of rows, in sequence or in an order by which those that share columns are in one window: nothing
// is renumbered. A tile is `window_step` dense columns of a window; a row has 32 bits for every 32 of them, which say
// from which it has an edge. Of parallel edges one is a bit, and the others stay in the residual. A window that the
// selection leaves to CUDA cores has no tiles, and all its edges stay in the residual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/anywhere.hpp"
#include "core/cuda/launcher.hpp"
#include "core/cuda/milestone.hpp"
#include "core/device.hpp"
#include "graph/cuda/row_order.hpp"
#include "graph/windows/window_model.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"

namespace weft {

/// The bit of the c-th of 32 columns: those of a pair of columns, which tensor cores take side by side, are 16 bits
/// apart, so that a shift and a mask make two halves of them.
WEFT_ANYWHERE constexpr int window_bit(int c) { return c / 2 + c % 2 * 16; }
WEFT_ANYWHERE constexpr int column_of_bit(int bit) { return bit % 16 * 2 + bit / 16; }

struct WindowShape {
  int rows = 128;     // of a window: 16, 64 or 128
  int threshold = 3;  // edges that make a column of a window dense
  WindowLayout layout = WindowLayout::clusters;
  WindowModel select{};  // the windows that have tiles: every one with dense columns
  bool edges = false;    // with lists of the tiles' edges (8 bytes each), for values of edges
  bool places = false;  // with lists of where columns stand in tiles (4 bytes each), for what tiles add up to by column
  friend bool operator==(const WindowShape&, const WindowShape&) = default;
};

/// The tiles of a window.
struct alignas(16) WindowWork {
  std::int32_t window, first_tile, tiles;
};

/// Plain pointers, as kernels take them.
struct WindowsView {
  std::int64_t windows = 0;
  const NodeId* rows = nullptr;         // [windows, rows of a window]; -1: the last window has fewer
  const WindowWork* work = nullptr;     // [windows]: those with the most tiles first, so that none of them ends last
  const NodeId* cols = nullptr;         // [tiles, window_step]; behind a window's last column it stands again
  const std::uint32_t* bits = nullptr;  // [tiles, rows of a window, window_step / 32], as window_bit says
};

/// The edges of tiles, 16 rows of a tile after the other (starts [tiles, rows of a window / 16, and the end]), in
/// stored order there.
struct alignas(8) TileEdge {
  static constexpr int pitch = window_step + 8;  // rows of halves, and of floats, that lie in different banks
  std::uint32_t id;
  std::uint32_t spot;  // row of the window * pitch + column of the tile: as kernels have them in shared memory
};
struct TileEdgesView {
  const std::uint32_t* starts = nullptr;
  const TileEdge* edges = nullptr;
};

/// Where a column of the graph stands in tiles, in their order: places[starts[c]] up to places[starts[c + 1]].
struct TilePlacesView {
  const std::uint32_t* starts = nullptr;  // [columns + 1]
  const std::uint32_t* places = nullptr;  // tile * window_step + column of the tile
};

class RowWindows {
 public:
  /// Of a square graph on a device with 1 to 2^31 - 1 edges. `order`: null for rows in sequence.
  RowWindows(Device device, const GraphView& graph, const WindowShape& shape, const RowOrder* order,
             CUstream_st* stream);

  const WindowShape& shape() const { return shape_; }
  std::int64_t windows() const { return windows_; }
  WindowsView view() const;
  TileEdgesView tile_edges() const;    // of a shape with edges
  TilePlacesView tile_places() const;  // of a shape with places
  /// The edges that are no bits; of a shape with edges they have the graph's ids.
  const Graph& residual() const { return residual_; }
  /// Windows with tiles, the columns of those and the edges that are bits.
  std::int64_t selected() const { return selected_; }
  std::int64_t dense_edges() const { return dense_edges_; }
  std::int64_t dense_columns() const { return dense_columns_; }
  std::int64_t tiles() const { return tiles_count_; }
  std::size_t bytes() const { return bytes_; }
  /// That making them took.
  double seconds() const { return seconds_; }
  void ready_in(CUstream_st* stream) const { made_.precede(stream); }
  /// What the selection looked at, of every window; a copy from the device.
  WEFT_LAUNCHER(std::vector<WindowCounts> counts() const);

 private:
  WindowShape shape_;
  Device device_;
  std::int64_t windows_ = 0, tiles_count_ = 0, selected_ = 0, dense_edges_ = 0, dense_columns_ = 0;
  std::size_t bytes_ = 0;
  double seconds_ = 0;
  DeviceBuffer rows_, work_, cols_, bits_, counts_;
  DeviceBuffer edge_starts_, edges_, place_starts_, places_;
  Graph residual_;
  Milestone made_;
};

}  // namespace weft
