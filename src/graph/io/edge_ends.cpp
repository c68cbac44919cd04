#include "graph/io/edge_ends.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace weft::io {

void check_edge_ends(const NpyHeader& header, const std::string& key, EndsLayout layout) {
  const bool matrix = header.shape.size() == 2;
  const bool rows = matrix && header.shape[0] == 2;
  const bool columns = matrix && header.shape[1] == 2 && layout == EndsLayout::rows_or_columns;
  WEFT_CHECK(rows || columns, invalid_file, "array '{}' has the shape ({}): expected (2, n){}", key,
             fmt::join(header.shape, ", "), layout == EndsLayout::rows ? "" : " or (n, 2), sources and targets");
  WEFT_CHECK(header.is_integer(), invalid_file, "array '{}' has the type '{}': expected integers", key, header.descr);
}

void check_ends_below(const EdgeEnds& ends, std::int64_t nodes) {
  for (std::size_t k = 0; k < ends.size(); ++k) {
    const NodeId from = ends.sources[k], to = ends.targets[k];
    WEFT_CHECK(from >= 0 && from < nodes && to >= 0 && to < nodes, invalid_file,
               "edge {} runs from {} to {}: expected nodes from 0 to {}", k, from, to, nodes - 1);
  }
}

std::int64_t nodes_of(const EdgeEnds& ends) {
  std::int64_t nodes = 0;
  for (std::size_t k = 0; k < ends.size(); ++k)
    nodes = std::max({nodes, std::int64_t{ends.sources[k]} + 1, std::int64_t{ends.targets[k]} + 1});
  check_ends_below(ends, nodes);
  return nodes;
}

}  // namespace weft::io
