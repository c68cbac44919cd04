#include "nn/sample/edge_blocks.hpp"

#include "graph/graph_internals.hpp"
#include "graph/sample/kept_rows.hpp"

namespace weft::nn {

EdgeBlocks::EdgeBlocks(const Context& context, const ModelGraph& graph, const ModelSpec& spec, Dtype dtype)
    : context_(context),
      graph_(graph),
      spec_(spec),
      dtype_(dtype),
      weigher_(context, graph.graph, graph.weights.values, spec, dtype) {
  if (graph.weights.any_negative) weigher_.check_degrees();
}

Block EdgeBlocks::block(const EdgeSample& sample) const {
  validate(sample);
  if (GraphInternals::kept_rows(graph_.graph, sample.width)->edges == graph_.graph.num_edges())
    return whole_block(context_, graph_, spec_, dtype_);
  const KeptEdges kept = take_edges(graph_.graph, sample, KnownBy::place, context_.stream());
  Block block;
  block.graph = kept.graph;
  if (!weigher_.weighs()) return block;
  const GraphView view = kept.graph.view();
  block.weights =
      weigher_.by_rows({nullptr, view.num_rows, view.offsets, kept.origin.view().as<EdgeId>(), view.num_edges});
  return block;
}

}  // namespace weft::nn
