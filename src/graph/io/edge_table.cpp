#include "graph/io/edge_table.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/check.hpp"
#include "graph/io/delimited.hpp"
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

bool fits_float(double weight) {
  return !std::isfinite(weight) || std::abs(weight) <= static_cast<double>(std::numeric_limits<float>::max());
}

template <class Id>
EdgeTable<Id> read_edges(TextBlocks&& blocks, const EdgeText& layout, const Progress& progress) {
  const EdgeColumns& columns = layout.columns;
  EdgeTable<Id> table;
  std::atomic<bool> too_large{false};
  const auto check_bits = [&] { WEFT_CHECK(!too_large.load(), unsupported, "an id has more than 31 bits"); };
  const auto grow = [&](std::int64_t rows, std::int64_t room, std::int64_t kept) {
    check_bits();
    grow_to(table.ends, 2 * rows, 2 * room, 2 * kept, "ids of a list of edges");
    if (columns.weight >= 0) grow_to(table.weights, rows, room, kept, "weights of a list of edges");
  };
  const auto line = [&](TextCursor& cursor, std::int64_t row, std::string_view text, TextFault& fault) {
    const char* const start = cursor.position();
    const auto wrong = [&] {
      fault = {start, fmt::format("found {}: expected {}, as in the first line", quoted(rest_of_line(text, start)),
                                  columns.expected())};
      return false;
    };
    for (int c = 0; c < columns.count; ++c) {
      if (c > 0 && layout.delimiter != ' ' && !cursor.skip_separator()) return wrong();
      cursor.skip_blanks();
      if (layout.delimiter == ' ' && cursor.at_line_end()) return wrong();
      if (c == columns.source || c == columns.target) {
        std::int64_t id = 0;
        if (!read_id(cursor, id)) return wrong();
        if (id < 0) {
          fault = {start, fmt::format("found the id {}: expected 0 to {}", id, INT64_MAX)};
          return false;
        }
        if (std::is_same_v<Id, std::int32_t> && static_cast<std::int32_t>(id) != id)
          too_large.store(true, std::memory_order_relaxed);
        if (row >= 0) table.ends[static_cast<std::size_t>(2 * row + (c == columns.target))] = static_cast<Id>(id);
      } else if (c == columns.weight) {
        double weight = 0;
        if (!cursor.read_real(weight) || !fits_float(weight)) return wrong();
        if (row >= 0) table.weights[static_cast<std::size_t>(row)] = static_cast<float>(weight);
      } else {
        cursor.skip_field();
      }
    }
    cursor.skip_blanks();
    return cursor.at_line_end() || wrong();
  };
  // Ids take a byte each, and a delimiter or the line's end stands behind every column.
  const RowText rows{layout.delimiter, edge_comments, columns.count + 2, layout.skip};
  table.rows = read_rows(blocks, rows, progress, grow, line);
  check_bits();
  return table;
}

template EdgeTable<std::int32_t> read_edges(TextBlocks&&, const EdgeText&, const Progress&);
template EdgeTable<std::int64_t> read_edges(TextBlocks&&, const EdgeText&, const Progress&);

}  // namespace weft::io
