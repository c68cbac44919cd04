// Nodes that a model knows one by one, as it was trained on identity features: a column, and so a row of parameters,
// for each of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/nn.hpp"

namespace weft::nn {

/// Of a dataset whose features are the identity matrix; nothing of any other.
std::optional<KnownNodes> known_nodes_of(const Dataset& dataset);
/// "names=0123456789abcdef graph=..."
std::string to_text(const KnownNodes& nodes);
/// An Error (invalid_file) where it is not written so.
KnownNodes parse_known_nodes(std::string_view text);

/// An Error (invalid_argument) where the model knows its nodes one by one and those of the dataset are called otherwise
/// or stand in another order. A sentence for people where nothing tells whether they are the same; empty where they
/// are, or the model knows none.
std::string check_known_nodes(const Dataset& dataset, const Model& model);

}  // namespace weft::nn
