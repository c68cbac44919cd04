// Graphs: immutable, cheap to copy, destination-major. Row v holds the edges u -> v that arrive at
// v; its columns are the sources u. Each edge has an id, and every tensor of edge values is indexed
// by it: in the order the caller gave the edges, whatever order they are stored in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/tensor.hpp"
#include "weft/types.hpp"

namespace weft {

/// Plain pointers to a graph's arrays, as kernels take them.
struct GraphView {
  std::int64_t num_rows = 0;  // destinations
  std::int64_t num_cols = 0;  // sources
  std::int64_t num_edges = 0;
  const EdgeId* offsets = nullptr;   // [num_rows + 1]
  const NodeId* rows = nullptr;      // [num_edges], null unless asked for
  const NodeId* cols = nullptr;      // [num_edges], ascending within a row for graphs built from edges
  const EdgeId* edge_ids = nullptr;  // [num_edges], null where edge k's id is k
  EdgeId longest_row = -1;           // edges of the longest row, -1 where nobody has looked
  std::int64_t empty_rows = -1;      // rows without edges, -1 where nobody has looked

  EdgeId edge_id(EdgeId k) const { return edge_ids != nullptr ? edge_ids[k] : k; }
};

/// Whether reading costs a pass over the arrays to find the first index that is out of place.
enum class Validate { full, trusted };

struct DegreeStats {
  std::int64_t min = 0, max = 0, median = 0, p90 = 0, p99 = 0;
  double mean = 0, stddev = 0;
  std::int64_t empty = 0;               // rows of degree 0
  std::vector<std::int64_t> histogram;  // [i]: degree 0, then degrees in [2^(i-1), 2^i)
};

/// Edges by their ends: edge k runs from sources[k] to destinations[k].
struct EdgeList {
  std::span<const NodeId> sources, destinations;
};
/// The same in tensors [E], both i32 or both i64, on one device. Those of i64 are copied (4 bytes an end).
struct EdgeTensors {
  ConstTensorView sources, destinations;
};
/// Compressed rows in tensors, all on one device and each one's entries side by side.
struct RowTensors {
  ConstTensorView offsets = {};   // i64 or i32 [rows + 1]
  ConstTensorView cols = {};      // i32 or i64 [E]
  ConstTensorView edge_ids = {};  // i64 [E]; none where edge k's id is k
  /// What is known of the rows of a graph on a GPU, whose plans ask for it; -1: nothing.
  EdgeId longest_row = -1;
  std::int64_t empty_rows = -1;
};
/// Nodes on either side of a bipartite graph.
struct NodeCounts {
  std::int64_t num_sources = 0, num_destinations = 0;
};

class Graph {
 public:
  Graph();  // no nodes, no edges

  /// From an edge list in any order; edge k keeps the id k. Duplicates and self-loops stay. Edges are stored by
  /// destination, then source, then id.
  static Graph from_edges(std::int64_t num_nodes, EdgeList edges);
  static Graph from_edges(NodeCounts nodes, EdgeList edges);
  /// The same from tensors, on a GPU or not; the graph is built where they are, and done on return. `stream` (null: the
  /// default one) orders the work with what wrote the tensors.
  static Graph from_edges(std::int64_t num_nodes, EdgeTensors edges, CUstream_st* stream);
  static Graph from_edges(NodeCounts nodes, EdgeTensors edges, CUstream_st* stream);
  /// From compressed rows, copied as they are: edge k is the k-th stored one.
  static Graph from_csr(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                        std::span<const NodeId> cols);
  /// From arrays weft takes over; `edge_ids` may be empty. `keeper` is held as long as any copy of
  /// the graph lives: a mapped file, say.
  static Graph adopt(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                     std::span<const NodeId> cols, std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper,
                     Validate validate = Validate::full);

  /// From tensors that weft takes over, on a GPU or not, and of the transpose, too, where that is there: its edges have
  /// the ids that they have in `rows`. Offsets of i32 and columns of i64 are copied into weft's types (8 bytes per row,
  /// 4 an edge), and a graph on a GPU has the row of every edge (4 bytes), made in the order of `stream`. `full` looks
  /// at all of it, on a GPU in a copy on the host, and finds out about the rows; `trusted` looks at nothing and waits
  /// for nothing.
  static Graph adopt(NodeCounts nodes, const RowTensors& rows, const RowTensors& transposed,
                     std::shared_ptr<const void> keeper, Validate validate = Validate::full,
                     CUstream_st* stream = nullptr);

  /// A copy whose arrays (rows included, and the transpose's where it has been built) are on another device. What
  /// reads the arrays on the host refuses such a graph.
  /// On a device arrays are made and given back in the order of `stream`, which must outlive the graph; work in other
  /// streams must be done before the last copy of the graph goes.
  Graph to(Device device, CUstream_st* stream = nullptr) const;
  Device device() const;

