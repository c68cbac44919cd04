// Something to learn for graphs that bring nothing.
#pragma once

#include <cstdint>

#include "weft/dataset.hpp"

namespace weft::tool {

/// Random features in [-0.5, 0.5) and labels in place of the dataset's own; all nodes are for training. What a model
/// learns from them means nothing, but what it costs is what it would cost with others.
void make_up(Dataset& dataset, std::int64_t features, std::int64_t classes);

}  // namespace weft::tool
