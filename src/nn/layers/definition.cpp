#include "nn/layers/definition.hpp"

#include <algorithm>

#include "core/names.hpp"
#include "nn/layers/table.hpp"

namespace weft::nn {

std::span<const LayerDefinition* const> layer_definitions() { return layer_table; }

const LayerDefinition* find_layer(Architecture architecture) {
  const auto found = std::ranges::find(layer_table, architecture, &LayerDefinition::architecture);
  return found != layer_table.end() ? *found : nullptr;
}

const LayerDefinition& definition_of(Architecture architecture) {
  const LayerDefinition* const found = find_layer(architecture);
  if (found == nullptr) check_enum(architecture, last_of<Architecture>(), "architecture");
  return *found;
}

bool attends(const LayerDefinition& layer) { return layer.reads.heads; }
bool takes_weights(const LayerDefinition& layer) { return layer.refuses_weights.empty(); }

std::string names_of_layers(LayerProperty has, std::string_view joint) {
  std::string text;
  std::string_view last;
  for (const LayerDefinition* layer : layer_definitions()) {
    if (!has(*layer)) continue;
    if (!last.empty()) text += (text.empty() ? "" : ", ") + std::string(last);
    last = layer->name;
  }
  return text.empty() ? std::string(last) : fmt::format("{} {} {}", text, joint, last);
}

}  // namespace weft::nn
