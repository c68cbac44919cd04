// Node orders, and graphs and datasets renumbered by them. Nodes that share neighbours get nearby numbers, so that the
// features that their rows gather are still in cache, or in the same row window.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/context.hpp"
#include "weft/dataset.hpp"
#include "weft/graph.hpp"
#include "weft/progress.hpp"

namespace weft {

/// One level of Louvain's method. Its nodes are the previous level's communities; they move between communities in
/// rounds until nearly all stay.
struct LouvainLevel {
  std::int64_t nodes = 0, communities = 0;
  int rounds = 0;
  double modularity = 0;  // with these communities
  double seconds = 0;
};

struct Reordering {
  std::string method;
  Tensor order;        // i32 [nodes], on the host: node i of the renumbered graph was node order[i]
  Device device;       // on which it was computed
  double seconds = 0;  // of that computation
  // Louvain's method only:
  Tensor communities;  // i32 [nodes], on the host, by old number: the community of the last level
  std::vector<LouvainLevel> levels;
  double modularity = 0;

  std::int64_t num_nodes() const { return order ? order.shape().rows : 0; }
  /// 0 if the method has no communities.
  std::int64_t num_communities() const {
    return !levels.empty() ? levels.back().communities : communities ? communities.shape().rows : 0;
  }
  /// i32 [nodes]: each node's new number, by its old one.
  Tensor inverse() const;
};

struct LouvainOptions {
  int max_levels = 32;
  int max_rounds = 32;  // per level
  /// A level that adds less modularity than this is the last.
  double least_gain = 1e-6;
  Progress progress;
};
/// Finds communities by Louvain's method over the graph taken as undirected (an edge counts once per direction in which
/// it exists, whatever its value), then orders the nodes by community, level by level: communities of one parent are
/// adjacent, larger ones first; nodes of a community of the lowest level keep their old order. All arithmetic is in
/// integers: the order is the same on any device and for any number of threads. Runs on the context's device, wherever
/// the graph is. Square graphs only.
Reordering louvain_order(const Context& context, const Graph& graph, const LouvainOptions& options = {});

struct LoaOptions {
  std::int64_t window = 16;       // rows that share their columns
  std::int64_t look_ahead = 300;  // candidates for the next row of a window, in order of their smallest neighbour
  /// That order is cut into ranges of this many nodes, which are arranged independently and in parallel; 0: one range
  /// of all nodes, as in the paper, on one thread of the host.
  std::int64_t range = 4096;
};
/// HC-SpMM's layout (its Algorithm 6): fills windows row by row with the node that raises edges per column most. Nodes
/// without neighbours come last. Square graphs only.
Reordering loa_order(const Context& context, const Graph& graph, const LoaOptions& options = {});

/// Orders nodes by in-degree, largest first; nodes of equal degree keep their order.
Reordering degree_order(const Graph& graph);

enum class ReorderMethod { louvain, loa, degree };
std::string_view name(ReorderMethod method);
ReorderMethod parse_reorder_method(std::string_view text);

/// Renumbers a graph on the host: node i of the result is node order[i]. The result's edge ids follow its stored order.
Derived reordered(const Graph& graph, const Reordering& by);
/// The same for a dataset with all data of its nodes and edges; `original` of the result has each node's number in the
/// dataset that was renumbered first. A collection's graphs stay contiguous: its order is within_graphs(dataset, by).
Dataset reordered(const Dataset& dataset, const Reordering& by);
/// The order by which a dataset is renumbered: `by`, or for a collection its graphs in their own order and the nodes
/// within each in the order of `by`.
Reordering within_graphs(const Dataset& dataset, Reordering by);

/// Renumbers node values on the host: row i of the result is row order[i].
Tensor reordered(const Tensor& rows, const Reordering& by);
/// The inverse: rows of renumbered nodes, such as a model's predictions, by their old numbers.
Tensor restored(const Tensor& rows, const Reordering& by);

/// Edges per non-empty column of a window of `window` consecutive rows, over all windows together (HC-SpMM's computing
/// intensity). 0 if there are no edges.
double window_intensity(const Graph& graph, std::int64_t window = 16);

}  // namespace weft
