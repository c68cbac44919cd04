// The scratch memory of sums over neighbours that are made for a product, beside the product's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dense/cpu/product.hpp"
#include "plan/scratch.hpp"

namespace weft::dense::cpu {

template <class Acc>
struct NeighbourScratch {
  std::span<Acc> levels;  // [threads, levels, k]: partial sums of one row
  std::span<Acc> staged;  // [threads, block_edges, k + 2]: weights of a block of edges
  std::span<Acc> row;     // [threads, 2, k]: a row's sum, and the row as it would be stored
  std::int64_t levels_stride = 0, staged_stride = 0, row_stride = 0;  // from thread to thread

  static NeighbourScratch take(Arena& arena, const ProductArgs& args, const NeighbourRows& rows) {
    const auto threads = static_cast<std::int64_t>(std::max(args.threads, 1));
    NeighbourScratch s;
    // Nobody has looked for the longest row: it may have all edges.
    s.levels_stride = thread_stride(tree_levels(rows.graph.num_edges / block_edges + 1) * args.k);
    s.staged_stride = thread_stride(block_edges * (2 + args.k));
    s.row_stride = thread_stride(2 * args.k);
    const auto all = [&](std::int64_t stride) { return static_cast<std::size_t>(threads * stride); };
    s.levels = arena.take<Acc>(all(s.levels_stride), "partial sums");
    s.staged = arena.take<Acc>(all(s.staged_stride), "staged edges");
    s.row = arena.take<Acc>(all(s.row_stride), "a row");
    return s;
  }
};

}  // namespace weft::dense::cpu
