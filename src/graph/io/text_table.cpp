#include "graph/io/text_table.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "core/check.hpp"
#include "graph/io/format.hpp"
#include "graph/io/text_rows.hpp"

namespace weft::io {
namespace {

TextFault fault_of(std::string_view text, const char* at, std::string_view expected) {
  return {at, fmt::format("found {}: expected {}", in_quotes(rest_of_line(text, at)), expected)};
}

bool to_next_column(TextCursor& cursor, const TableLayout& layout) {
  return layout.separator == ' ' || cursor.skip_separator();
}

}  // namespace

template <class Value>
Table<Value> read_integers(TextBlocks&& blocks, const TableLayout& layout, const Progress& progress) {
  Table<Value> table;
  table.columns = layout.columns;
  std::atomic<bool> too_large{false};
  const auto check_bits = [&] { WEFT_CHECK(!too_large.load(), unsupported, "a number has more than 31 bits"); };
  const auto grow = [&](std::int64_t rows, std::int64_t room, std::int64_t kept) {
    check_bits();
    if (rows * layout.columns <= static_cast<std::int64_t>(table.values.size())) return;
    Buffer<Value> larger(static_cast<std::size_t>(room * layout.columns), "numbers of a table");
    std::copy_n(table.values.data(), kept * layout.columns, larger.data());
    table.values = std::move(larger);
  };
  const auto line = [&](TextCursor& cursor, std::int64_t row, std::string_view text, TextFault& fault) {
    const char* const start = cursor.position();
    Value* const out = row < 0 ? nullptr : table.values.data() + row * layout.columns;
    for (int c = 0; c < layout.columns; ++c) {
      std::int64_t value = 0;
      if ((c > 0 && !to_next_column(cursor, layout)) || !cursor.read_integer(value)) {
        fault = fault_of(text, start, layout.expected);
        return false;
      }
      if (value < layout.least || value > layout.most) {
        fault = {start, fmt::format("found {}: expected {} to {}", value, layout.least, layout.most)};
        return false;
      }
      if (std::is_same_v<Value, std::int32_t> && static_cast<std::int32_t>(value) != value)
        too_large.store(true, std::memory_order_relaxed);
      if (out != nullptr) out[c] = static_cast<Value>(value);
    }
    cursor.skip_blanks();
    if (cursor.at_line_end()) return true;
    fault = fault_of(text, start, layout.expected);
    return false;
  };
  const RowText rows{layout.separator, layout.comments, 2 * layout.columns};
  table.rows = read_rows(blocks, rows, progress, grow, line);
  check_bits();
  table.text_bytes = blocks.bytes_read();
  return table;
}

template Table<std::int32_t> read_integers(TextBlocks&&, const TableLayout&, const Progress&);
template Table<std::int64_t> read_integers(TextBlocks&&, const TableLayout&, const Progress&);

namespace {

/// A number, or where columns have a separator nothing at all ("" for those who write that).
bool read_field(TextCursor& cursor, const TableLayout& layout, double& value) {
  if (cursor.read_real(value)) return true;
  value = std::numeric_limits<double>::quiet_NaN();
  if (layout.separator == ' ') return false;
  const std::string_view field = cursor.token();
  return field.empty() || field == "\"\"";
}

/// Fields of the first line.
std::int64_t width_of(std::string_view text, const TableLayout& layout) {
  TextCursor cursor(text, layout.separator);
  if (!cursor.to_content(layout.comments)) return 1;
  std::int64_t width = 0;
  double ignored = 0;
  while (read_field(cursor, layout, ignored)) {
    ++width;
    cursor.skip_blanks();
    if (cursor.at_line_end() || !to_next_column(cursor, layout)) break;
  }
  return std::max<std::int64_t>(width, 1);
}

}  // namespace

Tensor read_reals(TextBlocks&& blocks, const TableLayout& layout, const Progress& progress) {
  std::int64_t width = layout.columns, rows = 0;
  Tensor table;
  while (blocks.next()) {
    const std::string_view text = blocks.text();
    const TextChunks chunks(text, text, layout.comments, blocks.lines_before());
    if (chunks.lines() == 0) continue;
    if (width == 0) width = width_of(text, layout);
    // Nothing may stand between separators, so that only these are sure to be there, and the line's end.
    const bool keeps = has_room(text, chunks.lines(), std::max<std::int64_t>(width, 2));
    if (const std::int64_t needed = rows + chunks.lines(); keeps && (!table || needed > table.shape().rows)) {
      Tensor larger = Tensor::empty(Shape(rows_with_room(needed, blocks, std::max<std::int64_t>(width, 2)), width),
                                    Dtype::f32, "numbers of a table");
      if (rows > 0)
        std::ranges::copy(table.span<float>().first(static_cast<std::size_t>(rows * width)),
                          larger.span<float>().begin());
      table = std::move(larger);
    }
    const auto parse = [&](std::size_t i, TextFault& fault) {
      const TextChunk& chunk = chunks.chunks()[i];
      TextCursor cursor(chunk.text, layout.separator);
      float* out = keeps ? table.span<float>().data() + (rows + chunk.first) * width : nullptr;
      for (; cursor.to_content(layout.comments); cursor.next_line()) {
        const char* const start = cursor.position();
        bool read = true;
        for (std::int64_t c = 0; c < width && read; ++c) {
          double value = 0;
          read = (c == 0 || to_next_column(cursor, layout)) && read_field(cursor, layout, value);
          if (read && keeps) *out++ = static_cast<float>(value);
        }
        cursor.skip_blanks();
        if (read && cursor.at_line_end()) continue;
        fault = fault_of(text, start,
                         fmt::format("{} numbers{}", width, layout.columns > 0 ? "" : ", as in the first line"));
        return;
      }
    };
    with_block(blocks, [&] { chunks.each(within_file(blocks, progress), parse); });
    WEFT_CHECK(keeps, internal, "{} lines of {} numbers in {} bytes", chunks.lines(), width, text.size());
    rows += chunks.lines();
  }
  if (!table) return Tensor::empty(Shape(0, std::max<std::int64_t>(width, 1)), Dtype::f32, "numbers of a table");
  table.truncate(rows);
  return table;
}

}  // namespace weft::io
