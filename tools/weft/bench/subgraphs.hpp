// Subgraphs as sampled training draws them (GraphSAINT): every step another one, so planning counts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/graph.hpp"

namespace weft::tool {

/// `walk`: nodes met by short random walks from even roots. `node`: nodes drawn by degree.
enum class Sampler { walk, node };
std::string_view name(Sampler sampler);

constexpr std::int64_t fewest_sampled = 1'000, most_sampled = 50'000;

/// How many nodes draw `index` takes: log-uniform between the two above, never more than there are.
std::int64_t sampled_size(std::int64_t nodes, std::uint64_t seed, std::int64_t index);
/// Exactly `count` distinct nodes, ascending. The graph is square, on the host, and has as many.
std::vector<NodeId> sample_nodes(const Graph& graph, Sampler sampler, std::int64_t count, std::uint64_t seed,
                                 std::int64_t index);

struct Subgraph {
  Graph graph;
  Sampler sampler = Sampler::walk;
};
/// Draw `index` of a series: walks and nodes in turn. Depends on graph, seed and index alone.
Subgraph draw_subgraph(const Graph& graph, std::uint64_t seed, std::int64_t index);

}  // namespace weft::tool
