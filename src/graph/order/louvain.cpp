#include <algorithm>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "core/stopwatch.hpp"
#include "graph/order/dendrogram.hpp"
#include "graph/order/louvain_level.hpp"
#include "weft/reorder.hpp"

namespace weft {
namespace {

using louvain::Level;
using louvain::Wide;

/// A round in which fewer than one node in so many moves is the last of its level, and so is one after so many in which
/// no fewer moved than before: the same nodes go to and fro.
constexpr std::int64_t settled = 1000;
constexpr int patience = 4;

double share(Wide part, std::int64_t total) {
  return total > 0 ? static_cast<double>(part) / static_cast<double>(total) / static_cast<double>(total) : 0;
}

int move_until_settled(Level& level, std::size_t number, const LouvainOptions& options) {
  std::int64_t fewest = level.nodes() + 1;
  for (int round = 1, in_vain = 0; round <= options.max_rounds; ++round) {
    const std::int64_t moved = level.move_nodes();
    in_vain = moved < fewest ? 0 : in_vain + 1;
    fewest = std::min(fewest, moved);
    if (options.progress)
      options.progress(fmt::format("louvain: level {}, round {}, {} nodes moved", number + 1, round, moved), round,
                       options.max_rounds);
    if (moved * settled < level.nodes() || in_vain == patience) return round;
  }
  return options.max_rounds;
}

Reordering find_order(const Context& context, const Graph& graph, const LouvainOptions& options) {
  WEFT_CHECK(graph.is_square(), invalid_argument, "graph is {} x {}: louvain_order needs a square one",
             graph.num_rows(), graph.num_cols());
  WEFT_CHECK(options.max_levels >= 1 && options.max_rounds >= 1, invalid_argument,
             "max_levels is {} and max_rounds {}: expected 1 or more of both", options.max_levels, options.max_rounds);
  WEFT_CHECK(options.least_gain >= 0 && options.least_gain < 1, invalid_argument,
             "least_gain is {}: expected modularity from 0 to 1", options.least_gain);
  const Stopwatch watch;
  Reordering result;
  result.method = name(ReorderMethod::louvain);
  result.device = context.device();
  Dendrogram dendrogram(graph.num_rows());
  std::unique_ptr<Level> level = context.device().kind == DeviceKind::cuda
                                     ? louvain::first_level_on_gpu(graph, context.device(), context.stream())
                                     : louvain::first_level_on_cpu(graph, context.threads());
  Wide modularity = level->modularity();
  const std::int64_t total = level->total();
  // In whole numbers of 4m^2, so that every device stops at the same level.
  const Wide least_gain = static_cast<Wide>(options.least_gain * 1e9) * total * total / 1000000000;
  while (total > 0 && static_cast<int>(result.levels.size()) < options.max_levels) {
    const Stopwatch of_level;
    LouvainLevel facts;
    facts.nodes = level->nodes();
    facts.rounds = move_until_settled(*level, result.levels.size(), options);
    std::vector<NodeId> communities = level->number_communities(facts.communities);
    if (facts.communities == facts.nodes) break;
    std::unique_ptr<Level> next = level->contract();
    const Wide reached = next->modularity();
    if (reached <= modularity) break;
    dendrogram.add_level(std::move(communities), facts.communities);
    facts.modularity = share(reached, total);
    facts.seconds = of_level.seconds();
    result.levels.push_back(facts);
    const bool last = reached - modularity < least_gain;
    modularity = reached;
    level = std::move(next);
    if (last) break;
  }
  result.modularity = share(modularity, total);
  result.order = dendrogram.order();
  result.communities = dendrogram.communities();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace

Reordering louvain_order(const Context& context, const Graph& graph, const LouvainOptions& options) {
  return or_out_of_memory("an order of nodes", [&] { return find_order(context, graph, options); });
}

}  // namespace weft
