// What the messages along edges are multiplied by before a layer adds them up, of a whole graph or of a batch.
#pragma once

#include "nn/edge_weights.hpp"
#include "nn/sample/batch.hpp"
#include "nn/sample/passes.hpp"

namespace weft::nn {

/// A factor for every message: the edge's own weight, times the norm by degrees that the model's sums have in the whole
/// graph, divided by how likely the edge is to be in the batch if its destination is.
class Weigher {
 public:
  /// `weights`: of the graph's edges, as EdgeWeights has them, or none. They must outlive the weigher.
  Weigher(const Context& context, const Graph& graph, ConstTensorView weights, const ModelSpec& spec, Dtype dtype);

  /// Whether messages are added up, so that those of a batch can stand for those it lacks: attention and maxima have no
  /// such factor.
  bool adds_up() const { return adds_up_; }
  /// Whether the edges of a batch get factors at all.
  bool weighs() const { return adds_up_ || weights_.given; }
  /// Whether sums are divided by weighted degrees.
  bool divides_by_weights() const { return weights_.given && by_weighted_degree_; }
  /// An Error that names a node whose weighted degree is negative, where sums are divided by it. Waits for the device.
  void check_degrees() const;

  struct Edges {
    const NodeId* nodes;  // whose rows they are; null: row i is node i's
    std::int64_t count;
    const EdgeId *offsets, *places;  // places in the graph; null: edge k is the k-th stored
    std::int64_t num_edges;
  };
  /// `multiples`: how many edges each stands for; null: itself.
  Tensor by_multiples(const Edges& edges, const float* multiples) const;
  /// Each edge stands for its share of what its row has in the graph: that over those given.
  Tensor by_rows(const Edges& edges) const;
  /// The same into a tensor that an earlier call gave.
  void by_rows(const Edges& edges, TensorView weights) const;
  /// From how often nodes and edges were drawn.
  Tensor by_counts(const Edges& edges, const std::int32_t* node_counts, const std::int32_t* edge_counts) const;
  /// Of a batch that counts as a graph of its own: degrees are those within it. Its edges have the places given.
  Tensor within(const Graph& batch, const Edges& edges) const;
  /// Of all edges of the graph, by edge id.
  Tensor whole() const;

 private:
  Tensor weigh(const Edges& edges, WeighArgs args, DegreeNorm norm, Dtype dtype) const;
  void weigh_into(TensorView weights, const Edges& edges, WeighArgs args, DegreeNorm norm) const;
  Tensor sums_over(const Graph& graph) const;

  const Context& context_;
  Graph graph_, transpose_;
  ConstTensorView weights_;
  const ModelSpec& spec_;
  Dtype dtype_;
  DegreeNorm norm_;
  bool adds_up_, by_weighted_degree_;
  Tensor in_sums_, out_sums_;  // f64: weighted degrees, where sums are divided by them
};

/// A whole graph as a layer sees it. An Error where its weights give a node a negative degree that sums are divided by.
Block whole_block(const Context& context, const ModelGraph& graph, const ModelSpec& spec, Dtype dtype);

}  // namespace weft::nn