  std::int64_t num_rows() const;
  std::int64_t num_cols() const;
  std::int64_t num_edges() const;
  bool is_square() const { return num_rows() == num_cols(); }
  // Spans and views of a temporary do not compile: it may be the last owner of the arrays.
  std::span<const EdgeId> offsets() const&;
  std::span<const EdgeId> offsets() const&& = delete;
  std::span<const NodeId> cols() const&;
  std::span<const NodeId> cols() const&& = delete;
  /// The destination of every stored edge; built on first use and kept.
  std::span<const NodeId> rows() const&;
  std::span<const NodeId> rows() const&& = delete;
  /// Empty where stored edge k has the id k.
  std::span<const EdgeId> edge_ids() const&;
  std::span<const EdgeId> edge_ids() const&& = delete;
  bool has_edge_ids() const { return !edge_ids().empty(); }

  /// The same edges, reversed, with the same ids; built on first use, where the graph is, and kept, and its own
  /// transpose is this graph again.
  Graph transpose() const;
  /// In-degree of every destination, on the graph's device; there, in the order of `stream`.
  Tensor degrees(Dtype dtype = Dtype::i64, CUstream_st* stream = nullptr) const;
  DegreeStats degree_stats() const;

  GraphView view() const&;
  GraphView view() const&& = delete;
  /// view() for code that reads the arrays: an Error where the host cannot.
  GraphView host_view() const&;
  GraphView host_view() const&& = delete;
  /// The same with `rows` filled in.
  GraphView view_with_rows() const&;
  GraphView view_with_rows() const&& = delete;
  /// Bytes held by the arrays, with all that was made of them on demand and kept: rows, the transpose and what plans
  /// share.
  std::size_t bytes() const;
  /// Equal for copies of one graph, different for any two others: what a plan remembers.
  std::uint64_t identity() const;

 private:
  friend struct GraphInternals;  // src/graph: what weft's own layers ask of a graph
  struct Impl;
  explicit Graph(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// An Error (invalid_graph) that names the first offending index, its value and where it is.
void validate(const GraphView& graph);

/// Where the edges of a derived graph come from, so that values can follow them.
class EdgeOrigin {
 public:
  EdgeOrigin() = default;
  /// Edge k comes from edge ids[k] of the source graph; -1 marks an edge that is new.
  explicit EdgeOrigin(Tensor ids) : ids_(std::move(ids)) {}
  /// Edge k unites the source edges ids[offsets[k]] ... ids[offsets[k + 1] - 1].
  EdgeOrigin(Tensor offsets, Tensor ids) : offsets_(std::move(offsets)), ids_(std::move(ids)) {}

  bool one_to_one() const { return !offsets_; }
  // As with a Graph, not of a temporary.
  std::span<const EdgeId> offsets() const& { return offsets_ ? offsets_.span<EdgeId>() : std::span<const EdgeId>{}; }
  std::span<const EdgeId> offsets() const&& = delete;
  std::span<const EdgeId> ids() const& { return ids_ ? ids_.span<EdgeId>() : std::span<const EdgeId>{}; }
  std::span<const EdgeId> ids() const&& = delete;
  /// The same i64 [E], on whatever device the derived graph is; none where nothing is known.
  ConstTensorView ids_view() const& { return ids_ ? ids_.view() : ConstTensorView{}; }
  ConstTensorView ids_view() const&& = delete;

 private:
  Tensor offsets_, ids_;
};

struct Derived {
  Graph graph;
  EdgeOrigin origin;
};

/// What becomes of parallel edges: all stay, the one with the lowest id stays, or they become one
/// edge whose value is the sum of theirs.
enum class Duplicates { keep, drop, merge };
enum class SelfLoops { keep, add, remove };

/// Parallel edges united or dropped as asked. Ids of the result are its stored order.
Derived simplify(const Graph& graph, Duplicates duplicates);
/// `add` gives every node that has none exactly one; `remove` takes all away. Square graphs only.
Derived with_self_loops(const Graph& graph, SelfLoops self_loops);
/// Every edge with its reverse; `duplicates` says what becomes of pairs that were there already: with `drop` each keeps
/// its own value. A self-loop is its own reverse and is not doubled. Square graphs only.
Derived symmetrise(const Graph& graph, Duplicates duplicates = Duplicates::drop);
/// The edges among `nodes` (distinct, any order); node i of the result is nodes[i]. Square graphs only.
Derived induced_subgraph(const Graph& graph, std::span<const NodeId> nodes);
/// Values [E, ...] of the source graph, carried to the derived one; new edges get `fill`.
Tensor carry_values(const EdgeOrigin& origin, ConstTensorView values, Duplicates duplicates = Duplicates::merge,
                    double fill = 1.0);
/// The same graph with ids in stored order, and where each came from: kernels then read edge values
/// in sequence.
Derived in_stored_order(const Graph& graph);

/// One weight per edge, by id: 1 / sqrt(deg(v) * deg_out(u)) over the weighted or plain degrees. A
/// node of degree 0 gives 0. Self-loops are the caller's to add. Of a graph on a GPU the weights are there too, in the
/// order of `stream`; weighted degrees are the host's to compute.
Tensor gcn_weights(const Graph& graph, ConstTensorView values = {}, Dtype dtype = Dtype::f32,
                   CUstream_st* stream = nullptr);
/// 1 / deg(v) for every edge that arrives at v.
Tensor mean_weights(const Graph& graph, Dtype dtype = Dtype::f32, CUstream_st* stream = nullptr);

}  // namespace weft
