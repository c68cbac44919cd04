// Models as values: defaults, checks, first parameters, text.
#include <cmath>

#include "core/check.hpp"
#include "core/mix.hpp"
#include "core/names.hpp"
#include "nn/class_names.hpp"
#include "nn/layers/definition.hpp"
#include "weft/nn.hpp"

namespace weft {
namespace {

void check_range(std::string_view field, double value, double low, double high) {
  WEFT_CHECK(value >= low && value <= high, invalid_argument, "{} is {}: expected {} to {}", field, value, low, high);
}

/// Fields that mean nothing to the layer are as they are by default.
void check_read(const ModelSpec& spec, const nn::LayerDefinition& layer) {
  const bool heads = layer.reads.heads;
  WEFT_CHECK(heads || (spec.heads == 1 && spec.output_heads == 1), invalid_argument,
             "heads is {} and output_heads {}: {} has no heads; expected 1, or {}", spec.heads, spec.output_heads,
             layer.name, nn::names_of_layers(nn::attends, "or"));
  WEFT_CHECK(heads || !spec.mean_heads, invalid_argument, "mean_heads is set: {} has no heads; expected {}", layer.name,
             nn::names_of_layers(nn::attends, "or"));
  WEFT_CHECK(takes_weights(layer) || !spec.edge_weights, invalid_argument,
             "edge_weights is set: {} has no use for them; expected {}", layer.name,
             nn::names_of_layers(nn::takes_weights, "or"));
}

/// Evenly from (-1, 1), by parameter and element: adding a parameter shifts no other.
double drawn(std::uint64_t key, std::uint64_t i) {
  return static_cast<double>(mix(key + i * 0x9e3779b97f4a7c15) >> 11) * 0x1p-52 - 1;
}

Parameter first_value(const nn::ParameterSpec& p, std::uint64_t seed, std::uint64_t number) {
  Parameter parameter{p.name, Tensor::empty(p.shape, Dtype::f32, p.name), p.layer, p.decays};
  const std::span<float> values = parameter.value.span<float>();
  const double bound = p.fan_in > 0 ? std::sqrt(6.0 / static_cast<double>(p.fan_in + p.fan_out)) : 0;
  const std::uint64_t key = mix(mix(seed + 0x2545f4914f6cdd1d) + number);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(p.fan_in > 0 ? bound * drawn(key, i) : p.first);
  return parameter;
}

Parameter copy_of(const Parameter& p) { return {p.name, p.value.clone(), p.layer, p.decays}; }

}  // namespace

ModelSpec ModelSpec::of(Architecture architecture) {
  ModelSpec spec;
  spec.architecture = architecture;
  const nn::LayerDefinition* const layer = nn::find_layer(architecture);
  if (layer != nullptr && layer->set_model_defaults != nullptr) layer->set_model_defaults(spec);
  return spec;
}

TrainOptions TrainOptions::of(Architecture architecture) {
  TrainOptions options;
  const nn::LayerDefinition* const layer = nn::find_layer(architecture);
  if (layer != nullptr && layer->set_training_defaults != nullptr) layer->set_training_defaults(options);
  return options;
}

void validate(const ModelSpec& spec) {
  const nn::LayerDefinition& layer = nn::definition_of(spec.architecture);
  check_enum(spec.activation, Activation::elu, "activation");
  check_enum(spec.norm, LayerNorm::layer, "norm");
  check_enum(spec.degree_norm, DegreeNorm::both, "degree_norm");
  const auto count = [](std::string_view field, std::int64_t value, std::int64_t most) {
    WEFT_CHECK(value >= 1 && value <= most, invalid_argument, "{} is {}: expected 1 to {}", field, value, most);
  };
  count("inputs", spec.inputs, std::int64_t{1} << 31);
  count("classes", spec.classes, 1 << 20);
  count("layers", spec.layers, 1000);
  count("hidden", spec.hidden, 1 << 16);
  count("heads", spec.heads, 1024);
  count("output_heads", spec.output_heads, 1024);
  check_read(spec, layer);
  WEFT_CHECK(spec.aggregate == Reduce::sum || spec.aggregate == Reduce::mean || spec.aggregate == Reduce::max,
             invalid_argument, "aggregate is {}: expected sum, mean or max", name(spec.aggregate));
  const auto rate = [](std::string_view field, float value) {
    WEFT_CHECK(value >= 0 && value < 1, invalid_argument, "{} is {}: expected a probability in [0, 1)", field, value);
  };
  rate("dropout", spec.dropout);
  rate("attention_dropout", spec.attention_dropout);
  check_range("slope", spec.slope, 0, 1);
  check_range("lambda", spec.lambda, 0, 1e6);
}

Model make_model(const ModelSpec& spec, std::uint64_t seed) {
  validate(spec);
  Model model;
  model.spec = spec;
  for (const nn::ParameterSpec& p : nn::parameters_of(spec))
    model.parameters.push_back(first_value(p, seed, model.parameters.size()));
  for (const nn::ParameterSpec& p : nn::statistics_of(spec)) model.statistics.push_back(first_value(p, seed, 0));
  return model;
}

Model Model::clone() const {
  Model copy;
  copy.spec = spec;
  for (const Parameter& p : parameters) copy.parameters.push_back(copy_of(p));
  for (const Parameter& p : statistics) copy.statistics.push_back(copy_of(p));
  copy.class_names = nn::copy_of(class_names);
  copy.known_nodes = known_nodes;
  copy.reverses_edges = reverses_edges;
  return copy;
}

std::int64_t Model::num_parameters() const {
  std::int64_t count = 0;
  for (const Parameter& p : parameters) count += p.value.shape().size();
  return count;
}

std::string to_string(const ModelSpec& spec) {
  const nn::LayerDefinition& layer = nn::definition_of(spec.architecture);
  const bool attention = layer.reads.heads;
  std::string text =
      fmt::format("{}, {} layer{}, {}", layer.name, spec.layers, spec.layers == 1 ? "" : "s", spec.inputs);
  if (spec.layers > 1 || layer.hides)
    text += !attention        ? fmt::format(" -> {}", spec.hidden)
            : spec.mean_heads ? fmt::format(" -> {} (mean of {} heads)", spec.hidden, spec.heads)
                              : fmt::format(" -> {} x {}", spec.heads, spec.hidden);
  text += fmt::format(" -> {}", spec.classes);
  if (attention && spec.output_heads > 1) text += fmt::format(" (mean of {} heads)", spec.output_heads);
  if (layer.reads.degree_norm) text += fmt::format(", degree norm {}", name(spec.degree_norm));
  if (layer.reads.aggregate) text += fmt::format(", {} of neighbours", name(spec.aggregate));
  if (spec.lambda != 0) text += fmt::format(", lambda {}", spec.lambda);
  if (spec.edge_weights) text += ", edge weights";
  if (spec.self_loops) text += ", self-loops";
  if (spec.activation != Activation::none) text += fmt::format(", {}", name(spec.activation));
  if (spec.norm != LayerNorm::none) text += fmt::format(", {} norm", name(spec.norm));
  if (spec.residual) text += ", residuals";
  if (spec.dropout > 0) text += fmt::format(", dropout {}", spec.dropout);
  if (spec.attention_dropout > 0) text += fmt::format(", attention dropout {}", spec.attention_dropout);
  if (spec.several_labels) text += ", several labels per node";
  return text;
}

std::string to_string(const Model& model) {
  std::string text = to_string(model.spec) + "\n";
  for (const Parameter& p : model.parameters) text += fmt::format("  {:<28} {}\n", p.name, to_string(p.value.shape()));
  return text + fmt::format("  {} parameters", model.num_parameters());
}

}  // namespace weft
