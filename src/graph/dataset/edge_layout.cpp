#include "graph/dataset/edge_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/io/f32_text.hpp"
#include "graph/io/format.hpp"
#include "graph/io/text_chunks.hpp"
#include "graph/io/text_scan.hpp"

namespace weft::io {
namespace {

constexpr std::array<std::string_view, 12> source_words = {"source",    "src",          "from",           "u",
                                                           "source id", "src id",       "from id",        "source node",
                                                           "from node", "from node id", "source node id", "start node"};
constexpr std::array<std::string_view, 14> target_words = {
    "target",         "dst",         "to",          "v",       "target id",
    "dst id",         "to id",       "target node", "to node", "to node id",
    "target node id", "destination", "dest",        "end node"};
constexpr std::array<std::string_view, 7> weight_words = {"weight", "weights", "w",          "value",
                                                          "val",    "values",  "edge weight"};

/// A header has to name an end: other words may stand in any line.
constexpr auto end_words = [] {
  std::array<std::string_view, source_words.size() + target_words.size()> all{};
  std::ranges::copy(target_words, std::ranges::copy(source_words, all.begin()).out);
  return all;
}();

/// What pandas calls a column of row numbers.
bool is_row_number(std::string_view name) { return name.empty() || name.starts_with("Unnamed:"); }

EdgeColumns columns_of_header(const std::vector<std::string>& names, std::int64_t line) {
  EdgeColumns columns;
  columns.count = static_cast<int>(names.size());
  columns.source = find_column(names, source_words);
  columns.target = find_column(names, target_words);
  columns.weight = find_column(names, weight_words);
  if ((columns.source < 0) != (columns.target < 0)) {
    const bool found_source = columns.target < 0;
    fail(ErrorCode::invalid_file, "line {}: the header has the column {} but no {}: expected one called {}", line,
         in_quotes(names[static_cast<std::size_t>(std::max(columns.source, columns.target))]),
         found_source ? "target" : "source", found_source ? "target, dst or to" : "source, src or from");
  }
  if (columns.source >= 0) return columns;
  for (int c = 0; c < columns.count && columns.target < 0; ++c) {
    if (c == columns.weight || is_row_number(names[static_cast<std::size_t>(c)])) continue;
    (columns.source < 0 ? columns.source : columns.target) = c;
  }
  WEFT_CHECK(columns.target >= 0, invalid_file,
             "line {}: the header has {} columns: expected one called source and one called target", line,
             names.size());
  return columns;
}

/// "columns 'time' and 4 are not read"; empty where all are.
std::string unread_note(const EdgeColumns& columns, const std::vector<std::string>& names) {
  std::vector<std::string> unread;
  for (int c = 0; c < columns.count; ++c) {
    if (c == columns.source || c == columns.target || c == columns.weight) continue;
    const bool named = static_cast<std::size_t>(c) < names.size();
    if (named && is_row_number(names[static_cast<std::size_t>(c)])) continue;
    unread.push_back(named ? in_quotes(names[static_cast<std::size_t>(c)]) : fmt::to_string(c + 1));
  }
  if (unread.empty()) return {};
  if (unread.size() == 1) return fmt::format("column {} is not read", unread.front());
  std::string list;
  for (std::size_t i = 0; i < unread.size() && i < 4; ++i) list += (i == 0 ? "" : ", ") + unread[i];
  return fmt::format("columns {}{} are not read", list,
                     unread.size() > 4 ? fmt::format(" and {} more", unread.size() - 4) : "");
}

/// The text from its first line with content on.
std::string_view from_content(std::string_view text) {
  TextCursor cursor(text);
  cursor.to_content(edge_comments);
  std::size_t at = static_cast<std::size_t>(cursor.position() - text.data());
  while (at > 0 && text[at - 1] != '\n') --at;  // a first field may be empty
  return text.substr(at);
}

bool ends_in_braces(std::string_view line) {
  const std::size_t open = line.find('{'), last = line.find_last_not_of(" \t\r");
  return open != 0 && open != line.npos && last != line.npos && line[last] == '}';
}

void read_columns(EdgeLayout& layout, const Dialect& dialect, const Records& first) {
  layout.header = dialect.has_header();
  layout.delimiter = layout.record_delimiter = dialect.delimiter;
  if (layout.header) {
    layout.columns = columns_of_header(dialect.names, first.line());
  } else {
    layout.columns.count = static_cast<int>(dialect.columns);
    if (layout.columns.count < 2)
      fail(ErrorCode::invalid_file, "line {}: found {}: expected a source and a target", first.line(),
           in_quotes(first.raw()));
    constexpr int most_columns = 8;
    if (layout.columns.count > most_columns)
      fail(ErrorCode::invalid_file,
           "line {}: found {} columns: expected a source, a target and perhaps a weight and a time in each line; an "
           "edge_index of two long rows has to be transposed, as in np.savetxt(file, edge_index.T), and wider tables "
           "need "
           "a header",
           first.line(), layout.columns.count);
    if (layout.columns.count > 2) layout.columns.weight = 2;
  }
  layout.note = unread_note(layout.columns, dialect.names);
  if (layout.header && find_column(dialect.names, source_words) < 0)  // words above numbers
    add_note(layout.note, "its first line is read as a header");
}

/// Braces hold what other files have in columns: before them stand two ids.
void read_braces(EdgeLayout& layout, const Records& first) {
  const std::string_view ends = first.raw().substr(0, first.raw().find('{'));
  layout.braces = layout.by_record = true;
  layout.record_delimiter = ends.find('\t') != ends.npos ? '\t' : ends.find(',') != ends.npos ? ',' : ' ';
}

bool has_blanks_within(std::span<const std::string_view> fields) {
  return std::ranges::any_of(fields, [](std::string_view field) { return field.find(' ') != field.npos; });
}

/// "0 1 0,5" is no pair of the words '0 1 0' and '5'.
void check_decimal_comma(const Records& first) {
  Records by_blanks(first.raw(), ' ', {});
  if (!by_blanks.next() || by_blanks.fields().size() < 3) return;
  const auto fields = by_blanks.fields();
  // Between words as well, where nothing but such a number follows them.
  const bool numbers = whole_number(fields[0]) && whole_number(fields[1]);
  const std::size_t comma = fields[2].find(',');
  const bool halves =
      comma != fields[2].npos && whole_number(fields[2].substr(0, comma)) && whole_number(fields[2].substr(comma + 1));
  if (!numbers && (fields.size() != 3 || !halves)) return;
  const std::string expected = expected_number(fields[2], "a weight", "");
  if (!expected.empty())
    fail(ErrorCode::invalid_file, "line {}: found {}: expected {}", first.line(), in_quotes(first.raw()), expected);
}

}  // namespace

EdgeLayout edge_layout_of(std::string_view whole) {
  const std::string_view text = from_content(without_mark(whole));
  const std::size_t before = whole.size() - text.size();  // a byte order mark and comments
  const auto lines_before = std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(before), '\n');
  EdgeLayout layout;
  layout.skip = before;
  const bool braces = ends_in_braces(rest_of_line(text, text.data()));
  const Dialect dialect = braces ? Dialect{} : dialect_of(text, {.comments = edge_comments, .header_words = end_words});
  Records records(text, braces ? '\n' : dialect.delimiter, edge_comments, lines_before);
  if (!records.next()) return layout;
  if (braces)
    read_braces(layout, records);
  else
    read_columns(layout, dialect, records);
  if (without_mark(whole).starts_with("% bip"))  // KONECT
    add_note(layout.note, "it is bipartite, but equal numbers of both sides are taken for one node");
  layout.skip = before + (layout.header ? records.position() : records.start());
  if (layout.header && !records.next()) return layout;
  const bool quotes = text.find('"') != text.npos;
  std::string ends;  // of a line with braces
  if (braces) {
    ends = records.raw().substr(0, records.raw().find('{'));
    records = Records(ends, layout.record_delimiter, edge_comments);
    records.next();
  }
  const auto fields = records.fields();
  const auto last = static_cast<std::size_t>(std::max(layout.columns.source, layout.columns.target));
  if (last >= fields.size()) return layout;  // whoever reads the line says so
  const auto number = [&](int column) {
    const auto value = real_number(fields[static_cast<std::size_t>(column)]);
    return value && !std::isnan(*value);
  };
  layout.words = !number(layout.columns.source) || !number(layout.columns.target);
  if (layout.words && layout.record_delimiter == ',') check_decimal_comma(records);
  layout.by_record |= layout.words || quotes;
  // Numbers may have tabs and blanks between them in one file; read_edges takes either.
  if (layout.delimiter == '\t' && !layout.by_record) {
    if (has_blanks_within(fields))
      layout.by_record = true;
    else
      layout.delimiter = ' ';
  }
  return layout;
}

bool begins_as_edge_list(std::string_view whole) {
  try {
    const std::string_view text = from_content(without_mark(whole));
    const EdgeLayout layout = edge_layout_of(text);
    if (layout.header) {
      const std::vector<std::string> names =
          dialect_of(text, {.comments = edge_comments, .header_words = end_words}).names;
      return find_column(names, source_words) >= 0 && find_column(names, target_words) >= 0;
    }
    Records records(text, layout.record_delimiter, edge_comments);
    if (layout.words || !records.next()) return false;
    const auto fields = records.fields();
    if (fields.size() < 2 || !whole_number(fields[0]) || !whole_number(fields[1])) return false;
    const auto more = fields.subspan(2);
    return layout.braces || (more.size() <= 2 && std::ranges::all_of(more, [](std::string_view field) {
                               return !field.empty() && real_number(field).has_value();
                             }));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace weft::io
