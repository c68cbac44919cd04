// Who works on which edges, on the CPU. Tasks are ranges of edges of even cost. A row longer than
// `piece_edges` is cut at multiples of it, counted from the row's own first edge, and every piece has
// a staging slot: what a piece holds depends on its row alone, never on tasks or threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"

namespace weft {

/// Edges a kernel sums in order before it unites partial sums pairwise: with 16 the error stays under
/// (ceil(log2 degree) + 4) * 2^-23 of the absolute sum for any input.
inline constexpr std::int64_t block_edges = 16;
/// A power of two times block_edges, so that a piece is a whole subtree of its row's summation tree.
inline constexpr std::int64_t piece_edges = 1024;

struct Cut {
  std::int64_t row = 0;  // the first row that is not finished before this cut
  EdgeId edge = 0;       // its first edge behind the cut; offsets[row] where the row is untouched
  friend bool operator==(const Cut&, const Cut&) = default;
};

/// How the tasks of a plan are handed to threads.
inline TaskOrder task_order(const Plan& plan) {
  return plan.assignment == Assignment::round_robin ? TaskOrder::round_robin : TaskOrder::next_free;
}

/// Edges [begin, end) of one row: all of it (slot < 0), or the piece that staging slot stands for.
struct Run {
  std::int64_t row = 0;
  EdgeId begin = 0, end = 0;
  std::int64_t slot = -1;
};

struct LongRow {
  std::int64_t row = 0;
  std::int64_t first_slot = 0;
};

/// The long rows of a graph; the same for every partition of it.
struct LongRows {
  std::vector<LongRow> rows;  // ascending
  std::int64_t slots = 0;

  std::int64_t pieces(std::size_t i) const {
    return (i + 1 < rows.size() ? rows[i + 1].first_slot : slots) - rows[i].first_slot;
  }
  std::int64_t first_slot(std::int64_t row) const {
    return std::lower_bound(rows.begin(), rows.end(), row, [](const LongRow& a, std::int64_t b) { return a.row < b; })
        ->first_slot;
  }
};
LongRows find_long_rows(const GraphView& graph, int threads);

struct Partition {
  std::vector<Cut> cuts;  // tasks + 1
  std::shared_ptr<const LongRows> long_rows;

  std::int64_t tasks() const { return static_cast<std::int64_t>(cuts.size()) - 1; }

  /// Calls visit(Run) for every row, empty ones too, and every piece of a long row in the task.
  template <class Visit>
  void for_each_run(const GraphView& graph, std::int64_t task, Visit&& visit) const {
    const Cut from = cuts[static_cast<std::size_t>(task)], to = cuts[static_cast<std::size_t>(task) + 1];
    EdgeId edge = from.edge;
    for (std::int64_t row = from.row; row <= to.row; ++row) {
      const bool last = row == to.row;
      if (last && to.edge == edge) break;  // the border stands in front of this row, or nothing is left
      const EdgeId row_begin = graph.offsets[row], row_end = last ? to.edge : graph.offsets[row + 1];
      const bool is_long = graph.offsets[row + 1] - row_begin > piece_edges;
      std::int64_t slot = is_long ? long_rows->first_slot(row) + (edge - row_begin) / piece_edges : -1;
      do {  // an empty row is one empty run
        const EdgeId end = is_long ? std::min(edge + piece_edges, row_end) : row_end;
        visit(Run{row, edge, end, slot});
        edge = end;
        slot += is_long;
      } while (edge < row_end);
    }
  }

  /// Work of a task in units of one edge; a row weighs as much as an edge.
  std::int64_t cost(std::int64_t task) const {
    const Cut& from = cuts[static_cast<std::size_t>(task)];
    const Cut& to = cuts[static_cast<std::size_t>(task) + 1];
    return to.edge - from.edge + to.row - from.row;
  }
};

Partition make_partition(const GraphView& graph, ScheduleKind schedule, std::int64_t tasks,
                         std::shared_ptr<const LongRows> long_rows);

}  // namespace weft
