#include "graph/dataset/node_table.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "core/check.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npy_file.hpp"

namespace weft::io {
namespace {

std::shared_ptr<const DelimitedTable> open(const Source& source, const Dataset& data,
                                           std::span<const std::string_view> words, std::optional<bool> header = {}) {
  return std::make_shared<DelimitedTable>(
      source, DelimitedOptions{.header_words = words, .header = header, .most_rows = most_rows(data)});
}

/// Whether the first record of two words is a header although its words are none that weft knows: no node is called so,
/// and nothing below is what would be its word. A number is a node's id, maybe of one that has no edges.
bool is_header(const std::vector<std::string>& keys, const std::vector<std::string>& words, const NodeIndex& index) {
  return keys.size() > 1 && !whole_number(keys.front()) && index.find(keys.front()) < 0 &&
         std::find(words.begin() + 1, words.end(), words.front()) == words.end();
}

/// "column 1 ('who') has the node, column 2 ('team') its label".
std::string taken_columns(const DelimitedTable& table, int node, int word, std::string_view what) {
  return fmt::format("{} has the node, {} its {}", table.title(node), table.title(word), what);
}

/// Which columns were taken where the header does not name them.
std::string taken_note(const DelimitedTable& table, const std::string& path, int node, int word,
                       std::string_view what) {
  if (node < 0)
    return fmt::format("no column of {} is called {}: {} has the {} of the nodes in their order", path,
                       fmt::join(node_columns, " or "), table.title(word), what);
  return fmt::format("the header of {} does not name the columns as weft does: {}", path,
                     taken_columns(table, node, word, what));
}

}  // namespace

Source open_node_file(const std::string& path, const Progress& progress) {
  Source source = open_file(path);
  unpack(source, progress);
  if (!is_npy(source.text()) && !is_archive(source)) load(source, progress);
  return source;
}

std::int64_t most_rows(const Dataset& data) {
  constexpr std::int64_t always = std::int64_t{1} << 22;
  return std::max(always, 4 * data.num_nodes());
}

NodeRows rows_of(const std::string& path, std::shared_ptr<const DelimitedTable> table, int column) {
  NodeRows rows;
  rows.path = path;
  rows.count = table->rows();
  rows.place = [table](std::int64_t row) { return fmt::format("line {}", table->line(row)); };
  if (column >= 0) rows.keys = table->strings(column);
  return rows;
}

NodeWords read_node_words(const Source& source, const Dataset& data, std::span<const std::string_view> columns,
                          std::string_view what) {
  std::vector<std::string_view> known(node_columns.begin(), node_columns.end());
  known.insert(known.end(), columns.begin(), columns.end());
  auto table = open(source, data, known);
  if (table->columns() == 1) {
    // One line more than nodes, whose word is no other line's: a header, or the label of the first node?
    const std::vector<std::string> words = table->strings(0);
    const bool doubtful = !table->dialect().has_header() && table->rows() == data.num_nodes() + 1 &&
                          table->rows() > 2 && !real_number(words.front()) &&
                          std::ranges::count(words, words.front()) == 1;
    WEFT_CHECK(
        !doubtful, invalid_file,
        "it has {} lines, one more than the graph has nodes, and no line but the first is {}: if that is a header "
        "call it '{}', and else put such a line before it",
        table->rows(), in_quotes(words.front()), columns.front());
    NodeWords result{rows_of(source.path, table, -1), table->strings(0)};
    const std::vector<std::string>& names = table->dialect().names;
    if (!names.empty() && find_column(names, known) < 0)
      result.rows.note =
          fmt::format("the first line of {}, {}, is taken for a header", source.path, in_quotes(names[0]));
    return result;
  }
  // A first line such as ann,y is no header where ann is a node, although columns of labels are called y.
  if (table->dialect().has_header() && NodeIndex(data).find(table->dialect().names.front()) >= 0)
    table = open(source, data, known, false);
  int node = 0, word = 1;
  std::string note;
  if (table->dialect().has_header()) {
    const int named_node = find_column(table->dialect().names, node_columns);
    const int named_word = find_column(table->dialect().names, columns);
    node = named_node;
    word = named_word;
    if (table->columns() == 2) {  // the name of one says what the other is
      if (node < 0) node = word == 0 ? 1 : 0;
      if (word < 0) word = 1 - node;
    }
    WEFT_CHECK(word >= 0 && node != word, invalid_file,
               "none of its {} columns is called {}: name the one that has the {}", table->columns(),
               fmt::join(columns, " or "), what);
    if (named_node < 0 || named_word < 0) note = taken_note(*table, source.path, node, word, what);
  } else {
    if (table->columns() > 2) table->check_last_column();
    WEFT_CHECK(table->columns() == 2, invalid_file,
               "it has {} columns and no header: expected two, a node and its {}, or a header with a column '{}'",
               table->columns(), what, columns.front());
    const std::vector<std::string> keys = table->strings(0), words = table->strings(1);
    if (is_header(keys, words, NodeIndex(data))) {
      table = open(source, data, known, true);
      note = fmt::format("the first line of {} is taken for a header: no node is called {}; {}", source.path,
                         in_quotes(keys.front()), taken_columns(*table, node, word, what));
    }
  }
  NodeWords result{rows_of(source.path, table, node), table->strings(word)};
  result.rows.note = note;
  return result;
}

}  // namespace weft::io
