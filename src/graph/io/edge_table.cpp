#include "graph/io/edge_table.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>

#include "core/check.hpp"
#include "graph/io/delimited.hpp"
#include "graph/io/f32_text.hpp"
#include "graph/io/format.hpp"
#include "graph/io/text_rows.hpp"

namespace weft::io {
namespace {

bool read_id(TextCursor& cursor, std::int64_t& id) {
  if (cursor.read_integer(id)) return true;
  const std::optional<std::int64_t> whole = whole_number(cursor.token());
  if (whole) id = *whole;
  return whole.has_value();
}

template <class T>
void grow_to(Buffer<T>& buffer, std::int64_t needed, std::int64_t room, std::int64_t kept, std::string_view what) {
  if (needed <= static_cast<std::int64_t>(buffer.size())) return;
  Buffer<T> larger(static_cast<std::size_t>(room), what);
  std::copy_n(buffer.data(), kept, larger.data());
  buffer = std::move(larger);
}

}  // namespace

std::string EdgeColumns::expected() const {
  const std::string_view what = weight < 0 ? "a source and a target" : "a source, a target and a weight";
  return fmt::format("{} columns with {}", count, what);
}

std::string EdgeText::expected_columns(bool one_more) const {
  return fmt::format("{}, as in the first line{}", columns.expected(),
                     one_more ? fmt::format("; leave out the {} at its end", in_quotes({&delimiter, 1})) : "");
}

std::string EdgeText::expected_weight(std::string_view field) const {
  if (field.empty() && delimiter != ' ' && columns.weight == columns.count - 1)
    return fmt::format("a weight behind the {}; where edges have none, leave out the {} at the end of lines",
                       in_quotes({&delimiter, 1}), in_quotes({&delimiter, 1}));
  return expected_number(field, "a weight", expected_columns());
}

template <class Id>
EdgeTable<Id> read_edges(TextBlocks&& blocks, const EdgeText& layout, const Progress& progress) {
  const EdgeColumns& columns = layout.columns;
  EdgeTable<Id> table;
  std::atomic<bool> too_large{false};
  std::atomic<std::int64_t> rounded{0};
  const auto check_bits = [&] { WEFT_CHECK(!too_large.load(), unsupported, "an id has more than 31 bits"); };
  const auto grow = [&](std::int64_t rows, std::int64_t room, std::int64_t kept) {
    check_bits();
    grow_to(table.ends, 2 * rows, 2 * room, 2 * kept, "ids of a list of edges");
    if (columns.weight >= 0) grow_to(table.weights, rows, room, kept, "weights of a list of edges");
  };
  const auto line = [&](TextCursor& cursor, std::int64_t row, std::string_view text, TextFault& fault) {
    const char* const start = cursor.position();
    const auto wrong = [&](const std::string& expected) {
      fault = {start, fmt::format("found {}: expected {}", in_quotes(rest_of_line(text, start)), expected)};
      return false;
    };
    for (int c = 0; c < columns.count; ++c) {
      if (c > 0 && layout.delimiter != ' ' && !cursor.skip_separator()) return wrong(layout.expected_columns());
      cursor.skip_blanks();
      if (layout.delimiter == ' ' && cursor.at_line_end()) return wrong(layout.expected_columns());
      if (c == columns.source || c == columns.target) {
        std::int64_t id = 0;
        if (!read_id(cursor, id)) return wrong(layout.expected_columns());
        if (id < 0) {
          fault = {start, fmt::format("found the id {}: expected 0 to {}", id, INT64_MAX)};
          return false;
        }
        if (std::is_same_v<Id, std::int32_t> && static_cast<std::int32_t>(id) != id)
          too_large.store(true, std::memory_order_relaxed);
        if (row >= 0) table.ends[static_cast<std::size_t>(2 * row + (c == columns.target))] = static_cast<Id>(id);
      } else if (c == columns.weight) {
        double weight = 0;
        TextCursor field = cursor;
        if (!cursor.read_real(weight) || !fits_float(weight)) return wrong(layout.expected_weight(field.token()));
        if (row < 0) continue;
        table.weights[static_cast<std::size_t>(row)] = static_cast<float>(weight);
        if (std::abs(weight) > most_whole_float && rounds_whole_number(field.token(), weight))
          rounded.fetch_add(1, std::memory_order_relaxed);
      } else {
        cursor.skip_field();
      }
    }
    cursor.skip_blanks();
    if (cursor.at_line_end()) return true;
    const bool one_more = layout.delimiter != ' ' && cursor.skip_separator();
    cursor.skip_blanks();
    return wrong(layout.expected_columns(one_more && cursor.at_line_end()));
  };
  // Ids take a byte each, and a delimiter or the line's end stands behind every column.
  const RowText rows{layout.delimiter, edge_comments, columns.count + 2, layout.skip};
  table.rows = read_rows(blocks, rows, progress, grow, line);
  check_bits();
  table.rounded_weights = rounded.load();
  return table;
}

template EdgeTable<std::int32_t> read_edges(TextBlocks&&, const EdgeText&, const Progress&);
template EdgeTable<std::int64_t> read_edges(TextBlocks&&, const EdgeText&, const Progress&);

}  // namespace weft::io
