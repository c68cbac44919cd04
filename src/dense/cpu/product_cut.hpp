// How a product is cut into tasks, and the scratch memory of that: functions of the sizes, never of the number of
// threads (but for how many threads have scratch memory of their own).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dense/cpu/product.hpp"

namespace weft::dense::cpu {

inline constexpr std::int64_t chunk_terms = 256;           // terms of a sum that stay in registers
inline constexpr std::int64_t tile_rows = 12;              // a multiple of every instruction set's
inline constexpr std::int64_t least_rows = 8 * tile_rows;  // of a task: what is read of b serves so many
inline constexpr std::int64_t many_rows = 4 * least_rows;  // where b's chunk is larger than the second cache
inline constexpr std::int64_t many_columns = 512;          // from here on it is
inline constexpr std::int64_t task_terms = 1 << 18;        // multiplications worth a task: some 10 us
inline constexpr std::int64_t block_elements = 1 << 16;    // of a that a task goes through at a time, read along rows
inline constexpr std::int64_t few_blocks = 8;              // below, sums are cut as well
inline constexpr std::int64_t wanted_tasks = 32;           // then
inline constexpr std::int64_t partial_elements = 1 << 21;  // of all partial sums
inline constexpr std::int64_t line_elements = 16;          // of 4 bytes

constexpr std::int64_t cut_into(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }
constexpr std::int64_t round_up(std::int64_t count, std::int64_t to) { return cut_into(count, to) * to; }

struct ProductCut {
  std::int64_t rows = 0;    // of a task
  std::int64_t blocks = 0;  // tasks side by side
  std::int64_t terms = 0;   // of a task's sums
  std::int64_t parts = 1;   // partial sums that are added in order afterwards

  explicit ProductCut(const ProductArgs& args) {
    const std::int64_t chunk = std::clamp<std::int64_t>(args.k, 1, chunk_terms);
    // Columns of a are read from rows as long as the block is wide.
    const std::int64_t wanted = args.a.transposed ? 2 * block_elements / chunk_terms
                                                  : std::min(task_terms / (args.n * chunk), block_elements / chunk);
    const std::int64_t least = args.n < many_columns ? least_rows : many_rows;
    rows = round_up(std::min(std::max(wanted, least), args.m), tile_rows);
    blocks = cut_into(args.m, rows);
    const std::int64_t task = std::max<std::int64_t>(task_terms / (std::min(rows, args.m) * args.n), 1);
    const std::int64_t most =
        blocks >= few_blocks || args.finishes
            ? 1
            : std::min({wanted_tasks / blocks, args.k / task, partial_elements / (args.m * args.n)});
    terms = round_up(cut_into(std::max<std::int64_t>(args.k, 1), std::max<std::int64_t>(most, 1)), chunk_terms);
    parts = std::max<std::int64_t>(cut_into(args.k, terms), 1);
  }
};

/// Whether c is rounded from sums that stand elsewhere.
inline bool narrows(const ProductArgs& args) { return args.c_dtype != Dtype::f32 && args.c_dtype != Dtype::f64; }

/// Whether blocks of a are copied: halves become floats; columns are gathered once instead of once per tile; and rows
/// that lie a multiple of 4096 bytes apart would all stand in the same few places of the first cache. Rows that are
/// made stand nowhere else, all their terms at a time.
inline bool copies(const ProductArgs& args) {
  const bool halves = args.dtype != Dtype::f32 && args.dtype != Dtype::f64;
  return args.makes_rows || halves || args.a.transposed ||
         args.a.ld * static_cast<std::int64_t>(size_of(args.dtype)) % 4096 == 0;
}

/// Elements a block needs however it is laid out: a cache line more for each row, or for each tile of the smallest.
constexpr std::int64_t copied_elements(std::int64_t rows, std::int64_t terms) {
  return rows * (round_up(terms, line_elements) + line_elements);
}

template <class Acc>
struct ProductScratch {
  std::span<Acc> packed;   // b's chunks: of all k, or [threads] one where sums are cut
  std::span<Acc> copied;   // [threads]: a's block of one chunk, converted or with another stride
  std::span<Acc> sums;     // [threads]: c's rows of a task where c is stored in halves, or something is left to do
  std::span<Acc> partial;  // [parts, m, n]
  std::int64_t packed_stride = 0, copied_stride = 0, sums_stride = 0;  // from thread to thread

  static ProductScratch take(Arena& arena, const ProductArgs& args, const ProductCut& cut) {
    const auto threads = static_cast<std::int64_t>(std::max(args.threads, 1));
    const auto elements = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    const std::int64_t columns = round_up(args.n, line_elements), chunk = std::min(args.k, chunk_terms);
    ProductScratch s;
    s.packed_stride = round_up(chunk * columns, line_elements);
    s.copied_stride = copied_elements(cut.rows, args.makes_rows ? args.k : chunk);
    s.sums_stride = round_up(cut.rows * args.n, line_elements);
    s.packed = arena.take<Acc>(elements(cut.parts == 1 ? args.k * columns : threads * s.packed_stride), "b, packed");
    if (copies(args)) s.copied = arena.take<Acc>(elements(threads * s.copied_stride), "blocks of a");
    if (cut.parts > 1)
      s.partial = arena.take<Acc>(elements(cut.parts * args.m * args.n), "partial sums");
    else if (narrows(args) || args.finishes)
      s.sums = arena.take<Acc>(elements(threads * s.sums_stride), "sums before they are rounded");
    return s;
  }
};

}  // namespace weft::dense::cpu
