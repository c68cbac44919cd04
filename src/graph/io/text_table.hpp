// Lines of numbers, parsed on all threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/memory.hpp"
#include "graph/io/text_blocks.hpp"
#include "weft/progress.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

struct TableLayout {
  int columns = 1;
  char separator = ' ';                              // between columns; blanks may stand around it
  std::string_view comments = "#";                   // lines that start with one of these are skipped, and empty ones
  std::string_view expected;                         // of a line, for people: "a source and a target"
  std::int64_t least = INT64_MIN, most = INT64_MAX;  // of the numbers
};

template <class Value>
struct Table {
  std::int64_t rows = 0;
  int columns = 1;
  std::size_t text_bytes = 0;  // that they were read from, unpacked
  Buffer<Value> values;        // [rows, columns], and where text came in blocks room for more
  std::span<const Value> all() const { return {values.data(), static_cast<std::size_t>(rows * columns)}; }
};

/// Integers. Of std::int32_t only what fits: an Error with the code `unsupported` says that some number does not.
template <class Value>
Table<Value> read_integers(TextBlocks&& text, const TableLayout& layout, const Progress& progress);

/// Numbers as f32 [lines, width], the width being that of the first line; `nan`, or nothing between two separators, is
/// NaN. layout.columns 0: any width of at least 1.
Tensor read_reals(TextBlocks&& text, const TableLayout& layout, const Progress& progress);

}  // namespace weft::io
