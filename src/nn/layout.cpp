#include "nn/layout.hpp"

#include <fmt/format.h>

namespace weft::nn {
namespace {

class Listing {
 public:
  Listing(std::vector<ParameterSpec>& to, std::int64_t layer) : to_(to), layer_(layer) {}

  void matrix(const char* name, std::int64_t in, std::int64_t out, std::int64_t class_groups) {
    add(name, Shape(in, out), true, in, out, 0, class_groups);
  }
  /// One vector a head.
  void vectors(const char* name, std::int64_t heads, std::int64_t width, std::int64_t class_groups) {
    add(name, Shape(heads, width), true, width, 1, 0, class_groups);
  }
  void constant(const char* name, std::int64_t width, double value, std::int64_t class_groups = 0) {
    add(name, Shape(width), false, 0, 0, value, class_groups);
  }

 private:
  void add(const char* name, Shape shape, bool decays, std::int64_t in, std::int64_t out, double first,
           std::int64_t class_groups) {
    to_.push_back({layer_prefix(layer_) + name, shape, static_cast<int>(layer_), decays, in, out, first, class_groups});
  }
  std::vector<ParameterSpec>& to_;
  std::int64_t layer_;
};

}  // namespace

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
  std::vector<ParameterSpec> all;
  for (std::int64_t l = 0; l < spec.layers; ++l) {
    const LayerSizes s = sizes_of_layer(spec, l);
    Listing list(all, l);
    const std::int64_t last = s.last ? 1 : 0;
    const bool normed = spec.norm != LayerNorm::none && !s.last;
    switch (spec.architecture) {
      case Architecture::gcn: list.matrix("weight", s.in, s.out, last); break;
      case Architecture::sage:
        list.matrix("self.weight", s.in, s.out, last);
        list.matrix("neighbours.weight", s.in, s.out, last);
        break;
      case Architecture::gin:
        if (spec.learn_eps) list.constant("eps", 1, 0);
        list.matrix("first.weight", s.in, spec.hidden, 0);
        list.constant("first.bias", spec.hidden, 0);
        list.matrix("second.weight", spec.hidden, s.out, last);
        break;
      case Architecture::gat:
        list.matrix("weight", s.in, s.heads * s.width, last * s.heads);
        list.vectors("source", s.heads, s.width, last);
        list.vectors("destination", s.heads, s.width, last);
        break;
      case Architecture::gatv2:
        list.matrix("source.weight", s.in, s.heads * s.width, last * s.heads);
        list.matrix("destination.weight", s.in, s.heads * s.width, last * s.heads);
        list.vectors("attention", s.heads, s.width, last);
        break;
    }
    if (spec.residual && (s.in != s.out || s.last)) list.matrix("residual.weight", s.in, s.out, last);
    if (normed) {
      list.constant("norm.scale", s.out, 1);
      list.constant("norm.shift", s.out, 0);
    } else {
      list.constant("bias", s.out, 0, last);
    }
  }
  return all;
}

std::vector<ParameterSpec> statistics_of(const ModelSpec& spec) {
  std::vector<ParameterSpec> all;
  if (spec.norm != LayerNorm::batch) return all;
  for (std::int64_t l = 0; l + 1 < spec.layers; ++l) {
    Listing list(all, l);
    list.constant("norm.mean", sizes_of_layer(spec, l).out, 0);
    list.constant("norm.variance", sizes_of_layer(spec, l).out, 1);
  }
  return all;
}

}  // namespace weft::nn
