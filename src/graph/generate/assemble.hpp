// From rows that can be computed, or edges that can be drawn by number, to a Graph. Computed rows
// need no memory but the result's; drawn edges are held once, 8 bytes each, while they are sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/scan.hpp"
#include "weft/graph.hpp"

namespace weft::generator {

/// Rows a task: enough to pay for starting it, few enough to even out hub rows.
inline constexpr std::int64_t row_grain = 1024;

/// `rows` + 1 zeros.
Buffer<EdgeId> zero_offsets(std::int64_t rows);
/// A square graph over arrays that are known to be right.
Graph own_graph(Buffer<EdgeId> offsets, Buffer<NodeId> cols);

struct Edge {
  NodeId row, col;
};

/// A first sort of drawn edges into buckets of neighbouring rows, so that the second works in cache:
/// counting and scattering straight to the rows with atomics took half as long again at 16 M edges.
class EdgeBuckets {
 public:
  EdgeBuckets(std::int64_t nodes, std::int64_t pieces);

  std::int64_t& count(std::int64_t piece, NodeId row) { return next_[piece * buckets_ + (row >> shift_)]; }
  /// Call once all pieces are counted; then `put` each piece's edges.
  void allocate();
  void put(std::int64_t piece, Edge edge) { edges_[count(piece, edge.row)++] = edge; }
  /// Rows sorted, without duplicates. Uses up the buckets.
  Graph finish();

 private:
  std::int64_t nodes_, pieces_, buckets_;
  int shift_;
  Buffer<std::int64_t> next_;   // [piece][bucket]: edges counted, then where the next one goes
  Buffer<std::int64_t> begin_;  // [bucket]
  Buffer<Edge> edges_;
};

/// Row i has length(i) columns, which fill(i, out) writes in ascending order.
template <class Length, class Fill>
Graph graph_from_rows(std::int64_t nodes, Length&& length, Fill&& fill) {
  const int threads = default_threads();
  Buffer<EdgeId> offsets = zero_offsets(nodes);
  parallel_ranges(threads, nodes, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) offsets[i + 1] = length(i);
  });
  counts_to_offsets({offsets.data(), offsets.size()});
  Buffer<NodeId> cols(offsets[nodes], "a generated graph's columns");
  parallel_ranges(threads, nodes, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fill(i, cols.data() + offsets[i]);
  });
  return own_graph(std::move(offsets), std::move(cols));
}

/// Edge k of `draws` is draw(k); self-loops are dropped, duplicates too. The edges are drawn twice,
/// once to count and once to store: drawing costs less than keeping a second list.
template <class Draw>
Graph graph_from_draws(std::int64_t nodes, std::int64_t draws, Draw&& draw) {
  const int threads = default_threads();
  const std::int64_t pieces = std::clamp<std::int64_t>(draws >> 14, 1, std::int64_t{threads} * 8);
  const auto border = [&](std::int64_t i) { return draws / pieces * i + std::min(i, draws % pieces); };
  EdgeBuckets buckets(nodes, pieces);
  parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
    for (std::int64_t k = border(piece); k < border(piece + 1); ++k) {
      const Edge edge = draw(k);
      if (edge.row != edge.col) ++buckets.count(piece, edge.row);
    }
  });
  buckets.allocate();
  parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
    for (std::int64_t k = border(piece); k < border(piece + 1); ++k) {
      const Edge edge = draw(k);
      if (edge.row != edge.col) buckets.put(piece, edge);
    }
  });
  return buckets.finish();
}

}  // namespace weft::generator
