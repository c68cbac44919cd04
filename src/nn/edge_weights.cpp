#include "nn/edge_weights.hpp"

#include <cmath>
#include <limits>

#include "core/dispatch.hpp"
#include "graph/scan.hpp"
#include "graph/values.hpp"
#include "nn/layers/definition.hpp"

namespace weft::nn {
namespace {

/// The lowest edge id whose value is `wrong`, or the number of edges.
template <class Wrong>
EdgeId first_value(ConstTensorView values, const Wrong& wrong) {
  return with_any_dtype(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return find_first(values.shape.rows, [data = values.as<T>(), ld = values.ld, &wrong](std::int64_t e) {
      return wrong(convert<double>(data[e * ld]));
    });
  });
}

double value_of(ConstTensorView values, EdgeId edge) {
  return with_any_dtype(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert<double>(values.as<T>()[edge * values.ld]);
  });
}

/// "edge 3 (node 4 to node 7)"
std::string name_of(const Graph& graph, EdgeId edge) {
  const GraphView view = graph.host_view();
  const EdgeId k = find_first(view.num_edges, [&](std::int64_t place) { return view.edge_id(place) == edge; });
  return fmt::format("edge {} (node {} to node {})", edge, view.cols[k], row_of_edge(view.offsets, view.num_rows, k));
}

/// The largest weight that is kept as it is.
double largest(const ModelSpec& spec, Dtype dtype) {
  if (divides_by_weighted_degrees(spec)) return std::numeric_limits<float>::max();  // what is stored is a share
  switch (dtype) {
    case Dtype::f16: return 65504;
    case Dtype::bf16: return 0x1.fep127;
    default: return std::numeric_limits<float>::max();
  }
}

void check_weights(const Dataset& dataset, const ModelSpec& spec, Dtype dtype) {
  const ConstTensorView values = dataset.values;
  check_values(values, "the dataset's edge values");
  WEFT_CHECK(values.shape.rows == dataset.graph.num_edges() && values.shape.row_size() == 1, invalid_argument,
             "the dataset's edge values have shape {}: expected [{}], one weight per edge; leave them out with "
             "--ignore-weights",
             to_string(values.shape), dataset.graph.num_edges());
  const double limit = largest(spec, dtype);
  const EdgeId wrong = first_value(values, [=](double v) { return !(std::fabs(v) <= limit); });
  if (wrong == values.shape.rows) return;
  const double value = value_of(values, wrong);
  WEFT_CHECK(std::isfinite(value), invalid_argument,
             "{} has the weight {}: expected a finite number; mend the data, or leave the weights out with "
             "--ignore-weights",
             name_of(dataset.graph, wrong), value);
  fail(ErrorCode::invalid_argument,
       "{} has the weight {}: expected at most {} in {}; use another dtype, scale the weights, or leave them out with "
       "--ignore-weights",
       name_of(dataset.graph, wrong), value, limit, name(dtype));
}

}  // namespace

bool has_edge_weights(const Dataset& dataset) {
  if (!dataset.values) return false;
  if (dataset.values.shape().row_size() != 1) return true;
  return first_value(dataset.values, [](double v) { return v != 1; }) < dataset.values.shape().rows;
}

bool learns_from_weights(const Dataset& dataset, Architecture architecture, bool ignored) {
  if (ignored || !has_edge_weights(dataset)) return false;
  const LayerDefinition& layer = definition_of(architecture);
  WEFT_CHECK(takes_weights(layer), unsupported,
             "the edges of {} have weights and {} has no use for them: {}; train {}, or leave the weights out with "
             "--ignore-weights (TrainOptions::ignore_weights)",
             dataset.name, layer.name, layer.refuses_weights, names_of_layers(takes_weights, "or"));
  return true;
}

DegreeNorm norm_of_sums(const ModelSpec& spec) {
  const LayerDefinition& layer = definition_of(spec.architecture);
  return layer.norm_of_sums != nullptr ? layer.norm_of_sums(spec) : DegreeNorm::none;
}

bool divides_by_weighted_degrees(const ModelSpec& spec) {
  return definition_of(spec.architecture).weighted_degrees && norm_of_sums(spec) != DegreeNorm::none;
}

ModelGraph graph_for(const Context& context, const Dataset& dataset, const ModelSpec& spec, Dtype dtype) {
  const bool weighted = spec.edge_weights && has_edge_weights(dataset);
  if (weighted) check_weights(dataset, spec, dtype);
  ModelGraph result;
  Tensor values;
  if (spec.self_loops) {
    const Derived with_loops = with_self_loops(dataset.graph, SelfLoops::add);
    result.graph = with_loops.graph;
    if (weighted) values = carry_values(with_loops.origin, dataset.values);
  } else {
    result.graph = dataset.graph;
  }
  if (weighted) {
    const Dtype wanted = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    result.weights.values = (values ? values : dataset.values).to(wanted);
    const ConstTensorView kept = result.weights.values;
    result.weights.any_negative = first_value(kept, [](double v) { return v < 0; }) < kept.shape.rows;
  }
  if (context.device().kind != DeviceKind::cuda) return result;
  result.graph = result.graph.to(context.device(), context.stream());
  if (weighted) result.weights.values = result.weights.values.to(context.device(), context.stream());
  return result;
}

}  // namespace weft::nn
