// From rows that can be computed, or edges that can be drawn by number, to a Graph. Computed rows
// need no memory but the result's; drawn edges are held once, 8 bytes each, while they are sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/generate/ticker.hpp"
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
  /// Rows sorted, without duplicates. Uses up the buckets; the ticker gets every edge once.
  Graph finish(Ticker& ticker);

 private:
  std::int64_t nodes_, pieces_, buckets_;
  int shift_;
  Buffer<std::int64_t> next_;   // [piece][bucket]: edges counted, then where the next one goes
  Buffer<std::int64_t> begin_;  // [bucket]
  Buffer<Edge> edges_;
};

/// Row i has length(i) columns, which fill(i, out) writes in ascending order.
template <class Length, class Fill>
Graph graph_from_rows(std::int64_t nodes, const Progress& progress, Length&& length, Fill&& fill) {
  const int threads = default_threads();
  Ticker ticker(progress, nodes, 2);
  Buffer<EdgeId> offsets = zero_offsets(nodes);
  parallel_ranges(threads, nodes, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) offsets[i + 1] = length(i);
    ticker.add(end - begin);
  });
  counts_to_offsets({offsets.data(), offsets.size()});
  Buffer<NodeId> cols(offsets[nodes], "a generated graph's columns");
  parallel_ranges(threads, nodes, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fill(i, cols.data() + offsets[i]);
    ticker.add(end - begin);
  });
  ticker.end();
  return own_graph(std::move(offsets), std::move(cols));
}

/// Edge k of `draws` is draw(k); self-loops are dropped, duplicates too. The edges are drawn twice,
/// once to count and once to store: drawing costs less than keeping a second list.
template <class Draw>
Graph graph_from_draws(std::int64_t nodes, std::int64_t draws, const Progress& progress, Draw&& draw) {
  const int threads = default_threads();
  const std::int64_t pieces = std::clamp<std::int64_t>(draws >> 14, 1, std::int64_t{threads} * 8);
  const auto border = [&](std::int64_t i) { return draws / pieces * i + std::min(i, draws % pieces); };
  Ticker ticker(progress, draws, 3);  // counted, stored, sorted
  EdgeBuckets buckets(nodes, pieces);
  const auto each = [&](const auto& visit) {
    parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
      constexpr std::int64_t block = 1 << 18;  // some milliseconds
      for (std::int64_t begin = border(piece); begin < border(piece + 1); begin += block) {
        const std::int64_t end = std::min(begin + block, border(piece + 1));
        for (std::int64_t k = begin; k < end; ++k) {
          const Edge edge = draw(k);
          if (edge.row != edge.col) visit(piece, edge);
        }
        ticker.add(end - begin);
      }
    });
  };
  each([&](std::int64_t piece, Edge edge) { ++buckets.count(piece, edge.row); });
  buckets.allocate();
  each([&](std::int64_t piece, Edge edge) { buckets.put(piece, edge); });
  Graph graph = buckets.finish(ticker);
  ticker.end();
  return graph;
}

}  // namespace weft::generator
