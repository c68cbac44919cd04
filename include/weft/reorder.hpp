// Orders of a graph's nodes, and graphs and datasets renumbered by them: nodes that share neighbours get numbers close
// to each other, so that what their rows gather is still in cache, or in the same window.
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

/// One level of Louvain's method: its nodes, which are the communities of the level before, moved between communities
/// round by round until nearly all stay.
struct LouvainLevel {
  std::int64_t nodes = 0, communities = 0;
  int rounds = 0;
  double modularity = 0;  // with these communities
  double seconds = 0;
};

struct Reordering {
  std::string method;
  Tensor order;        // i32 [nodes], on the host: node i of the renumbered graph was node order[i]
  Device device;       // that it was found on
  double seconds = 0;  // to find it
  // Of Louvain's method alone:
  Tensor communities;  // i32 [nodes], on the host, by old number: the community of the last level
  std::vector<LouvainLevel> levels;
  double modularity = 0;

  std::int64_t num_nodes() const { return order ? order.shape().rows : 0; }
  /// 0: the method knows none.
  std::int64_t num_communities() const {
    return !levels.empty() ? levels.back().communities : communities ? communities.shape().rows : 0;
  }
  /// i32 [nodes]: the new number of every old one.
  Tensor inverse() const;
};

struct LouvainOptions {
  int max_levels = 32;
  int max_rounds = 32;  // of a level
  /// A level that adds less modularity than this is the last.
  double least_gain = 1e-6;
  Progress progress;
};
/// Communities by Louvain's method over the graph taken as undirected (an edge counts once for each direction it is
/// there in, whatever its value), then the nodes community by community down the levels: those of one parent side by
/// side, larger ones first, and old numbers ascending in the smallest. All arithmetic is in whole numbers: any device
/// and any number of threads give the same order. Runs where the context is, wherever the graph is. Square graphs.
Reordering louvain_order(const Context& context, const Graph& graph, const LouvainOptions& options = {});

struct LoaOptions {
  std::int64_t window = 16;       // rows that share their columns
  std::int64_t look_ahead = 300;  // candidates for the next row of a window, in order of their smallest neighbour
  /// Nodes of that order that are arranged on their own, independently of all others and in parallel; 0: all at once,
  /// as the paper has it, by one thread of the host.
  std::int64_t range = 4096;
};
/// HC-SpMM's layout (its Algorithm 6): windows are filled row by row with the node that raises edges per column most.
/// Nodes without neighbours come last. Square graphs.
Reordering loa_order(const Context& context, const Graph& graph, const LoaOptions& options = {});

/// By in-degree, largest first; equal ones stay in sequence.
Reordering degree_order(const Graph& graph);

enum class ReorderMethod { louvain, loa, degree };
std::string_view name(ReorderMethod method);
ReorderMethod parse_reorder_method(std::string_view text);

/// Node i of the result is node order[i] of the graph. Ids of the result are its stored order. Of a graph on the host.
Derived reordered(const Graph& graph, const Reordering& by);
/// The same with all that belongs to nodes and edges carried along; `original` of the result says which node each was
/// in the dataset that was renumbered first. Graphs of a collection stay side by side: `by` is within_graphs' then.
Dataset reordered(const Dataset& dataset, const Reordering& by);
/// The order with which a dataset is renumbered: `by`, or of a collection its graphs as they stand and the nodes within
/// each in the order that `by` has them in.
Reordering within_graphs(const Dataset& dataset, Reordering by);

/// Values of nodes: row i of the result is row order[i]. On the host.
Tensor reordered(const Tensor& rows, const Reordering& by);
/// The way back: rows of renumbered nodes, such as what a model says of them, by their old numbers.
Tensor restored(const Tensor& rows, const Reordering& by);

/// Edges for every column that has any in a window of so many consecutive rows, in the mean over all windows with
/// edges weighted by columns (HC-SpMM's computing intensity). 0 where there are no edges.
double window_intensity(const Graph& graph, std::int64_t window = 16);

}  // namespace weft
