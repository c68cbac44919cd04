// A graph as plain arrays, so that the kernels' tests stand without the graph layer.
#pragma once

#include <utility>
#include <vector>

#include "kernels/signatures.hpp"

namespace weft::test {

struct RawGraph {
  std::vector<EdgeId> offsets;
  std::vector<NodeId> cols;
  std::vector<EdgeId> edge_ids;
  std::int64_t num_cols = 0;

  GraphView view() const {
    GraphView view;
    view.num_rows = static_cast<std::int64_t>(offsets.size()) - 1;
    view.num_cols = num_cols;
    view.num_edges = static_cast<std::int64_t>(cols.size());
    view.offsets = offsets.data();
    view.cols = cols.data();
    view.edge_ids = edge_ids.empty() ? nullptr : edge_ids.data();
    return view;
  }
};

/// Row 0: sources 0 and 2 (edge ids 3 and 1); row 1: none; row 2: source 1 twice, then 0 (ids 0, 4, 2).
inline RawGraph five_edges() { return {{0, 2, 2, 5}, {0, 2, 1, 1, 0}, {3, 1, 0, 4, 2}, 3}; }

inline Operand scalars(const std::vector<double>& values) { return {values.data(), Dtype::f64, 1, 0, 0}; }
inline Operand vectors(const std::vector<double>& values, std::int64_t width) {
  return {values.data(), Dtype::f64, width, 0, 1};
}
/// [n, heads, 1]
inline Operand heads(const std::vector<double>& values, std::int64_t count) {
  return {values.data(), Dtype::f64, count, 1, 0};
}
/// [n, heads, width]
inline Operand blocks(const std::vector<double>& values, std::int64_t count, std::int64_t width) {
  return {values.data(), Dtype::f64, count * width, width, 1};
}
inline Result output(std::vector<double>& values, std::int64_t row_size) {
  return {values.data(), Dtype::f64, row_size};
}

}  // namespace weft::test
