// Weights of a dataset's edges, as models take them.
#pragma once

#include "weft/nn.hpp"

namespace weft::nn {

/// Whether edges have values that are not all 1: nothing else changes what a layer computes.
bool has_edge_weights(const Dataset& dataset);
/// ModelSpec::edge_weights of a model that trains on the dataset. An Error where the edges have weights, `ignored` is
/// not set and the architecture has no use for them.
bool learns_from_weights(const Dataset& dataset, Architecture architecture, bool ignored);
/// By degrees, of the model's sums over neighbours.
DegreeNorm norm_of_sums(const ModelSpec& spec);
/// Whether sums over neighbours are divided by sums of weights, and not by numbers of edges.
bool divides_by_weighted_degrees(const ModelSpec& spec);

struct EdgeWeights {
  Tensor values;  // f32 (f64 for a model in f64), by edge id, where the graph is; none: all are 1
  bool any_negative = false;

  explicit operator bool() const { return static_cast<bool>(values); }
};
/// A dataset's graph with what a model adds to it, where the context runs.
struct ModelGraph {
  Graph graph;
  EdgeWeights weights;
};
/// Self-loops that the model adds have the weight 1. Without weights unless the spec asks for them. An Error that names
/// the edge whose weight is not finite, or too large for the storage type `dtype`.
ModelGraph graph_for(const Context& context, const Dataset& dataset, const ModelSpec& spec, Dtype dtype);

}  // namespace weft::nn
