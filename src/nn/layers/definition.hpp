// What a layer is, as one value: all that models, training, files and the command ask about an architecture stands in
// its own file of this folder, and table.hpp lists those files' definitions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nn/layout.hpp"

namespace weft::nn {

class Conv;
struct Build;
struct SparseInput;

/// Fields of ModelSpec that only some layers read.
struct Reads {
  bool heads = false;  // and output_heads, mean_heads, slope, attention_dropout
  bool degree_norm = false;
  bool aggregate = false;
  bool learn_eps = false;
  bool lambda = false;
};

struct LayerDefinition {
  Architecture architecture = {};
  std::string_view name;
  std::string_view alias = {};  // a further spelling, understood and never printed

  /// What its paper has used on citation graphs, where that differs from ModelSpec{} and TrainOptions{}.
  void (*set_model_defaults)(ModelSpec& spec) = nullptr;
  void (*set_training_defaults)(TrainOptions& options) = nullptr;

  Reads reads = {};    // a layer that reads `heads` attends: its heads weigh the messages along the edges themselves
  bool hides = false;  // it has hidden activations of its own, ModelSpec::hidden wide, which its messages lead to
  /// All but a layer's bias, norm and the matrix of a residual, which every layer may have.
  void (*list_parameters)(const ModelSpec& spec, const LayerSizes& sizes, ParameterList& list) = nullptr;

  /// Why weights of edges mean nothing to it; empty: it multiplies messages by them.
  std::string_view refuses_weights = {};
  /// Of layers that add messages up: what the sums are divided by. Null: nothing.
  DegreeNorm (*norm_of_sums)(const ModelSpec& spec) = nullptr;
  bool weighted_degrees = false;  // that norm takes sums of weights for degrees, and not numbers of edges

  /// Its output follows from what it keeps, without its input, which forward has read by the time it writes the output:
  /// Conv::remake makes it again, and memory for one output then does for many layers.
  bool remakes = false;
  std::unique_ptr<Conv> (*make)(const Build& build, std::int64_t layer, const SparseInput* sparse) = nullptr;
};

/// In the order of the enumerators.
std::span<const LayerDefinition* const> layer_definitions();
/// Null for a value that is no enumerator.
const LayerDefinition* find_layer(Architecture architecture);
/// An Error for a value that is no enumerator.
const LayerDefinition& definition_of(Architecture architecture);

using LayerProperty = bool (*)(const LayerDefinition& layer);
bool attends(const LayerDefinition& layer);
bool takes_weights(const LayerDefinition& layer);
/// "gcn, sage or gin" of the layers that have the property; `joint` is "or" or "and".
std::string names_of_layers(LayerProperty has, std::string_view joint);

}  // namespace weft::nn
