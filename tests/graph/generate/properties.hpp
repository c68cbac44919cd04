// What the tests ask of a generated graph.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "weft/graph.hpp"

namespace weft::test {

/// FNV-1a over the offsets and columns, a 64-bit word at a time.
inline std::uint64_t fingerprint(const Graph& graph) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::int64_t value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3; };
  for (const EdgeId offset : graph.offsets()) add(offset);
  for (const NodeId col : graph.cols()) add(col);
  return hash;
}

/// Valid, square, and every row strictly ascending without the row itself.
inline void expect_simple(const Graph& graph) {
  ASSERT_NO_THROW(validate(graph.view()));
  ASSERT_TRUE(graph.is_square());
  EXPECT_FALSE(graph.has_edge_ids());
  const GraphView g = graph.view();
  std::int64_t loops = 0, unsorted = 0;
  for (std::int64_t row = 0; row < g.num_rows; ++row) {
    for (EdgeId k = g.offsets[row]; k < g.offsets[row + 1]; ++k) {
      loops += g.cols[k] == row;
      unsorted += k > g.offsets[row] && g.cols[k] <= g.cols[k - 1];
    }
  }
  EXPECT_EQ(loops, 0) << "self-loops";
  EXPECT_EQ(unsorted, 0) << "duplicates or columns out of order";
}

inline bool is_symmetric(const Graph& graph) {
  const GraphView g = graph.view();
  for (std::int64_t row = 0; row < g.num_rows; ++row)
    for (EdgeId k = g.offsets[row]; k < g.offsets[row + 1]; ++k)
      if (!std::binary_search(g.cols + g.offsets[g.cols[k]], g.cols + g.offsets[g.cols[k] + 1],
                              static_cast<NodeId>(row)))
        return false;
  return true;
}

inline std::vector<std::int64_t> in_degrees(const Graph& graph) {
  std::vector<std::int64_t> degrees;
  for (std::int64_t row = 0; row < graph.num_rows(); ++row)
    degrees.push_back(graph.offsets()[row + 1] - graph.offsets()[row]);
  return degrees;
}

/// Sets the number of threads for one scope.
class WithThreads {
 public:
  explicit WithThreads(int threads) { set_default_threads(threads); }
  ~WithThreads() { set_default_threads(0); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
};

}  // namespace weft::test
