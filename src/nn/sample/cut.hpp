// What samplers share: nodes of the whole graph and their numbers in a batch, and rows cut out of it.
#pragma once

#include "nn/sample/batch.hpp"
#include "nn/sample/passes.hpp"

namespace weft::nn {

/// Numbers of the nodes in the batch that is being drawn. Between batches no node has one.
class LocalIds {
 public:
  LocalIds(const Context& context, std::int64_t nodes);
  /// Before a batch is drawn. If one before it failed, what it has left behind is cleared.
  void begin(const Context& context);
  NodeId* data() { return ids_.view().as<NodeId>(); }
  /// The marked nodes, ascending, numbered from `first` on; at most so many.
  Tensor number_marked(const Context& context, std::int64_t first, std::int64_t most);
  void number(const Context& context, ConstTensorView nodes, std::int64_t first);
  /// Once a batch is drawn: all of its nodes.
  void forget(const Context& context, ConstTensorView nodes);

 private:
  void clear(const Context& context);

  bool drawing_ = false;
  Tensor ids_;
};

/// Where the context runs.
Tensor nodes_there(const Context& context, const std::vector<NodeId>& nodes);

/// Rows of a graph: arrays of a new one, and the place each edge has in the old.
struct CutRows {
  Tensor offsets, cols, places;
};
/// Those of `nodes` (i32), with the columns that have a number, which they become; with local null every column.
CutRows take_rows(const Context& context, const Graph& graph, ConstTensorView nodes, const NodeId* local);

}  // namespace weft::nn
