// `edges` different pairs: the k-th edge is the k-th element of a permutation of all pairs, so no
// edge comes twice and nothing has to remember which ones are taken.
#include "graph/generate/assemble.hpp"
#include "graph/generate/limits.hpp"
#include "graph/generate/random.hpp"
#include "weft/generate.hpp"

namespace weft {

Graph generate(const UniformSpec& spec, const Progress& progress) {
  using namespace generator;
  check_nodes("uniform", spec.nodes);
  check_edges("uniform", spec.edges, spec.nodes);
  const auto others = static_cast<std::uint64_t>(spec.nodes - 1);
  const Permutation slot(static_cast<std::uint64_t>(spec.nodes) * others, spec.seed, Stream::edge_slot);
  return graph_from_draws(spec.nodes, spec.edges, progress, [&](std::int64_t k) {
    const std::uint64_t pair = slot(k);
    const std::uint64_t row = pair / others;
    const std::uint64_t other = pair % others;
    return Edge{static_cast<NodeId>(row), static_cast<NodeId>(other + (other >= row ? 1 : 0))};
  });
}

}  // namespace weft
