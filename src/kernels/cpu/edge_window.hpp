// The edges of a sample as kernels read those of a graph: columns and ids side by side, some at a time. Which edges
// they are is found as the window moves over the sample's index space; nothing of the size of the edges is stored.
#pragma once

#include <algorithm>

#include "graph/sample/choice.hpp"
#include "plan/partition.hpp"

namespace weft::cpu {

class EdgeWindow {
 public:
  EdgeWindow() {}  // its arrays are filled when they are shown

  /// Whether edges [begin, end) of the index space can be read.
  bool shows(EdgeId begin, EdgeId end) const { return begin >= first_ && end <= end_; }
  /// They can afterwards: at most `room`, the first being one of `row`'s.
  void show(const GraphView& space, const SampledPlaces& sample, std::int64_t row, EdgeId begin, EdgeId end) {
    first_ = begin;
    end_ = end;
    for (EdgeId k = begin; k < end_; ++row) {
      const EdgeId row_end = std::min(end_, space.offsets[row + 1]);
      if (k >= row_end) continue;
      sample.each_place(row, space.offsets[row], k, row_end, [&](EdgeId at, EdgeId place) {
        cols_[at - begin] = space.cols[place];
        ids_[at - begin] = space.edge_id(place);
      });
      k = row_end;
    }
  }
  const NodeId* cols(EdgeId k) const { return cols_ + (k - first_); }
  const EdgeId* ids(EdgeId k) const { return ids_ + (k - first_); }

  static constexpr std::int64_t room = piece_edges + block_edges;
  /// What is shown at a time where edges are asked for block by block: seldom, and little of it in vain.
  static constexpr std::int64_t stretch = room / 4;

 private:
  EdgeId first_ = 0, end_ = 0;
  NodeId cols_[room];
  EdgeId ids_[room];
};

/// The edges of one run, in a graph or a sample of it.
struct RunEdges {
  const Run& run;
  const NodeId* cols;
  const EdgeId* ids;      // null: edge k of the run has the id run.begin + k
  std::int64_t readable;  // columns that can be asked for from the run's first on

  RunEdges(const GraphView& graph, const Run& of)
      : run(of),
        cols(graph.cols + of.begin),
        ids(graph.edge_ids != nullptr ? graph.edge_ids + of.begin : nullptr),
        readable(graph.num_edges - of.begin) {}
  RunEdges(const GraphView& graph, const SampledPlaces& sample, const Run& of, EdgeWindow& window)
      : RunEdges(graph, of) {
    if (!sample.given()) return;
    window.show(graph, sample, of.row, of.begin, of.end);
    cols = window.cols(of.begin);
    ids = window.ids(of.begin);
    readable = size();
  }
  std::int64_t size() const { return run.end - run.begin; }
  EdgeId id_of(std::int64_t k) const { return ids != nullptr ? ids[k] : run.begin + k; }
};

}  // namespace weft::cpu
