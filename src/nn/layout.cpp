#include "nn/layout.hpp"

#include <fmt/format.h>

#include "nn/layers/definition.hpp"

namespace weft::nn {

void ParameterList::matrix(const char* name, std::int64_t in, std::int64_t out, std::int64_t class_groups) {
  add(name, Shape(in, out), true, in, out, 0, class_groups);
}

void ParameterList::vectors(const char* name, std::int64_t heads, std::int64_t width, std::int64_t class_groups) {
  add(name, Shape(heads, width), true, width, 1, 0, class_groups);
}

void ParameterList::constant(const char* name, std::int64_t width, double value, std::int64_t class_groups) {
  add(name, Shape(width), false, 0, 0, value, class_groups);
}

void ParameterList::add(const char* name, Shape shape, bool decays, std::int64_t in, std::int64_t out, double first,
                        std::int64_t class_groups) {
  to_.push_back({layer_prefix(layer_) + name, shape, static_cast<int>(layer_), decays, in, out, first, class_groups});
}

bool attends(Architecture architecture) { return attends(definition_of(architecture)); }

bool takes_maxima(const ModelSpec& spec) {
  return definition_of(spec.architecture).reads.aggregate && spec.aggregate == Reduce::max;
}

LayerSizes sizes_of_layer(const ModelSpec& spec, std::int64_t layer) {
  const bool attention = attends(spec.architecture);
  LayerSizes sizes;
  sizes.last = layer == spec.layers - 1;
  sizes.means = attention && (sizes.last || spec.mean_heads);
  sizes.in = layer == 0 ? spec.inputs : attention && !spec.mean_heads ? spec.hidden * spec.heads : spec.hidden;
  sizes.heads = !attention ? 1 : sizes.last ? spec.output_heads : spec.heads;
  sizes.width = sizes.last ? spec.classes : spec.hidden;
  sizes.out = sizes.means ? sizes.width : sizes.heads * sizes.width;
  return sizes;
}

std::string layer_prefix(std::int64_t layer) { return fmt::format("layers.{}.", layer); }

std::int64_t padded_classes(std::int64_t classes, Dtype dtype, Device device) {
  if (device.kind == DeviceKind::cpu) return classes;
  const auto whole = static_cast<std::int64_t>(16 / size_of(dtype));
  return (classes + whole - 1) / whole * whole;
}

std::vector<ParameterSpec> parameters_of(const ModelSpec& spec) {
  const LayerDefinition& definition = definition_of(spec.architecture);
  std::vector<ParameterSpec> all;
  for (std::int64_t l = 0; l < spec.layers; ++l) {
    const LayerSizes s = sizes_of_layer(spec, l);
    ParameterList list(all, l);
    const bool normed = spec.norm != LayerNorm::none && !s.last;
    definition.list_parameters(spec, s, list);
    if (spec.residual && (s.in != s.out || s.last)) list.matrix("residual.weight", s.in, s.out, s.class_groups());
    if (normed) {
      list.constant("norm.scale", s.out, 1);
      list.constant("norm.shift", s.out, 0);
    } else {
      list.constant("bias", s.out, 0, s.class_groups());
    }
  }
  return all;
}

std::vector<ParameterSpec> statistics_of(const ModelSpec& spec) {
  std::vector<ParameterSpec> all;
  if (spec.norm != LayerNorm::batch) return all;
  for (std::int64_t l = 0; l + 1 < spec.layers; ++l) {
    ParameterList list(all, l);
    list.constant("norm.mean", sizes_of_layer(spec, l).out, 0);
    list.constant("norm.variance", sizes_of_layer(spec, l).out, 1);
  }
  return all;
}

}  // namespace weft::nn
