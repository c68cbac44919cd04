// The graphs every kernel must pass: small, each with one difficulty. They are built here from plain
// arrays with a generator of their own, so that a fault in weft's generators cannot hide one in a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph.hpp"

namespace weft {

struct BatteryGraph {
  std::string name;
  Graph graph;
};
inline std::vector<BatteryGraph> battery_graphs();

namespace battery {

/// SplitMix64: the same numbers on every machine.
class SmallRandom {
 public:
  explicit SmallRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Even over [0, bound); the bias of the remainder is far below what a test could see.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }
  /// Even over [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

/// An edge list that grows edge by edge.
struct GrowingEdges {
  std::vector<NodeId> destinations, sources;

  void add(std::int64_t source, std::int64_t destination) {
    sources.push_back(static_cast<NodeId>(source));
    destinations.push_back(static_cast<NodeId>(destination));
  }
  void add_both(std::int64_t a, std::int64_t b) {
    add(a, b);
    add(b, a);
  }
  Graph graph(std::int64_t num_destinations, std::int64_t num_sources) const {
    return Graph::from_edges({.num_sources = num_sources, .num_destinations = num_destinations},
                             {.sources = sources, .destinations = destinations});
  }
};

/// Rows of the given degrees, sources drawn evenly and ascending within a row.
inline Graph graph_of_degrees(const std::vector<std::int64_t>& degrees, std::int64_t num_sources, std::uint64_t seed) {
  SmallRandom random(seed);
  std::vector<EdgeId> offsets{0};
  std::vector<NodeId> cols;
  for (const std::int64_t degree : degrees) {
    for (std::int64_t i = 0; i < degree; ++i) cols.push_back(static_cast<NodeId>(random.below(num_sources)));
    std::sort(cols.end() - degree, cols.end());
    offsets.push_back(static_cast<EdgeId>(cols.size()));
  }
  return Graph::from_csr(static_cast<std::int64_t>(degrees.size()), num_sources, offsets, cols);
}

/// Both ends even, in no order: edge ids differ from the stored order.
inline Graph random_graph(std::int64_t rows, std::int64_t cols, std::int64_t edges, std::uint64_t seed) {
  SmallRandom random(seed);
  GrowingEdges list;
  for (std::int64_t i = 0; i < edges; ++i) {
    const std::int64_t source = random.below(cols);
    list.add(source, random.below(rows));
  }
  return list.graph(rows, cols);
}

inline Graph hub_graph() {
  SmallRandom random(11);
  GrowingEdges list;
  constexpr std::int64_t nodes = 3000, hub = 1234;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t source = random.below(nodes);
    list.add(source, random.below(nodes));
  }
  for (std::int64_t i = 0; i < nodes; ++i) list.add(i, hub);
  for (std::int64_t i = 0; i < 2000; ++i) list.add(random.below(nodes), hub);
  return list.graph(nodes, nodes);
}

inline Graph power_law_graph() {
  SmallRandom random(12);
  GrowingEdges list;
  constexpr std::int64_t nodes = 1500;
  // Squaring twice pulls draws towards 0: a few nodes then have most of the edges.
  const auto skewed = [&] {
    const double u = random.unit();
    return static_cast<std::int64_t>(u * u * u * u * static_cast<double>(nodes));
  };
  for (std::int64_t i = 0; i < 7000; ++i) {
    const std::int64_t source = skewed();
    list.add(source, skewed());
  }
  return list.graph(nodes, nodes);
}

inline Graph grid_graph(std::int64_t side) {
  GrowingEdges list;
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      if (x + 1 < side) list.add_both(y * side + x, y * side + x + 1);
      if (y + 1 < side) list.add_both(y * side + x, (y + 1) * side + x);
    }
  return list.graph(side * side, side * side);
}

/// Chains of 3 to 12 nodes, every other one closed to a ring, block-diagonal.
inline Graph molecule_graph(std::int64_t molecules) {
  SmallRandom random(13);
  GrowingEdges list;
  std::int64_t first = 0;
  for (std::int64_t m = 0; m < molecules; ++m) {
    const std::int64_t size = 3 + random.below(10);
    for (std::int64_t i = 0; i + 1 < size; ++i) list.add_both(first + i, first + i + 1);
    if (m % 2 == 0) list.add_both(first, first + size - 1);
    first += size;
  }
  return list.graph(first, first);
}

inline Graph graph_with_duplicates() {
  SmallRandom random(14);
  GrowingEdges list;
  constexpr std::int64_t nodes = 60;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::int64_t source = random.below(nodes);
    list.add(source, random.below(nodes));
  }
  return list.graph(nodes, nodes);
}

inline Graph graph_with_self_loops() {
  SmallRandom random(15);
  GrowingEdges list;
  constexpr std::int64_t nodes = 200;
  for (std::int64_t i = nodes - 1; i >= 0; --i) {
    list.add(i, i);
    if (i % 3 == 0) list.add(i, i);
    list.add(random.below(nodes), i);
  }
  return list.graph(nodes, nodes);
}

inline Graph bipartite_one_row(std::int64_t sources) {
  GrowingEdges list;
  for (std::int64_t i = 0; i < sources; ++i) list.add(i, 0);
  return list.graph(1, sources);
}

inline Graph bipartite_one_column(std::int64_t destinations) {
  GrowingEdges list;
  for (std::int64_t i = 0; i < destinations; ++i) list.add(0, i);
  return list.graph(destinations, 1);
}

}  // namespace battery

inline std::vector<BatteryGraph> battery_graphs() {
  using namespace battery;
  std::vector<BatteryGraph> all;
  const auto add = [&](std::string name, Graph graph) { all.push_back({std::move(name), std::move(graph)}); };
  const auto from_degrees = [](std::vector<std::int64_t> degrees, std::int64_t sources, std::uint64_t seed) {
    return graph_of_degrees(degrees, sources, seed);
  };
  GrowingEdges one_loop;
  one_loop.add(0, 0);

  add("empty_graph", Graph());
  add("no_edges", GrowingEdges{}.graph(5, 5));
  add("one_node", GrowingEdges{}.graph(1, 1));
  add("one_node_with_self_loop", one_loop.graph(1, 1));
  add("one_hub_row", hub_graph());
  add("first_rows_empty", from_degrees({0, 0, 0, 3, 1, 5}, 6, 21));
  add("middle_rows_empty", from_degrees({2, 4, 0, 0, 0, 3, 1}, 7, 22));
  add("last_rows_empty", from_degrees({2, 7, 1, 0, 0, 0}, 6, 23));
  add("self_loops", graph_with_self_loops());
  add("duplicate_edges", graph_with_duplicates());
  add("bipartite_1_by_n", bipartite_one_row(700));
  add("bipartite_n_by_1", bipartite_one_column(700));
  add("bipartite_unsorted", random_graph(130, 570, 4000, 24));
  add("power_law", power_law_graph());
  add("grid", grid_graph(24));
  add("molecules", molecule_graph(120));
  add("degrees_0_1_2_31_32_33_1000", from_degrees({0, 1, 2, 31, 32, 33, 1000, 0, 33, 32, 31, 2, 1, 0}, 1100, 25));
  // Rows of more than 1024 edges are cut into pieces. Next to each other, and with so few sources that the rows of the
  // transpose are as long.
  add("many_long_rows", from_degrees({1025, 1024, 2049, 0, 3000, 1025}, 6, 26));
  return all;
}

}  // namespace weft
