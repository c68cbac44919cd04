// The names of what models and training are made of.
#include "core/names.hpp"

#include "nn/layers/table.hpp"

namespace weft {
namespace {

constexpr NameTable<Activation, 3> activation_names{
    {{Activation::none, "none"}, {Activation::relu, "relu"}, {Activation::elu, "elu"}}};
constexpr NameTable<LayerNorm, 3> layer_norm_names{
    {{LayerNorm::none, "none"}, {LayerNorm::batch, "batch"}, {LayerNorm::layer, "layer"}}};
constexpr NameTable<DegreeNorm, 4> degree_norm_names{
    {{DegreeNorm::none, "none"}, {DegreeNorm::left, "left"}, {DegreeNorm::right, "right"}, {DegreeNorm::both, "both"}}};
constexpr NameTable<Optimiser, 3> optimiser_names{
    {{Optimiser::adam, "adam"}, {Optimiser::adamw, "adamw"}, {Optimiser::sgd, "sgd"}}};
constexpr NameTable<LearningRateSchedule, 3> learning_rate_schedule_names{{{LearningRateSchedule::constant, "constant"},
                                                                           {LearningRateSchedule::cosine, "cosine"},
                                                                           {LearningRateSchedule::steps, "steps"}}};
constexpr NameTable<Sampling, 5> sampling_names{{{Sampling::none, "none"},
                                                 {Sampling::node, "node"},
                                                 {Sampling::edge, "edge"},
                                                 {Sampling::walk, "walk"},
                                                 {Sampling::neighbour, "neighbour"}}};
constexpr NameTable<Sampling, 1> sampling_aliases{{{Sampling::neighbour, "neighbor"}}};
constexpr NameTable<BestBy, 2> best_by_names{{{BestBy::accuracy, "accuracy"}, {BestBy::loss, "loss"}}};

}  // namespace

std::string_view name(Architecture architecture) {
  const nn::LayerDefinition* const layer = nn::find_layer(architecture);
  return layer != nullptr ? layer->name : "unknown";
}
std::string_view name(Activation activation) { return name_in(activation_names, activation); }
std::string_view name(LayerNorm norm) { return name_in(layer_norm_names, norm); }
std::string_view name(DegreeNorm norm) { return name_in(degree_norm_names, norm); }
std::string_view name(Optimiser optimiser) { return name_in(optimiser_names, optimiser); }
std::string_view name(LearningRateSchedule schedule) { return name_in(learning_rate_schedule_names, schedule); }
std::string_view name(Sampling sampling) { return name_in(sampling_names, sampling); }
std::string_view name(BestBy best) { return name_in(best_by_names, best); }

Architecture parse_architecture(std::string_view text) {
  NameTable<Architecture, nn::layer_table.size()> names, aliases;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const nn::LayerDefinition& layer = *nn::layer_table[i];
    names[i] = {layer.architecture, layer.name};
    aliases[i] = {layer.architecture, layer.alias.empty() ? layer.name : layer.alias};
  }
  return parse_in(names, "model", text, aliases);
}
Activation parse_activation(std::string_view text) { return parse_in(activation_names, "activation", text); }
LayerNorm parse_layer_norm(std::string_view text) { return parse_in(layer_norm_names, "norm", text); }
DegreeNorm parse_degree_norm(std::string_view text) { return parse_in(degree_norm_names, "degree norm", text); }
Optimiser parse_optimiser(std::string_view text) { return parse_in(optimiser_names, "optimiser", text); }
LearningRateSchedule parse_learning_rate_schedule(std::string_view text) {
  return parse_in(learning_rate_schedule_names, "schedule", text);
}
Sampling parse_sampling(std::string_view text) { return parse_in(sampling_names, "sampler", text, sampling_aliases); }
BestBy parse_best_by(std::string_view text) { return parse_in(best_by_names, "best epoch by", text); }

}  // namespace weft
