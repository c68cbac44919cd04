// Segments that tests of every backend share.
#pragma once

#include <vector>

#include "weft/graph.hpp"

namespace weft::test {

/// None, empty ones at either end and in the middle, and one long enough to be cut.
inline const std::vector<std::vector<EdgeId>> segmentations{
    {0}, {0, 0}, {0, 1}, {0, 3, 3, 4, 11, 11}, {0, 0, 0, 2}, {0, 1, 32, 64, 97, 1097}, {0, 5, 5005, 5010}};

/// A segment i is row i of a graph whose k-th edge comes from row k.
inline Graph as_graph(const std::vector<EdgeId>& offsets) {
  std::vector<NodeId> cols;
  for (EdgeId k = 0; k < offsets.back(); ++k) cols.push_back(static_cast<NodeId>(k));
  return Graph::from_csr(static_cast<std::int64_t>(offsets.size()) - 1, offsets.back(), offsets, cols);
}

}  // namespace weft::test
