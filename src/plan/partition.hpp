// Who works on which edges, on the CPU. Tasks are ranges of edges of even cost. A row longer than
// `piece_edges` is cut at multiples of it, counted from the row's own first edge, and every piece has
// a staging slot: what a piece holds depends on its row alone, never on tasks or threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/parallel.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"

namespace weft {

/// Edges a kernel sums in order before it unites partial sums pairwise: with 16 the error stays under
/// (ceil(log2 degree) + 4) * 2^-23 of the absolute sum for any input. Rows of a single feature have larger leaves of
/// as many roundings (kernels/cpu/narrow-inl.hpp).
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

/// The runs of one task: every row, empty ones too, and every piece of a long row. A range and not a function that
/// takes a visitor: kernels compiled for other instruction sets could not be inlined into one.
class Runs {
 public:
  class Iterator {
   public:
    const Run& operator*() const { return run_; }
    Iterator& operator++() {
      advance();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return done_; }

   private:
    friend class Runs;
    explicit Iterator(const Runs& runs) : runs_(runs), run_{runs.from_.row - 1, 0, runs.from_.edge, -1} { advance(); }

    void advance() {
      if (run_.slot >= 0 && run_.end < row_end_) return next_piece(run_.slot + 1);
      ++run_.row;
      run_.begin = run_.end;
      const bool last = run_.row == runs_.to_.row;
      done_ = run_.row > runs_.to_.row || (last && runs_.to_.edge == run_.begin);  // or the border stands before it
      if (done_) return;
      const EdgeId whole = runs_.offsets_[run_.row + 1];
      row_end_ = last ? runs_.to_.edge : whole;
      if (whole - runs_.offsets_[run_.row] > piece_edges) [[unlikely]] {
        const std::int64_t pieces_before = (run_.begin - runs_.offsets_[run_.row]) / piece_edges;
        return next_piece(runs_.long_rows_->first_slot(run_.row) + pieces_before);
      }
      run_.end = row_end_;
      run_.slot = -1;
    }
    void next_piece(std::int64_t slot) {
      run_.begin = run_.end;
      run_.end = std::min(run_.begin + piece_edges, row_end_);
      run_.slot = slot;
    }

    const Runs& runs_;
    Run run_;
    EdgeId row_end_ = 0;
    bool done_ = false;
  };

  Runs(const GraphView& graph, const LongRows& long_rows, Cut from, Cut to)
      : offsets_(graph.offsets), long_rows_(&long_rows), from_(from), to_(to) {}
  Iterator begin() const { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  const EdgeId* offsets_;
  const LongRows* long_rows_;
  Cut from_, to_;
};

struct Partition {
  std::vector<Cut> cuts;  // tasks + 1
  std::shared_ptr<const LongRows> long_rows;

  std::int64_t tasks() const { return static_cast<std::int64_t>(cuts.size()) - 1; }
  Runs runs(const GraphView& graph, std::int64_t task) const {
    return {graph, *long_rows, cuts[static_cast<std::size_t>(task)], cuts[static_cast<std::size_t>(task) + 1]};
  }

  /// Work of a task in units of one edge; a row weighs as much as an edge.
  std::int64_t cost(std::int64_t task) const {
    const Cut& from = cuts[static_cast<std::size_t>(task)];
    const Cut& to = cuts[static_cast<std::size_t>(task) + 1];
    return to.edge - from.edge + to.row - from.row;
  }
};

/// Calls body(runs, thread) for every task of the plan, on the plan's threads and in its order.
template <class Body>
void for_each_task(const Plan& plan, const GraphView& graph, Body&& body) {
  parallel_tasks(
      plan.cpu().threads, plan.backing.partition->tasks(),
      [&](std::int64_t task, int thread) { body(plan.backing.partition->runs(graph, task), thread); },
      task_order(plan));
}

Partition make_partition(const GraphView& graph, ScheduleKind schedule, std::int64_t tasks,
                         std::shared_ptr<const LongRows> long_rows);

}  // namespace weft
