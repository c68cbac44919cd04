// Graphs are immutable, cheap to copy and destination-major. Row v holds v's incoming edges u -> v; its columns are the
// sources u. Each edge has an id, its position in the caller's list, and every tensor of edge values is indexed by id,
// whatever order the edges are stored in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/tensor.hpp"
#include "weft/types.hpp"

namespace weft {

/// Plain pointers to a graph's arrays, for kernels.
struct GraphView {
  std::int64_t num_rows = 0;  // destinations
  std::int64_t num_cols = 0;  // sources
  std::int64_t num_edges = 0;
  const EdgeId* offsets = nullptr;   // [num_rows + 1]
  const NodeId* rows = nullptr;      // [num_edges], null unless requested
  const NodeId* cols = nullptr;      // [num_edges], ascending within a row for graphs built from edges
  const EdgeId* edge_ids = nullptr;  // [num_edges], null where edge k's id is k
  EdgeId longest_row = -1;           // edges of the longest row, -1 if unknown
  std::int64_t empty_rows = -1;      // rows without edges, -1 if unknown

  EdgeId edge_id(EdgeId k) const { return edge_ids != nullptr ? edge_ids[k] : k; }
};

/// Whether a graph's arrays are checked: `full` reads all of them to find the first wrong index, `trusted` none.
enum class Validate { full, trusted };

struct DegreeStats {
  std::int64_t min = 0, max = 0, median = 0, p90 = 0, p99 = 0;
  double mean = 0, stddev = 0;
  std::int64_t empty = 0;               // rows of degree 0
  std::vector<std::int64_t> histogram;  // [i]: degree 0, then degrees in [2^(i-1), 2^i)
};

/// Edges by their endpoints: edge k runs from sources[k] to destinations[k].
struct EdgeList {
  std::span<const NodeId> sources, destinations;
};
/// An EdgeList as tensors [E], both i32 or both i64, on one device. i64 ids are copied (4 bytes per endpoint).
struct EdgeTensors {
  ConstTensorView sources, destinations;
};
/// Compressed rows (CSR) as contiguous tensors on one device.
struct RowTensors {
  ConstTensorView offsets = {};   // i64 or i32 [rows + 1]
  ConstTensorView cols = {};      // i32 or i64 [E]
  ConstTensorView edge_ids = {};  // i64 [E]; none if edge k's id is k
  /// Read for graphs on a GPU, whose plans need both numbers; -1: unknown.
  EdgeId longest_row = -1;
  std::int64_t empty_rows = -1;
};
/// The numbers of nodes on the two sides of a bipartite graph.
struct NodeCounts {
  std::int64_t num_sources = 0, num_destinations = 0;
};

class Graph {
 public:
  Graph();  // no nodes, no edges

  /// Builds a graph from an edge list in any order; edge k has the id k. Duplicates and self-loops stay. Edges are
  /// stored by destination, then source, then id.
  static Graph from_edges(std::int64_t num_nodes, EdgeList edges);
  static Graph from_edges(NodeCounts nodes, EdgeList edges);
  /// The same from tensors, on a CPU or a GPU; the graph is built on their device and complete on return. `stream`
  /// (null: the default stream) orders the work after the writes to the tensors.
  static Graph from_edges(std::int64_t num_nodes, EdgeTensors edges, CUstream_st* stream);
  static Graph from_edges(NodeCounts nodes, EdgeTensors edges, CUstream_st* stream);
  /// Builds a graph from a copy of compressed rows: edge k is the k-th stored one.
  static Graph from_csr(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                        std::span<const NodeId> cols);
  /// Builds a graph over the caller's arrays without a copy; `edge_ids` may be empty. `keeper`, which owns them (a
  /// mapped file, for example), is held as long as any copy of the graph lives.
  static Graph adopt(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                     std::span<const NodeId> cols, std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper,
                     Validate validate = Validate::full);

  /// The same over tensors on a CPU or a GPU, and over those of the transpose if they are given, whose edges have the
  /// same ids as in `rows`. i32 offsets and i64 columns are copied into weft's types (8 bytes per row, 4 per edge). A
  /// graph on a GPU also stores the row of every edge (4 bytes), computed in the order of `stream`. `full` checks
  /// everything, for a GPU in a copy on the host, and computes longest_row and empty_rows; `trusted` checks nothing and
  /// waits for nothing.
  static Graph adopt(NodeCounts nodes, const RowTensors& rows, const RowTensors& transposed,
                     std::shared_ptr<const void> keeper, Validate validate = Validate::full,
                     CUstream_st* stream = nullptr);

  /// A copy on another device: all arrays, on a GPU with the row of every edge, and those of the transpose if it has
  /// been built. Functions that read the arrays on the host refuse a graph on a GPU.
  /// GPU arrays are allocated and freed in the order of `stream`, which must outlive the graph; work in other streams
  /// must be done before the last copy of the graph is destroyed.
  Graph to(Device device, CUstream_st* stream = nullptr) const;
  Device device() const;

