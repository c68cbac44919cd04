// One level of Louvain's method on a device: nodes that move between communities, and the graph of these communities.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cuda/launcher.hpp"
#include "graph/order/louvain_rule.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"

namespace weft::louvain {

class Level {
 public:
  virtual ~Level() = default;

  virtual std::int64_t nodes() const = 0;
  /// The sum of all weights, 2m.
  virtual std::int64_t total() const = 0;
  /// Modularity of every node on its own, times 4m^2.
  virtual Wide modularity() = 0;
  /// Every node whose neighbourhood has changed since it last did decides once; gives how many moved.
  virtual std::int64_t move_nodes() = 0;
  /// Numbers the communities 0, 1, 2, ... in the order of the numbers they have, and gives that of every node.
  virtual std::vector<NodeId> number_communities(std::int64_t& count) = 0;
  /// The graph whose nodes are the communities, numbered before.
  virtual std::unique_ptr<Level> contract() = 0;
};

std::unique_ptr<Level> first_level_on_cpu(const Graph& graph, int threads);
WEFT_LAUNCHER(std::unique_ptr<Level> first_level_on_gpu(const Graph& graph, Device device, CUstream_st* stream));

}  // namespace weft::louvain
