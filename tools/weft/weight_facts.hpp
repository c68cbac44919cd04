// What train and infer say of a dataset's edge weights.
#pragma once

#include <string>

#include "structure.hpp"
#include "weft/nn.hpp"

namespace weft::tool {

/// "f32, 0.1 to 5, 3 not finite".
std::string values_text(Dtype dtype, const ValueRange& range);

/// What training makes of edge values: "edge values are used (f32, 0.1 to 5)"; empty where there are none.
std::string training_weights(const Dataset& dataset, bool ignored);
/// The same of inference, which follows what the model was trained with unless weights are `ignored`.
std::string inference_weights(const Dataset& dataset, const ModelSpec& trained, bool ignored);

}  // namespace weft::tool
