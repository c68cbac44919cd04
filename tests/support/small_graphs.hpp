// Graphs small enough to work out by hand, and the awkward ones that semantics tests share.
#pragma once

#include <vector>

#include "support/values.hpp"
#include "weft/graph.hpp"

namespace weft::test {

/// 6 destinations, 5 sources, 14 edges given in no order, so that edge ids differ from stored order.
/// Duplicate edges (ids 1 and 7, ids 3 and 12); rows 0 and 4 have none; column 4 has none.
inline Graph tangled_graph() {
  const std::vector<NodeId> destinations{5, 1, 3, 2, 1, 5, 3, 1, 2, 5, 1, 3, 2, 5};
  const std::vector<NodeId> sources{0, 2, 1, 3, 0, 3, 1, 2, 0, 2, 1, 0, 3, 1};
  return Graph::from_edges({.num_sources = 5, .num_destinations = 6},
                           {.sources = sources, .destinations = destinations});
}

/// `edges` edges with both ends drawn evenly; ids in the order drawn.
inline Graph random_graph(std::int64_t rows, std::int64_t cols, std::int64_t edges, std::uint64_t seed) {
  Random random(seed);
  std::vector<NodeId> destinations, sources;
  for (std::int64_t k = 0; k < edges; ++k) {
    destinations.push_back(static_cast<NodeId>(random.integer(0, rows - 1)));
    sources.push_back(static_cast<NodeId>(random.integer(0, cols - 1)));
  }
  return Graph::from_edges({.num_sources = cols, .num_destinations = rows},
                           {.sources = sources, .destinations = destinations});
}

/// One row of `leaves` edges from as many sources, between two empty rows.
inline Graph hub_graph(std::int64_t leaves) {
  std::vector<EdgeId> offsets{0, 0, leaves, leaves};
  std::vector<NodeId> cols;
  for (std::int64_t k = 0; k < leaves; ++k) cols.push_back(static_cast<NodeId>(k));
  return Graph::from_csr(3, leaves, offsets, cols);
}

/// Random edges, of which a quarter arrive at row 0: one task's share of rows is far from one of edges.
inline Graph skewed_graph(std::int64_t nodes, std::int64_t edges, std::uint64_t seed) {
  Random random(seed);
  std::vector<NodeId> destinations, sources;
  for (std::int64_t k = 0; k < edges; ++k) {
    destinations.push_back(k % 4 == 0 ? 0 : static_cast<NodeId>(random.integer(0, nodes - 1)));
    sources.push_back(static_cast<NodeId>(random.integer(0, nodes - 1)));
  }
  return Graph::from_edges(nodes, {.sources = sources, .destinations = destinations});
}

}  // namespace weft::test
