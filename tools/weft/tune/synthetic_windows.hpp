// The matrices that HC-SpMM's selector is fitted to: windows with a given number of columns and non-zeros, each column
// with at least one of them, the others anywhere. A graph consists of many such windows, enough to fill a GPU, so that
// its time is theirs at full throughput.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph.hpp"

namespace weft::tool {

struct SyntheticWindow {
  int rows = 16;
  std::int64_t columns = 1, nonzeros = 1;
  std::uint64_t seed = 0;  // of the places of the non-zeros
  friend bool operator==(const SyntheticWindow&, const SyntheticWindow&) = default;
};

/// `count` kinds of windows. Those of 16 rows are the paper's: 1 to 130 columns of 1 to 15 non-zeros on average,
/// evenly. Larger ones have 1 to 512 columns of 1 to 32 non-zeros, evenly by their logarithms: what graphs have in
/// windows of one community.
std::vector<SyntheticWindow> synthetic_windows(int rows, int count, std::uint64_t seed);

/// Windows of a graph that is timed.
std::int64_t windows_of_a_graph(int rows);
/// A square graph of so many windows of consecutive rows, which gather from all over the graph. Non-zeros stand in one
/// of eight patterns.
Graph graph_of_windows(const SyntheticWindow& window, std::int64_t windows);

}  // namespace weft::tool
