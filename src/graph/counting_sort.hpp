// The sort under every graph: a parallel, stable counting scatter. An edge moves once to be sorted by
// one of its ends, so an edge list needs two moves and a transpose one.
#pragma once

#include <cstdint>
#include <span>

#include "core/memory.hpp"
#include "weft/graph.hpp"

namespace weft {

/// Compressed rows that own their memory. `ids` is empty where edge k's id is k.
struct EdgeArrays {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> nodes;
  Buffer<EdgeId> ids;
};

/// Edge counts below it are sorted with 32-bit ids, which saves a third of the memory moved. Tests pass
/// a lower one to run the 64-bit code on small graphs.
inline constexpr EdgeId narrow_sort_limit = EdgeId{1} << 31;

/// The edges by destination, then source, then position in the list; `nodes` are the sources. All ids
/// must be in range.
EdgeArrays sort_edges(std::int64_t num_destinations, std::int64_t num_sources, std::span<const NodeId> destinations,
                      std::span<const NodeId> sources, EdgeId narrow_limit = narrow_sort_limit);

/// The edges by source, then row, then stored order; `nodes` are the destinations, ids stay the same.
EdgeArrays reverse_edges(const GraphView& graph, EdgeId narrow_limit = narrow_sort_limit);

}  // namespace weft
