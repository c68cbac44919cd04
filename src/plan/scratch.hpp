// The scratch memory of every CPU operator: one function sizes it while planning (over a counting
// arena) and carves it while running, so the two cannot disagree.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "plan/partition.hpp"
#include "weft/context.hpp"
#include "weft/plan.hpp"

namespace weft {

/// Partial sums waiting to be united: level i holds the sum of 2^i blocks (or pieces). Enough levels
/// for any row of a graph that fits 63-bit edge counts would waste memory, so they follow the degree.
inline int tree_levels(std::int64_t leaves) { return std::bit_width(static_cast<std::uint64_t>(leaves)) + 1; }

/// Elements from one thread's part to the next: whole pairs of cache lines, or threads that write side by side
/// take the line from each other at every row.
inline std::int64_t thread_stride(std::int64_t elements) { return (elements + 31) / 32 * 32; }

/// What a kernel that reduces rows needs, in the accumulator type.
template <class Acc>
struct RowScratch {
  std::span<Acc> levels;         // [threads, levels per thread, row]
  std::span<Acc> staged;         // [threads, block_edges, heads * 2 + row]: edge scalars and messages of one block
  std::span<Acc> bias;           // [row]
  std::span<Acc> scaled;         // [plan.cpu().scaled_rows, row]: sources times their scale
  std::span<Acc> slots;          // [pieces, row]: results of the pieces of long rows
  std::span<std::int32_t> args;  // [threads, row]: winning edge of a piece, counted from its start
  std::span<EdgeId> slot_args;   // [pieces, row]
  int levels_per_thread = 0;
  std::int64_t row = 0, heads = 0;
  std::int64_t level_stride = 0, stage_stride = 0, arg_stride = 0;  // from thread to thread

  static RowScratch take(Arena& arena, const Plan& plan) {
    const auto threads = static_cast<std::size_t>(plan.cpu().threads);
    const auto pieces = static_cast<std::size_t>(plan.cpu().pieces);
    const bool extremum = is_extremum(plan.desc.reduce);
    RowScratch s;
    s.row = plan.desc.heads * plan.desc.width;
    s.heads = plan.desc.heads;
    const auto row_size = static_cast<std::size_t>(s.row);
    s.levels_per_thread = std::max(tree_levels(piece_edges / block_edges), tree_levels(plan.cpu().pieces));
    s.level_stride = thread_stride(s.levels_per_thread * s.row);
    s.stage_stride = thread_stride(block_edges * (2 * s.heads + s.row));
    s.arg_stride = thread_stride(s.row);
    s.levels = arena.take<Acc>(threads * static_cast<std::size_t>(s.level_stride), "partial sums");
    s.staged = arena.take<Acc>(threads * static_cast<std::size_t>(s.stage_stride), "staged edges");
    s.bias = arena.take<Acc>(row_size, "the bias");
    s.scaled = arena.take<Acc>(static_cast<std::size_t>(plan.cpu().scaled_rows) * row_size, "scaled sources");
    s.slots = arena.take<Acc>(pieces * row_size, "pieces of long rows");
    if (extremum) {
      s.args = arena.take<std::int32_t>(threads * static_cast<std::size_t>(s.arg_stride), "winning edges");
      s.slot_args = arena.take<EdgeId>(pieces * row_size, "winning edges of long rows");
    }
    return s;
  }

  Acc* level(int thread, int i) const { return levels.data() + thread * level_stride + i * row; }
  Acc* stage(int thread) const { return staged.data() + thread * stage_stride; }
  Acc* slot(std::int64_t i) const { return slots.data() + i * row; }
  std::int32_t* arg(int thread) const { return args.data() + thread * arg_stride; }
  EdgeId* slot_arg(std::int64_t i) const { return slot_args.data() + i * row; }
};

/// What softmax needs, and attention beside the sums of rows. What edges have for each head stands side by side,
/// [edges, step], so that vectors are full where rows are short; what a row has is repeated to the length of a vector.
template <class Acc>
struct HeadScratch {
  static constexpr std::int64_t most_lanes = 256 / sizeof(Acc);  // of any instruction set's vectors
  static constexpr int rows_of_heads = 3;                        // a thread's, to name by the caller

  std::span<Acc> by_edge;  // [threads, lines, piece_edges, step], and a vector's room behind each line
  std::span<Acc> by_row;   // [threads, rows_of_heads, period]
  std::span<Acc> maxima;   // [pieces, period]
  std::span<Acc> sums;     // [pieces, period]
  std::span<Acc> head_of;  // attention's [heads * width], whole numbers of an accumulator's size: each feature's head
  std::int64_t heads = 0, step = 0, period = 0, line_stride = 0;
  int lines = 0;

  static HeadScratch take(Arena& arena, const Plan& plan) {
    const auto threads = static_cast<std::size_t>(plan.cpu().threads);
    const auto pieces = static_cast<std::size_t>(plan.cpu().pieces);
    HeadScratch s;
    s.heads = plan.desc.heads;
    s.step = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(s.heads)));
    s.period = std::max(s.step, most_lanes);
    const bool attends = plan.desc.kind == OpKind::attention;
    s.lines = attends && plan.desc.backward ? 6 : 2;
    s.line_stride = thread_stride(piece_edges * s.step + most_lanes);
    const auto period = static_cast<std::size_t>(s.period);
    s.by_edge = arena.take<Acc>(threads * static_cast<std::size_t>(s.lines * s.line_stride), "what edges have a head");
    s.by_row = arena.take<Acc>(threads * rows_of_heads * period, "what rows have a head");
    s.maxima = arena.take<Acc>(pieces * period, "maxima of pieces");
    s.sums = arena.take<Acc>(pieces * period, "sums of pieces");
    const auto features = static_cast<std::size_t>(plan.desc.heads * plan.desc.width);
    s.head_of = arena.take<Acc>(attends ? features : 0, "heads of features");
    return s;
  }

  Acc* line(int thread, int i) const { return by_edge.data() + (std::int64_t{thread} * lines + i) * line_stride; }
  Acc* row(int thread, int i) const { return by_row.data() + (std::int64_t{thread} * rows_of_heads + i) * period; }
  Acc* piece_max(std::int64_t slot) const { return maxima.data() + slot * period; }
  Acc* piece_sum(std::int64_t slot) const { return sums.data() + slot * period; }
};

/// Exact bytes of workspace the planned operator carves.
std::size_t scratch_bytes(const Plan& plan);

}  // namespace weft
