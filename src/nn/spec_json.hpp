// A model's spec as text in files.
#pragma once

#include <string>
#include <string_view>

#include "weft/nn.hpp"

namespace weft::nn {

std::string spec_to_json(const ModelSpec& spec);
/// An Error (invalid_file) that names `path`, what is missing or wrong and what was expected.
ModelSpec spec_from_json(std::string_view text, const std::string& path);

}  // namespace weft::nn
