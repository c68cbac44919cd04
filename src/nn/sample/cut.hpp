// What samplers share: nodes of the whole graph and their numbers in a batch, and rows cut out of it.
#pragma once

#include "nn/sample/batch.hpp"
#include "nn/sample/passes.hpp"

namespace weft::nn {

/// Numbers of the nodes in the batch that is being drawn. Between batches no node has one.
class LocalIds {
 public:
  LocalIds(const Context& context, std::int64_t nodes);
  /// In memory of the caller's, i32 [nodes], where none has a number yet.
  explicit LocalIds(TensorView ids) : ids_(ids) {}
  /// Before a batch is drawn. If one before it failed, what it has left behind is cleared.
  void begin(const Context& context);
  NodeId* data() const { return ids_.as<NodeId>(); }
  /// The marked nodes, ascending, numbered from `first` on; at most so many.
  Tensor number_marked(const Context& context, std::int64_t first, std::int64_t most);
  void number(const Context& context, ConstTensorView nodes, std::int64_t first);
  /// Once a batch is drawn: all of its nodes.
  void forget(const Context& context, ConstTensorView nodes);

 private:
  void clear(const Context& context);

  bool drawing_ = false;
  Tensor memory_;  // unless it is the caller's
  TensorView ids_;
};

/// Where the context runs.
Tensor nodes_there(const Context& context, const std::vector<NodeId>& nodes);

/// Those at places `first` to `first` + `count` - 1 of a random order of all of `from` (i32).
Tensor shuffled_nodes(const Context& context, ConstTensorView from, std::int64_t first, std::int64_t count,
                      const Draws& draws);

/// Rows of a graph: arrays of a new one, and the place each edge has in the old.
struct CutRows {
  Tensor offsets, cols, places;
};
/// Those of `nodes` (i32), with the columns that have a number, which they become; with local null every column.
CutRows take_rows(const Context& context, const Graph& graph, ConstTensorView nodes, const NodeId* local);

/// Whose rows, and what is drawn of each.
struct RowDraw {
  ConstTensorView nodes;    // i32
  std::int64_t fanout = 0;  // edges at most, or all_neighbours
  bool keeps_loops = false;
  Draws draws;
  std::uint32_t hop = 0;
  bool with_multiples = false;
};
struct DrawnRows {
  CutRows rows;
  Tensor multiples;  // f32: how many edges of its row each stands for, or none
  Tensor more;       // i32: the nodes that had no number before
};
/// Columns become the numbers of their nodes; those that had none get one, from `first` on.
DrawnRows draw_rows(const Context& context, const Graph& graph, const RowDraw& draw, LocalIds& local,
                    std::int64_t first);

struct DrawnSubgraph {
  Tensor nodes;  // i32, ascending
  CutRows rows;  // the edges among them, unless it is without
};
/// Of nodes drawn as `mark` says, whose `local` is filled in here.
DrawnSubgraph draw_subgraph(const Context& context, const Graph& graph, MarkArgs mark, LocalIds& local, bool with_rows);

}  // namespace weft::nn
