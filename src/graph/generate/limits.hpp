// What every generator asks of its numbers, in one wording.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "core/check.hpp"
#include "weft/types.hpp"

namespace weft::generator {

inline constexpr std::int64_t max_nodes = std::numeric_limits<NodeId>::max();

inline void check_nodes(std::string_view kind, std::int64_t nodes) {
  WEFT_CHECK(nodes >= 1 && nodes <= max_nodes, invalid_argument, "{}: nodes={} is out of range: expected 1 to {}", kind,
             nodes, max_nodes);
}

/// At most every ordered pair of different nodes.
inline void check_edges(std::string_view kind, std::int64_t edges, std::int64_t nodes) {
  const std::int64_t most = nodes * (nodes - 1);
  WEFT_CHECK(edges >= 0 && edges <= most, invalid_argument,
             "{}: edges={} is out of range: expected 0 to {}, the distinct edges among {} nodes without self-loops",
             kind, edges, most, nodes);
}

/// A share; written so that NaN fails too.
inline void check_share(std::string_view kind, std::string_view key, double value) {
  WEFT_CHECK(value >= 0 && value <= 1, invalid_argument, "{}: {}={} is out of range: expected 0 to 1", kind, key,
             value);
}

}  // namespace weft::generator
