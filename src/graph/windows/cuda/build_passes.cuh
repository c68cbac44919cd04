// The passes over edges, columns and windows that making windows consists of: a thread for each of them.
#pragma once

#include "graph/windows/row_windows.hpp"

namespace weft::cuda::window_passes {

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
  std::uint8_t* flags;  // [edges + 1]
  __device__ void operator()(std::int64_t i) const { flags[i] = i < sorted.count && sorted.starts(i) ? 1 : 0; }
};

template <class Key>
struct StartsOfRuns {
  SortedEdges<Key> sorted;
  const std::uint32_t* before;  // flags in front of an edge
  std::uint32_t* starts;        // [runs + 1]
  __device__ void operator()(std::int64_t i) const {
    if (i == sorted.count || sorted.starts(i)) starts[before[i]] = static_cast<std::uint32_t>(i);
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
  std::uint8_t* dense;      // [runs + 1] whether the column is
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
    dense[r] = different >= threshold ? 1 : 0;
    edges[r] = different >= threshold ? different : 0;
  }
};

/// Counts the dense columns of windows and decides which of them have tiles.
struct SelectWindows {
  const std::uint32_t* dense_before;
  const std::int64_t *edges_before, *first_run;
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

/// A thread has an edge; the first of a column also lists it.
template <class Key>
struct FillTiles {
  SortedEdges<Key> sorted;
  const std::uint32_t* before;  // columns that start in front of an edge
  const NodeId *rows, *places;
  const std::uint32_t* dense_before;
  const std::int64_t *first_run, *first_tile;
  int window_rows;
  NodeId* cols;
  std::uint32_t* bits;
  std::uint8_t* leaves;   // [edges] 1: not in the residual
  std::uint32_t* groups;  // [edges] of 16 rows of a tile; null: not asked for
  std::uint16_t* spots;   // [edges] TileEdge::spot
  __device__ void operator()(std::int64_t i) const {
    const std::uint32_t run = before[i + 1] - 1;
    if (dense_before[run + 1] == dense_before[run]) return;
    const std::int64_t window = sorted.window(i);
    if (first_tile[window + 1] == first_tile[window]) return;  // not selected
    const std::int64_t place = first_tile[window] * window_step + dense_before[run] - dense_before[first_run[window]];
    const bool starts = sorted.starts(i);
    if (starts) {
      cols[place] = sorted.column(i);
      if (dense_before[run + 1] == dense_before[first_run[window + 1]])  // the window's last: it fills its tile
        for (std::int64_t more = place + 1; more % window_step != 0; ++more) cols[more] = sorted.column(i);
    }
    const std::uint32_t k = sorted.edges[i];
    const NodeId row = rows[k];
    if (!starts && rows[sorted.edges[i - 1]] == row) return;  // one of parallel edges is a bit
    const int at = places[row] % window_rows;
    const auto column = static_cast<int>(place % window_step);
    const std::int64_t word = (place / window_step * window_rows + at) * (window_step / 32) + column / 32;
    atomicOr(bits + word, 1u << window_bit(column % 32));
    leaves[k] = 1;
    if (groups == nullptr) return;
    groups[k] = static_cast<std::uint32_t>(place / window_step * (window_rows / 16) + at / 16);
    spots[k] = static_cast<std::uint16_t>(at * TileEdge::pitch + column);
  }
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

struct KeyOfPlace {
  const NodeId* cols;
  std::uint32_t *keys, *places;
  __device__ void operator()(std::int64_t i) const {
    keys[i] = static_cast<std::uint32_t>(cols[i]);
    places[i] = static_cast<std::uint32_t>(i);
  }
};
struct StartsOfColumns {
  const std::uint32_t* sorted;  // [count]
  std::int64_t count;
  std::uint32_t* starts;
  __device__ void operator()(std::int64_t column) const {
    std::int64_t begin = 0, end = count;  // the first place that is no smaller
    while (begin < end) {
      const std::int64_t middle = (begin + end) / 2;
      if (std::int64_t{sorted[middle]} < column)
        begin = middle + 1;
      else
        end = middle;
    }
    starts[column] = static_cast<std::uint32_t>(begin);
  }
};

struct ResidualOffsets {
  const EdgeId* offsets;
  const std::uint32_t* left;  // [edges + 1] those of tiles in front of an edge
  EdgeId* residual;
  __device__ void operator()(std::int64_t row) const { residual[row] = offsets[row] - left[offsets[row]]; }
};

struct ResidualEdges {
  GraphView g;
  const std::uint32_t* left;
  NodeId *rows, *cols;
  __device__ void operator()(std::int64_t k) const {
    if (left[k + 1] != left[k]) return;
    const std::int64_t to = k - left[k];
    rows[to] = g.rows[k];
    cols[to] = g.cols[k];
  }
};

}  // namespace weft::cuda::window_passes
