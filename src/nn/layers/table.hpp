// The layers weft has, in the order of the enumerators of Architecture: the one place that lists them.
#pragma once

#include <array>

#include "nn/layers/definition.hpp"

namespace weft::nn {

extern const LayerDefinition gcn_layer;
extern const LayerDefinition sage_layer;
extern const LayerDefinition gin_layer;
extern const LayerDefinition gat_layer;
extern const LayerDefinition gatv2_layer;

inline constexpr std::array layer_table{&gcn_layer, &sage_layer, &gin_layer, &gat_layer, &gatv2_layer};

}  // namespace weft::nn
