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
  if (keeps_all(sample)) return whole_block(context_, graph_, spec_, dtype_);
  const KeptEdges kept = take_edges(graph_.graph, sample, KnownBy::place, context_.stream());
  Block block;
  block.graph = kept.graph;
  stand_for_all(block, kept.origin);
  return block;
}

bool EdgeBlocks::redraws() const {
  return context_.device().kind == DeviceKind::cuda && graph_.graph.num_edges() < (std::int64_t{1} << 31);
}

EdgeBlocks::Redrawn EdgeBlocks::redrawn(const EdgeSample& sample) const {
  validate(sample);
  Redrawn result;
  if (keeps_all(sample) || sample.method != EdgeSampling::fresh) {
    result.block = block(sample);
    return result;
  }
  // Plain sums know no edge by its id.
  const bool weighted = static_cast<bool>(graph_.weights);
  const RedrawnGraph::Knows knows{.places = weighted, .ids = weighted || !weigher_.adds_up()};
  result.edges.emplace(graph_.graph, sample, knows, context_.stream());
  result.block.graph = result.edges->graph();
  stand_for_all(result.block, result.edges->places());
  if (result.block.weights) result.weights = result.block.weights.view();
  return result;
}

void EdgeBlocks::redraw(Redrawn& block, const std::int64_t* step) const {
  if (!block.edges) return;
  block.edges->redraw(step, context_.stream());
  if (block.weights.given) weigher_.by_rows(edges_of(block.edges->graph(), block.edges->places()), block.weights);
}

void EdgeBlocks::stand_for_all(Block& block, ConstTensorView places) const {
  if (graph_.weights) {
    block.weights = weigher_.by_rows(edges_of(block.graph, places));
  } else {
    block.sampled_from = graph_.graph;
  }
}

bool EdgeBlocks::keeps_all(const EdgeSample& sample) const {
  return GraphInternals::kept_rows(graph_.graph, sample.width)->edges == graph_.graph.num_edges();
}

Weigher::Edges EdgeBlocks::edges_of(const Graph& sample, ConstTensorView places) const {
  const GraphView view = GraphInternals::view_without_ids(sample);
  return {nullptr, view.num_rows, view.offsets, places.as<EdgeId>(), view.num_edges};
}

}  // namespace weft::nn