  std::int64_t num_rows() const;
  std::int64_t num_cols() const;
  std::int64_t num_edges() const;
  bool is_square() const { return num_rows() == num_cols(); }
  // Spans and views of a temporary do not compile, because it may be the last owner of the arrays.
  std::span<const EdgeId> offsets() const&;
  std::span<const EdgeId> offsets() const&& = delete;
  std::span<const NodeId> cols() const&;
  std::span<const NodeId> cols() const&& = delete;
  /// The destination of every stored edge; built on first use and cached.
  std::span<const NodeId> rows() const&;
  std::span<const NodeId> rows() const&& = delete;
  /// Empty if stored edge k has the id k.
  std::span<const EdgeId> edge_ids() const&;
  std::span<const EdgeId> edge_ids() const&& = delete;
  bool has_edge_ids() const { return !edge_ids().empty(); }

  /// The graph with reversed edges and the same ids; built on the graph's device on first use and cached. Its own
  /// transpose is this graph.
  Graph transpose() const;
  /// The in-degree of every destination, on the graph's device, on a GPU in the order of `stream`.
  Tensor degrees(Dtype dtype = Dtype::i64, CUstream_st* stream = nullptr) const;
  DegreeStats degree_stats() const;

  GraphView view() const&;
  GraphView view() const&& = delete;
  /// view() for code that reads the arrays on the host: an Error for a graph on a GPU.
  GraphView host_view() const&;
  GraphView host_view() const&& = delete;
  /// view() with `rows` set.
  GraphView view_with_rows() const&;
  GraphView view_with_rows() const&& = delete;
  /// Bytes of the arrays and of everything cached with them: rows, the transpose and data that plans share.
  std::size_t bytes() const;
  /// Equal for copies of one graph and different for any two others. A plan stores it to recognise its graph.
  std::uint64_t identity() const;

 private:
  friend struct GraphInternals;  // src/graph: access for weft's own layers
  struct Impl;
  explicit Graph(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// Throws an Error (invalid_graph) that names the first wrong index, its value and its position.
void validate(const GraphView& graph);

/// The source edges of a derived graph's edges, from which carry_values computes its edge values.
class EdgeOrigin {
 public:
  EdgeOrigin() = default;
  /// Edge k comes from edge ids[k] of the source graph; -1 marks a new edge.
  explicit EdgeOrigin(Tensor ids) : ids_(std::move(ids)) {}
  /// Edge k merges the source edges ids[offsets[k]] ... ids[offsets[k + 1] - 1].
  EdgeOrigin(Tensor offsets, Tensor ids) : offsets_(std::move(offsets)), ids_(std::move(ids)) {}

  bool one_to_one() const { return !offsets_; }
  // As for a Graph, these do not compile for a temporary.
  std::span<const EdgeId> offsets() const& { return offsets_ ? offsets_.span<EdgeId>() : std::span<const EdgeId>{}; }
  std::span<const EdgeId> offsets() const&& = delete;
  std::span<const EdgeId> ids() const& { return ids_ ? ids_.span<EdgeId>() : std::span<const EdgeId>{}; }
  std::span<const EdgeId> ids() const&& = delete;
  /// The ids as i64 [E], on the device of the derived graph; none if they are unknown.
  ConstTensorView ids_view() const& { return ids_ ? ids_.view() : ConstTensorView{}; }
  ConstTensorView ids_view() const&& = delete;

 private:
  Tensor offsets_, ids_;
};

struct Derived {
  Graph graph;
  EdgeOrigin origin;
};

/// What happens to parallel edges: all stay, the one with the lowest id stays, or they are merged into one edge whose
/// value is the sum of theirs.
enum class Duplicates { keep, drop, merge };
enum class SelfLoops { keep, add, remove };

/// The graph with parallel edges kept, dropped or merged. The result's ids follow its stored order.
Derived simplify(const Graph& graph, Duplicates duplicates);
/// `add` gives every node without a self-loop exactly one; `remove` removes all. Square graphs only.
Derived with_self_loops(const Graph& graph, SelfLoops self_loops);
/// The graph with the reverse of every edge added. `duplicates` says what happens to pairs that had both directions
/// already: with `drop` each edge keeps its own value. A self-loop is its own reverse and is not doubled. Square graphs
/// only.
Derived symmetrise(const Graph& graph, Duplicates duplicates = Duplicates::drop);
/// The edges between `nodes` (distinct, any order); node i of the result is nodes[i]. Square graphs only.
Derived induced_subgraph(const Graph& graph, std::span<const NodeId> nodes);
/// The derived graph's edge values from values [E, ...] of the source graph; new edges get `fill`.
Tensor carry_values(const EdgeOrigin& origin, ConstTensorView values, Duplicates duplicates = Duplicates::merge,
                    double fill = 1.0);
/// The same graph with ids in stored order, and the old id of each edge. Kernels then read edge values sequentially.
Derived in_stored_order(const Graph& graph);

/// One weight per edge u -> v, by id: 1 / sqrt(deg(v) * deg_out(u)). With `values` it is the edge's value over the root
/// of the weighted degrees. The weight is 0 if a degree is not positive. The caller adds self-loops. For a graph on a
/// GPU the weights are computed there, in the order of `stream`, and `values` are refused.
Tensor gcn_weights(const Graph& graph, ConstTensorView values = {}, Dtype dtype = Dtype::f32,
                   CUstream_st* stream = nullptr);
/// 1 / deg(v) for every edge u -> v.
Tensor mean_weights(const Graph& graph, Dtype dtype = Dtype::f32, CUstream_st* stream = nullptr);

}  // namespace weft
