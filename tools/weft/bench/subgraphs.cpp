#include "bench/subgraphs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/generate/random.hpp"

namespace weft::tool {
namespace {

constexpr int walk_steps = 4;  // as GraphSAINT's walks on its larger graphs

class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t index) : key_(mix(mix(seed) + static_cast<std::uint64_t>(index))) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(
        generator::scale_below(generator::element(key_, counter_++), static_cast<std::uint64_t>(limit)));
  }
  double unit() { return static_cast<double>(generator::element(key_, counter_++) >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_, counter_ = 0;
};

class Picked {
 public:
  explicit Picked(std::int64_t nodes) : taken_(static_cast<std::size_t>(nodes)) {}
  void add(NodeId node) {
    if (taken_[static_cast<std::size_t>(node)]) return;
    taken_[static_cast<std::size_t>(node)] = true;
    nodes_.push_back(node);
  }
  std::int64_t count() const { return static_cast<std::int64_t>(nodes_.size()); }
  std::vector<NodeId> ascending() && {
    std::sort(nodes_.begin(), nodes_.end());
    return std::move(nodes_);
  }

 private:
  std::vector<bool> taken_;
  std::vector<NodeId> nodes_;
};

}  // namespace

std::string_view name(Sampler sampler) { return sampler == Sampler::walk ? "walk" : "node"; }

std::int64_t sampled_size(std::int64_t nodes, std::uint64_t seed, std::int64_t index) {
  Draws draws(seed + 0x517cc1b727220a95, index);
  const double ratio = static_cast<double>(most_sampled) / static_cast<double>(fewest_sampled);
  const double size = static_cast<double>(fewest_sampled) * std::pow(ratio, draws.unit());
  return std::min(nodes, std::clamp(static_cast<std::int64_t>(std::round(size)), fewest_sampled, most_sampled));
}

std::vector<NodeId> sample_nodes(const Graph& graph, Sampler sampler, std::int64_t count, std::uint64_t seed,
                                 std::int64_t index) {
  const GraphView view = graph.host_view();
  Draws draws(seed, index);
  Picked picked(view.num_rows);
  // A degree of 0 is never drawn, and hubs are drawn again and again: after so many tries even draws fill up.
  std::int64_t tries = view.num_edges > 0 ? count * 32 : 0;
  while (picked.count() < count) {
    if (sampler == Sampler::node) {
      picked.add(tries-- > 0 ? view.cols[draws.below(view.num_edges)]
                             : static_cast<NodeId>(draws.below(view.num_rows)));
      continue;
    }
    auto at = static_cast<NodeId>(draws.below(view.num_rows));
    picked.add(at);
    for (int step = 0; step < walk_steps && picked.count() < count; ++step) {
      const EdgeId begin = view.offsets[at], degree = view.offsets[at + 1] - begin;
      if (degree == 0) break;
      at = view.cols[begin + draws.below(degree)];
      picked.add(at);
    }
  }
  return std::move(picked).ascending();
}

Subgraph draw_subgraph(const Graph& graph, std::uint64_t seed, std::int64_t index) {
  const Sampler sampler = index % 2 == 0 ? Sampler::walk : Sampler::node;
  const std::int64_t count = sampled_size(graph.num_rows(), seed, index);
  return {induced_subgraph(graph, sample_nodes(graph, sampler, count, seed, index)).graph, sampler};
}

}  // namespace weft::tool
