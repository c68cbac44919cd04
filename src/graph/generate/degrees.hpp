// Degree sequences with a power-law tail.
#pragma once

#include <cstdint>

#include "core/memory.hpp"
#include "weft/types.hpp"

namespace weft::generator {

/// One degree per node, in random order, adding up to exactly `edges`. Degrees are m * u^(-1 /
/// (exponent - 1)) for even u in (0, 1], held between min(1, mean / 4) and `max_degree`, with m
/// chosen to meet the total; fractions are rounded so that the running total never drifts.
/// Needs edges <= nodes * max_degree.
Buffer<NodeId> powerlaw_degrees(std::int64_t nodes, std::int64_t edges, double exponent, std::int64_t max_degree,
                                std::uint64_t seed);

}  // namespace weft::generator
