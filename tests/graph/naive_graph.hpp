// Graphs as plain lists of edges: what the property tests compare with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "support/graphs.hpp"
#include "weft/error.hpp"
#include "weft/graph.hpp"

namespace weft::test {

struct NaiveEdge {
  NodeId row = 0, col = 0;
  EdgeId id = 0;
  friend auto operator<=>(const NaiveEdge&, const NaiveEdge&) = default;
  friend void PrintTo(const NaiveEdge& edge, std::ostream* out) {
    *out << edge.col << "->" << edge.row << " #" << edge.id;
  }
};
using NaiveEdges = std::vector<NaiveEdge>;

/// The edges of a graph in stored order, read through nothing but offsets, cols and edge_ids.
inline NaiveEdges stored_edges(const Graph& graph) {
  NaiveEdges edges;
  const auto offsets = graph.offsets();
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    for (EdgeId k = offsets[row]; k < offsets[row + 1]; ++k)
      edges.push_back({static_cast<NodeId>(row), graph.cols()[static_cast<std::size_t>(k)],
                       graph.has_edge_ids() ? graph.edge_ids()[static_cast<std::size_t>(k)] : k});
  return edges;
}

inline NaiveEdges sorted(NaiveEdges edges) {
  std::sort(edges.begin(), edges.end());
  return edges;
}

/// The edges of a list, by destination, source and id.
inline NaiveEdges naive_from_edges(const battery::GrowingEdges& list) {
  NaiveEdges edges;
  for (std::size_t k = 0; k < list.sources.size(); ++k)
    edges.push_back({list.destinations[k], list.sources[k], static_cast<EdgeId>(k)});
  return sorted(std::move(edges));
}

struct RandomCase {
  std::int64_t rows = 0, cols = 0;
  battery::GrowingEdges list;
};

/// A small list with many chances for duplicates, self-loops and empty rows; sometimes sorted, sometimes
/// with far more sources than edges.
inline RandomCase random_case(std::uint64_t seed, bool square) {
  battery::SmallRandom random(seed);
  RandomCase result;
  result.rows = 1 + random.below(30);
  result.cols = square ? result.rows : random.below(8) == 0 ? 5000 : 1 + random.below(30);
  const std::int64_t edges = random.below(4) == 0 ? random.below(4) : random.below(200);
  NaiveEdges drawn;
  for (std::int64_t k = 0; k < edges; ++k) {
    const auto row = static_cast<NodeId>(random.below(result.rows));
    drawn.push_back({row, static_cast<NodeId>(random.below(result.cols)), 0});
  }
  if (random.below(5) == 0) std::sort(drawn.begin(), drawn.end());
  for (const NaiveEdge& edge : drawn) result.list.add(edge.col, edge.row);
  return result;
}

/// A graph of the case's edges with rows in any order and ids that are a random permutation.
inline Graph shuffled_rows(const RandomCase& from, std::uint64_t seed) {
  battery::SmallRandom random(seed);
  NaiveEdges edges = naive_from_edges(from.list);
  for (std::size_t k = edges.size(); k > 1; --k)
    std::swap(edges[k - 1], edges[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(k)))]);
  std::stable_sort(edges.begin(), edges.end(), [](const NaiveEdge& a, const NaiveEdge& b) { return a.row < b.row; });
  struct Arrays {
    std::vector<EdgeId> offsets, ids;
    std::vector<NodeId> cols;
  };
  auto arrays = std::make_shared<Arrays>();
  arrays->offsets.assign(static_cast<std::size_t>(from.rows) + 1, 0);
  for (const NaiveEdge& edge : edges) {
    ++arrays->offsets[static_cast<std::size_t>(edge.row) + 1];
    arrays->cols.push_back(edge.col);
    arrays->ids.push_back(edge.id);
  }
  for (std::size_t v = 1; v < arrays->offsets.size(); ++v) arrays->offsets[v] += arrays->offsets[v - 1];
  return Graph::adopt(from.rows, from.cols, arrays->offsets, arrays->cols, arrays->ids, arrays);
}

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// All cores again when a test that sets the number of threads ends.
struct ThreadsRestored {
  ~ThreadsRestored() { set_default_threads(0); }
};

}  // namespace weft::test
