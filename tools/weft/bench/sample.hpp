// The rows a result is verified on: all of them, or on a large graph a seeded sample as a small graph
// of its own, with the operands that belong to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph.hpp"
#include "weft/tensor.hpp"

namespace weft::tool {

class Sample {
 public:
  /// All rows where edges * features <= full_work; else rows up to `sample_work`, the longest row (where it
  /// fits full_work), the first and the last among them.
  static Sample of(const Graph& graph, std::int64_t features, double full_work = 3e8, double sample_work = 3e7);

  bool everything() const { return everything_; }
  /// Rows and edges numbered within the sample; columns as in the graph.
  GraphView view() const;
  std::int64_t num_rows() const { return everything_ ? graph_.num_rows() : static_cast<std::int64_t>(rows_.size()); }
  std::int64_t num_edges() const { return everything_ ? graph_.num_edges() : static_cast<std::int64_t>(edges_.size()); }
  /// Where row i (edge i, by id) of the sample stands in the graph.
  std::int64_t row(std::int64_t i) const { return everything_ ? i : rows_[static_cast<std::size_t>(i)]; }
  std::int64_t edge(std::int64_t i) const { return everything_ ? i : edges_[static_cast<std::size_t>(i)]; }
  std::int64_t degree(std::int64_t i) const;
  /// A tensor by row (by edge) as the sample sees it: the tensor itself, or the sampled rows copied to `keep`.
  ConstTensorView by_row(const Tensor& tensor, Tensor& keep) const;
  ConstTensorView by_edge(const Tensor& tensor, Tensor& keep) const;
  /// "all rows", "4,096 of 2,449,029 rows, the longest among them".
  std::string describe() const;

 private:
  Graph graph_;
  bool everything_ = true, with_longest_ = false;
  std::vector<std::int64_t> rows_;
  std::vector<EdgeId> offsets_, edges_;
  std::vector<NodeId> cols_;
};

}  // namespace weft::tool
