// Delimited text: tables as CSV, TSV and similar files hold them, with or without a header line.
//
//   DelimitedTable table(source, {.header_words = words});
//   const int id = table.find({"node", "id"});             // by name, -1 where no column is called so
//   std::vector<std::string> names = table.strings(id);
//   Tensor features = table.numbers(columns);               // f32 [rows, columns]
//
// The dialect is found from the first lines. Delimiters are the tab, ';', ',', '|' and runs of blanks; a field that
// starts with '"' goes on to the closing quote, "" in it being one quote, and may hold delimiters and line ends. A
// UTF-8 byte order mark, carriage returns, blank lines and comment lines are skipped. Every record must have as many
// fields as the first: the first one that has not ends in an Error with its line. Reading is sequential; text of
// nothing but numbers is read faster by text_table.hpp.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/io/source.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

/// The text behind a UTF-8 byte order mark. UTF-16 ends in an Error that says to save the file as UTF-8.
std::string_view without_mark(std::string_view text);

/// Records of delimited text, one after the other.
class Records {
 public:
  /// A delimiter of ' ' is any run of blanks and tabs. Lines that start with one of `comments` are no records.
  /// `lines_before` stand in front of `text` and are counted in errors.
  Records(std::string_view text, char delimiter, std::string_view comments, std::int64_t lines_before = 0)
      : text_(text), delimiter_(delimiter), comments_(comments), lines_(lines_before) {}

  /// Moves on to the next record; false at the end. A quote that is not closed ends in an Error with its line.
  bool next();
  /// The fields without their quotes and the blanks around them; valid until next() is called.
  std::span<const std::string_view> fields() const { return fields_; }
  /// The record as it stands in the text, without its line end.
  std::string_view raw() const { return text_.substr(start_, end_ - start_); }
  /// Whether a delimiter stands at the record's end, which makes an empty field of what follows it.
  bool ends_in_delimiter() const;
  std::int64_t line() const { return line_; }
  /// Where in the text the record starts, and where what follows it does.
  std::size_t start() const { return start_; }
  std::size_t position() const { return at_; }

 private:
  bool to_content();
  void read_field();
  void read_quoted();
  void skip_blanks();
  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n'; }
  bool is_blank(char c) const { return c == '\r' || c == ' ' || (c == '\t' && delimiter_ != '\t'); }

  std::string_view text_;
  char delimiter_;
  std::string_view comments_;
  std::size_t at_ = 0, start_ = 0, end_ = 0;
  std::int64_t lines_ = 0, line_ = 0;  // line ends passed, and the line (from 1) that the record starts in
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;  // fields that had "" in them
};

struct DelimitedOptions {
  std::string_view comments = "#";
  /// Names of columns that the caller knows: a first record that has one of them is a header.
  std::span<const std::string_view> header_words = {};
  /// Whether there is a header, where the caller knows. Otherwise the first record is one if it has one of the
  /// `header_words`, or if none of its fields is a number but a field below one of them is.
  std::optional<bool> header = {};
  /// More rows are refused when they are reached, before they take memory: a small packed file may hold very many.
  std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();
};

struct Dialect {
  char delimiter = ',';            // ' ': runs of blanks and tabs
  std::vector<std::string> names;  // of the columns; empty without a header
  std::size_t columns = 0;         // fields of the first record; 0 where there is none
  bool has_header() const { return !names.empty(); }
};

/// The dialect that the first lines of a text are in; looks at no more than 64 KiB and 32 records. Of several possible
/// delimiters the first of tab, ';', ',', '|' and blanks that gives all these records the same number of fields, at
/// least two, is taken. Never an Error.
Dialect dialect_of(std::string_view text, const DelimitedOptions& options);

/// Whether two names of columns are the same, case and everything but letters and digits aside: "From Node" is
/// "from_node".
bool same_column_name(std::string_view a, std::string_view b);
/// The place of the first of `names` that is called one of `wanted`, or -1.
int find_column(std::span<const std::string> names, std::span<const std::string_view> wanted);

/// A whole number, also one that is written as a real: "7", "+7", "7.0", "7.000e+00". Numbers beyond 2^53 only as
/// digits.
std::optional<std::int64_t> whole_number(std::string_view field);
/// A real number. Nothing, "nan", "NA", "N/A", "null" and "none" in any case are NaN.
std::optional<double> real_number(std::string_view field);

/// A table of strings and numbers. It keeps its text, and 8 bytes a record.
class DelimitedTable {
 public:
  /// `source` is unpacked text in memory, as load() leaves it. Errors do not name the file: see naming_part in
  /// naming.hpp.
  explicit DelimitedTable(Source source, const DelimitedOptions& options = {});

  std::int64_t rows() const { return static_cast<std::int64_t>(starts_.size()); }  // without the header
  int columns() const { return static_cast<int>(dialect_.columns); }
  const Dialect& dialect() const { return dialect_; }
  /// The column that is called one of these, or -1; also where there is no header.
  int find(std::initializer_list<std::string_view> names) const {
    return find_column(dialect_.names, {names.begin(), names.size()});
  }
  /// For those to whom every column matters: an Error where every row ends in a delimiter, behind which there is an
  /// empty column without a name.
  void check_last_column() const;
  /// "column 3", or "column 3 ('weight')" where it has a name: for messages.
  std::string title(int column) const;
  /// The line of the file, from 1, that a row starts in.
  std::int64_t line(std::int64_t row) const;

  /// A column as it stands there.
  std::vector<std::string> strings(int column) const;
  /// A column of whole numbers. Any other field is an Error with its line.
  std::vector<std::int64_t> integers(int column) const;
  /// Columns as f32 [rows, columns], NaN where a field is missing (see real_number). Any other field that is no number
  /// is an Error with its line.
  Tensor numbers(std::span<const int> columns) const;

 private:
  template <class F>
  void each_row(const F& f) const;
  [[noreturn]] void fail_field(const Records& record, int column, std::string_view expected) const;

  Source source_;
  std::string_view text_, comments_;
  Dialect dialect_;
  std::vector<std::size_t> starts_;
};

}  // namespace weft::io
