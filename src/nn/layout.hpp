// Which parameters a model has: what every layer takes, gives and keeps.
#pragma once

#include <string>
#include <vector>

#include "weft/nn.hpp"

namespace weft::nn {

struct LayerSizes {
  std::int64_t in = 0;
  std::int64_t heads = 1;
  std::int64_t width = 0;  // of a head
  std::int64_t out = 0;    // of the layer: heads side by side, or their mean
  bool last = false;
  bool means = false;  // heads give their mean, as the last layer's always do

  /// ParameterSpec::class_groups of a parameter whose rows have `groups` outputs each.
  std::int64_t class_groups(std::int64_t groups = 1) const { return last ? groups : 0; }
};
LayerSizes sizes_of_layer(const ModelSpec& spec, std::int64_t layer);

bool attends(Architecture architecture);
/// Maxima are over features themselves: matrices cannot come before them, and a message cannot stand for several.
bool takes_maxima(const ModelSpec& spec);
/// "layers.0."
std::string layer_prefix(std::int64_t layer);

struct ParameterSpec {
  std::string name;
  Shape shape;
  int layer = 0;
  bool decays = false;
  std::int64_t fan_in = 0, fan_out = 0;  // of a matrix that is drawn at random
  double first = 0;                      // else what every element begins with
  std::int64_t class_groups = 0;         // how often its rows run over all classes
};
/// Takes down the parameters of one layer.
class ParameterList {
 public:
  ParameterList(std::vector<ParameterSpec>& to, std::int64_t layer) : to_(to), layer_(layer) {}

  void matrix(const char* name, std::int64_t in, std::int64_t out, std::int64_t class_groups);
  /// One vector per head.
  void vectors(const char* name, std::int64_t heads, std::int64_t width, std::int64_t class_groups);
  void constant(const char* name, std::int64_t width, double value, std::int64_t class_groups = 0);

 private:
  void add(const char* name, Shape shape, bool decays, std::int64_t in, std::int64_t out, double first,
           std::int64_t class_groups);

  std::vector<ParameterSpec>& to_;
  std::int64_t layer_;
};
/// With which number of outputs a layer of so many classes runs: on a GPU as many as loads move whole, the others being
/// 0 throughout.
std::int64_t padded_classes(std::int64_t classes, Dtype dtype, Device device);
std::vector<ParameterSpec> parameters_of(const ModelSpec& spec);
/// Running means and variances of batch norm.
std::vector<ParameterSpec> statistics_of(const ModelSpec& spec);

}  // namespace weft::nn
