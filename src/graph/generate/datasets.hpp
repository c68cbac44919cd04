// The datasets of the papers' tables and the shapes of their stand-ins.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "graph/generate/shapes.hpp"
#include "weft/generate.hpp"

namespace weft::generator {

using StandIn = std::variant<PowerlawSpec, RmatSpec, LatticeShape, MoleculesShape>;

/// An Error that lists the names where there is no such dataset.
KnownDataset find_dataset(std::string_view name);
StandIn stand_in(std::string_view name, std::uint64_t seed);
Graph generate_stand_in(const StandIn& shape, const Progress& progress = {});

}  // namespace weft::generator
