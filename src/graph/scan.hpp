// Passes over index arrays that several files of this layer share. Every one gives the same answer
// for any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "weft/types.hpp"

namespace weft {

/// Edges below which a second thread costs more than it saves.
inline constexpr std::int64_t scan_grain = std::int64_t{1} << 15;

/// The lowest i in [0, count) for which bad(i) holds, or `count`.
template <class Bad>
std::int64_t find_first(std::int64_t count, const Bad& bad) {
  std::atomic<std::int64_t> first{count};
  parallel_ranges(default_threads(), count, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t block = 1024;  // without a way out in the inner loop the compiler can vectorise it
    for (std::int64_t b = begin; b < end && b < first.load(std::memory_order_relaxed); b += block) {
      const std::int64_t stop = std::min(end, b + block);
      bool any = false;
      for (std::int64_t i = b; i < stop; ++i) any |= bad(i);
      if (!any) continue;
      std::int64_t i = b;
      while (!bad(i)) ++i;
      std::int64_t seen = first.load(std::memory_order_relaxed);
      while (i < seen && !first.compare_exchange_weak(seen, i, std::memory_order_relaxed)) {
      }
      return;
    }
  });
  return first.load();
}

/// The row that holds stored edge k; empty rows hold none.
inline std::int64_t row_of_edge(const EdgeId* offsets, std::int64_t num_rows, EdgeId k) {
  return std::upper_bound(offsets, offsets + num_rows + 1, k) - offsets - 1;
}

/// visit(row, first, last) for every run of edges of one row within [begin, end), in order. Cutting
/// the work by edges instead of rows keeps a hub row from holding up one thread.
template <class Visit>
void for_each_run(const EdgeId* offsets, std::int64_t num_rows, EdgeId begin, EdgeId end, Visit&& visit) {
  if (begin >= end) return;
  for (std::int64_t row = row_of_edge(offsets, num_rows, begin); begin < end; ++row) {
    const EdgeId last = std::min(end, offsets[row + 1]);
    if (begin < last) visit(static_cast<NodeId>(row), begin, last);
    begin = std::max(begin, last);
  }
}

/// The same over all edges, in parallel: visit may be called for several parts of one row at once.
template <class Visit>
void parallel_runs(const EdgeId* offsets, std::int64_t num_rows, EdgeId num_edges, const Visit& visit) {
  parallel_ranges(default_threads(), num_edges, scan_grain,
                  [&](std::int64_t begin, std::int64_t end) { for_each_run(offsets, num_rows, begin, end, visit); });
}

/// body(begin, end) over ranges of rows that hold about equally many edges and rows together.
template <class F>
void parallel_row_ranges(const EdgeId* offsets, std::int64_t num_rows, const F& body) {
  const EdgeId num_edges = offsets[num_rows];
  const int threads = default_threads();
  const std::int64_t work = num_edges + num_rows;
  const std::int64_t pieces = std::clamp<std::int64_t>(work / scan_grain, 1, std::int64_t{threads} * 8);
  const auto border = [&](std::int64_t piece) {
    const std::int64_t wanted = work / pieces * piece + std::min(piece, work % pieces);
    std::int64_t low = 0, high = num_rows;  // the first row before which there is at least this much work
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (offsets[middle] + middle < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
    const std::int64_t begin = piece == 0 ? 0 : border(piece);
    const std::int64_t end = piece + 1 == pieces ? num_rows : border(piece + 1);
    if (begin < end) body(begin, end);
  });
}

/// On entry values[i + 1] is the count of i; on return values[i] is the sum of the counts before i.
inline EdgeId counts_to_offsets(std::span<EdgeId> values) {
  const std::int64_t count = static_cast<std::int64_t>(values.size()) - 1;
  const int threads = default_threads();
  const std::int64_t pieces = std::clamp<std::int64_t>(count / scan_grain, 1, threads);
  const auto border = [&](std::int64_t i) { return 1 + count / pieces * i + std::min(i, count % pieces); };
  std::vector<EdgeId> sums(static_cast<std::size_t>(pieces) + 1, 0);
  parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
    EdgeId sum = 0;
    for (std::int64_t i = border(piece); i < border(piece + 1); ++i) sum += values[static_cast<std::size_t>(i)];
    sums[static_cast<std::size_t>(piece) + 1] = sum;
  });
  for (std::size_t piece = 1; piece < sums.size(); ++piece) sums[piece] += sums[piece - 1];
  values[0] = 0;
  parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
    EdgeId sum = sums[static_cast<std::size_t>(piece)];
    for (std::int64_t i = border(piece); i < border(piece + 1); ++i) sum = values[static_cast<std::size_t>(i)] += sum;
  });
  return sums.back();
}

}  // namespace weft
