// What train and infer say of a dataset and of a model, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "weft/nn.hpp"

namespace weft::tool {

/// "citations: 3,000 nodes, 11,990 edges, 1,000 features, 6 classes; train 120, val 500, test 1,000".
std::string data_line(const Dataset& dataset);
nlohmann::json data_json(const Dataset& dataset, const std::string& source);
nlohmann::json spec_json(const ModelSpec& spec);
/// What accuracy is: "accuracy", or "micro-F1" where nodes have several labels.
std::string measure_of(const Dataset& dataset);
/// "0.8120", or "-" where it was not measured.
std::string accuracy_text(double accuracy);
/// Of files and other things a person takes with them: "wrote    model.safetensors".
std::string wrote_line(const std::string& path);

}  // namespace weft::tool
