// Which output of a model a class of some data is.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/nn.hpp"

namespace weft::nn {

/// The model's class for every class of the dataset's labels: by name, which a number is as well (labels without names
/// are 0, 1, 2, ...), or in order where one side has words and the other none. Empty where they cannot be compared:
/// without labels, with other numbers of classes that have no names, or where nodes have one class here and several
/// there. An Error (invalid_argument) that quotes the first class the model does not have.
std::vector<std::int32_t> label_map_of(const Dataset& dataset, const Model& model);

}  // namespace weft::nn
