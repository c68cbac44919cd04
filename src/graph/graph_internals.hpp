// What weft's own layers ask of a graph and its users do not: arrays that planners and attention's backward derive from
// it, and graphs over arrays weft has made itself.
#pragma once

#include <cstdint>
#include <memory>

#include "core/cuda/launcher.hpp"
#include "weft/graph.hpp"

namespace weft {

class RowOrder;    // graph/cuda: rows in an order of weft's own, on a device
class EdgeOrder;   // graph/cuda: edges in such an order
class RowWindows;  // graph/windows: dense columns of rows that run together, and the other edges
struct WindowShape;

/// What windows of a graph would have, by a look at some.
struct WindowEstimate {
  double dense_share = 0;  // of all edges
  double tiles = 0;
};
struct KeptRows;   // graph/sample: the index space of sampled edges
class EdgePlaces;  // graph/cuda: where values stand that edges hand on from one order to another

struct GraphInternals {
  /// view() for code that knows no edge by its id, `edge_ids` null: a transpose of many edges on a device makes its ids
  /// when somebody reads them.
  static GraphView view_without_ids(const Graph& graph);
  static GraphView view_without_ids(const Graph&& graph) = delete;

  /// Of a graph on a device: its edges with rows of one community side by side, for planners; built on first use in
  /// `stream` and kept (8 bytes per edge, and 4 more once anybody wants their ids). Square graphs of fewer than 2^31
  /// edges only.
  static std::shared_ptr<const EdgeOrder> clustered_edges(const Graph& graph, CUstream_st* stream,
                                                          bool with_ids = true);
  static bool has_clustered_edges(const Graph& graph);
  /// The same of the index space that samples of that width have (12 bytes per row and 4 per kept edge): starts and
  /// rows, while the columns are drawn by runs.
  static std::shared_ptr<const EdgeOrder> clustered_kept_rows(const Graph& graph, std::int64_t width,
                                                              CUstream_st* stream);
  static bool has_clustered_kept_rows(const Graph& graph, std::int64_t width);
  /// Whether the order of rows that clustered edges are in is there already.
  static bool has_communities(const Graph& graph);

  /// Of a graph on a device: where values of edges stand that a walk over the transpose writes and one over this graph
  /// reads, either in stored or in clustered order; built on first use and kept (up to 8 bytes per edge). Graphs of 1
  /// to 2^31 - 1 edges only.
  static std::shared_ptr<const EdgePlaces> places_from_transpose(const Graph& graph, bool writes_clustered,
                                                                 bool reads_clustered, CUstream_st* stream);

  /// Of a graph on a device: its windows of that shape, built on first use and kept until they are dropped. Square
  /// graphs of 1 to 2^31 - 1 edges only.
  WEFT_LAUNCHER(static std::shared_ptr<const RowWindows> row_windows(const Graph& graph, const WindowShape& shape,
                                                                     CUstream_st* stream));
  /// What they would have, by a kernel that takes a fraction of a run (and the order of rows, made once, a few); the
  /// same whether they were made or not.
  WEFT_LAUNCHER(static WindowEstimate estimate_windows(const Graph& graph, const WindowShape& shape,
                                                       CUstream_st* stream));
  /// Those that no plan holds go.
  WEFT_LAUNCHER(static void drop_windows(const Graph& graph));
  /// A graph on a device over arrays of weft's own, of which ids may be none; waits for the stream.
  WEFT_LAUNCHER(static Graph adopt_on_device(Device device, CUstream_st* stream, std::int64_t num_rows,
                                             std::int64_t num_cols, std::span<const EdgeId> offsets,
                                             std::span<const NodeId> cols, const NodeId* rows,
                                             std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper));

  /// What rows keep of their edges in samples of that width; built on first use and kept (8 bytes per row, and on a
  /// GPU 4 bytes per kept edge). Building waits for the graph's stream, and any stream may use it then.
  static std::shared_ptr<const KeptRows> kept_rows(const Graph& graph, std::int64_t width);

  /// offsets i64 [rows + 1], cols i32 [edges], of one device and taken to be right; edge k has the id k. On a GPU the
  /// work that wrote them stands in `stream`, and the call waits for it.
  static Graph adopt_rows(std::int64_t num_cols, Tensor offsets, Tensor cols, CUstream_st* stream);

  /// A sample of `whole` and its transpose over arrays on a GPU that are written anew from time to time (RedrawnGraph).
  static Graph make_redrawn(const Graph& whole, const GraphView& given, const GraphView& reversed, CUstream_st* stream,
                            std::shared_ptr<const void> keeper);
  /// Whether its edges are drawn anew in place (RedrawnGraph): what is derived from its columns does not last.
  static bool is_redrawn(const Graph& graph);
  /// Once its arrays are written: its clustered edges follow, where it has them. Asks for no memory.
  WEFT_LAUNCHER(static void place_clusters_again(const Graph& graph, CUstream_st* stream));
};

}  // namespace weft
