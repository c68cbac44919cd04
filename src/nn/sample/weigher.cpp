#include "nn/sample/weigher.hpp"

#include "core/check.hpp"
#include "graph/graph_internals.hpp"
#include "nn/layout.hpp"

namespace weft::nn {

Weigher::Weigher(const Context& context, const Graph& graph, ConstTensorView weights, const ModelSpec& spec,
                 Dtype dtype)
    : context_(context),
      graph_(graph),
      weights_(weights),
      spec_(spec),
      dtype_(dtype),
      norm_(norm_of_sums(spec)),
      adds_up_(!attends(spec.architecture) && !takes_maxima(spec)),
      by_weighted_degree_(divides_by_weighted_degrees(spec)) {
  const bool by_sources = norm_ == DegreeNorm::left || norm_ == DegreeNorm::both;
  if (by_sources) transpose_ = graph_.transpose();
  if (!divides_by_weights()) return;
  if (norm_ != DegreeNorm::left) in_sums_ = sums_over(graph_);
  if (by_sources) out_sums_ = sums_over(transpose_);
}

Tensor Weigher::sums_over(const Graph& graph) const {
  Tensor sums =
      Tensor::empty(Shape(graph.num_rows()), Dtype::f64, "weighted degrees", context_.device(), context_.stream());
  run(context_, SumWeightsArgs{weights_.dtype, graph.view(), weights_.data, sums.view().as<double>()});
  return sums;
}

void Weigher::check_degrees() const {
  for (const Tensor* const sums : {&in_sums_, &out_sums_}) {
    if (!*sums) continue;
    const Tensor here = sums->to(Device{}, context_.stream());
    const std::span<const double> degrees = here.span<double>();
    for (std::size_t node = 0; node < degrees.size(); ++node)
      WEFT_CHECK(degrees[node] >= 0, invalid_argument,
                 "the weights of node {}'s {} edges add up to {}: expected 0 or more for degree norm {}, which divides "
                 "by them; use degree norm none, or leave the weights out (--ignore-weights)",
                 node, sums == &in_sums_ ? "incoming" : "outgoing", degrees[node], name(norm_));
  }
}

Tensor Weigher::by_multiples(const Edges& edges, const float* multiples) const {
  WeighArgs args;
  args.multiples = multiples;
  return weigh(edges, args, norm_, dtype_);
}

Tensor Weigher::by_rows(const Edges& edges) const {
  WeighArgs args;
  args.by_rows = adds_up_;
  return weigh(edges, args, norm_, dtype_);
}

void Weigher::by_rows(const Edges& edges, TensorView weights) const {
  WeighArgs args;
  args.by_rows = adds_up_;
  weigh_into(weights, edges, args, norm_);
}

Tensor Weigher::by_counts(const Edges& edges, const std::int32_t* node_counts, const std::int32_t* edge_counts) const {
  WeighArgs args;
  args.node_counts = node_counts;
  args.edge_counts = edge_counts;
  return weigh(edges, args, norm_, dtype_);
}

Tensor Weigher::within(const Graph& batch, const Edges& edges) const {
  const Tensor own = weigh(edges, {}, DegreeNorm::none, weights_.dtype);
  return Weigher(context_, batch, own, spec_, dtype_).whole();
}

Tensor Weigher::whole() const {
  const GraphView view = graph_.view();
  WeighArgs args;
  args.ids = view.edge_ids;
  return weigh({nullptr, view.num_rows, view.offsets, nullptr, view.num_edges}, args, norm_, dtype_);
}

Tensor Weigher::weigh(const Edges& edges, WeighArgs args, DegreeNorm norm, Dtype dtype) const {
  Tensor weights =
      Tensor::empty(Shape(edges.num_edges), dtype, "weights of messages", context_.device(), context_.stream());
  weigh_into(weights, edges, args, norm);
  return weights;
}

void Weigher::weigh_into(TensorView weights, const Edges& edges, WeighArgs args, DegreeNorm norm) const {
  args.dtype = weights.dtype;
  args.graph = graph_.view();
  args.norm = norm;
  if (transpose_.num_rows() > 0) args.out_offsets = GraphInternals::view_without_ids(transpose_).offsets;
  args.values = weights_.data;
  if (in_sums_) args.in_sums = in_sums_.view().as<double>();
  if (out_sums_) args.out_sums = out_sums_.view().as<double>();
  args.nodes = edges.nodes;
  args.count = edges.count;
  args.offsets = edges.offsets;
  args.places = edges.places;
  args.weights = weights.mutable_data();
  if (edges.num_edges > 0) run(context_, args);
}

Block whole_block(const Context& context, const ModelGraph& graph, const ModelSpec& spec, Dtype dtype) {
  Block block;
  block.graph = graph.graph;
  if (!graph.weights) return block;
  const Weigher weigher(context, graph.graph, graph.weights.values, spec, dtype);
  if (graph.weights.any_negative) weigher.check_degrees();
  block.weights = weigher.whole();
  return block;
}

}  // namespace weft::nn
