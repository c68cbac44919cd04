// Plain statements of what orders of nodes promise, for graphs small enough.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "support/values.hpp"
#include "weft/reorder.hpp"

namespace weft::test {

inline std::vector<NodeId> numbers(const Tensor& tensor) {
  const auto values = tensor.span<NodeId>();
  return {values.begin(), values.end()};
}

inline void expect_permutation(const Tensor& order, std::int64_t nodes) {
  std::vector<NodeId> sorted = numbers(order);
  std::ranges::sort(sorted);
  ASSERT_EQ(std::ssize(sorted), nodes);
  for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], static_cast<NodeId>(i));
}

/// By the definition, over the graph and its reverse.
inline double naive_modularity(const Graph& graph, const std::vector<NodeId>& community) {
  const GraphView view = graph.host_view();
  std::map<NodeId, double> strength;
  double inside = 0;
  for (std::int64_t v = 0; v < view.num_rows; ++v)
    for (EdgeId k = view.offsets[v]; k < view.offsets[v + 1]; ++k) {
      const NodeId a = community[static_cast<std::size_t>(v)];
      const NodeId b = community[static_cast<std::size_t>(view.cols[k])];
      strength[a] += 1;
      strength[b] += 1;
      inside += a == b ? 2 : 0;
    }
  const double total = 2.0 * static_cast<double>(view.num_edges);
  double result = inside / total;
  for (const auto& [c, sum] : strength) result -= sum / total * (sum / total);
  return result;
}

/// `communities` of `size` nodes, numbered in no order; an edge between two nodes of one with probability `in`, of
/// two with `out`, in both directions.
struct Planted {
  Graph graph;
  std::vector<NodeId> community;
};
inline Planted planted_graph(NodeId communities, NodeId size, double in, double out, std::uint64_t seed) {
  Random random(seed);
  const NodeId nodes = communities * size;
  Planted result;
  for (NodeId v = 0; v < nodes; ++v) result.community.push_back(v % communities);
  for (std::size_t i = result.community.size(); i > 1; --i)
    std::swap(result.community[i - 1],
              result.community[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  std::vector<NodeId> sources, destinations;
  for (NodeId v = 0; v < nodes; ++v)
    for (NodeId u = 0; u < v; ++u) {
      const bool same = result.community[static_cast<std::size_t>(v)] == result.community[static_cast<std::size_t>(u)];
      if (random.uniform(0, 1) >= (same ? in : out)) continue;
      sources.insert(sources.end(), {u, v});
      destinations.insert(destinations.end(), {v, u});
    }
  result.graph = Graph::from_edges(nodes, {.sources = sources, .destinations = destinations});
  return result;
}

}  // namespace weft::test
