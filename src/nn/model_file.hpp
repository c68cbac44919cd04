// Models inside files of tensors, shared by saved models and checkpoints.
#pragma once

#include <string>

#include "nn/safetensors.hpp"
#include "weft/nn.hpp"

namespace weft::nn {

/// Kind, version, spec, names of classes and known nodes in the metadata, and the parameters.
void put_model(TensorFile& file, const Model& model, std::string_view kind);
/// The model of a file of that kind; an Error where the file is none, or of another version or layout.
Model take_model(TensorFile& file, std::string_view kind, const std::string& path);

}  // namespace weft::nn
