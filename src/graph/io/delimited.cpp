#include "graph/io/delimited.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.hpp"
#include "core/names.hpp"
#include "core/parallel.hpp"
#include "graph/io/f32_text.hpp"
#include "graph/io/format.hpp"
#include "graph/io/text_scan.hpp"

namespace weft::io {
namespace {

constexpr std::size_t sniffed_bytes = std::size_t{1} << 16;
constexpr int head_records = 32;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Letters and digits of a column's name, in lower case.
std::string plain_column(std::string_view name) {
  std::string plain;
  for (const char c : lower_case(name))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0) plain += c;
  return plain;
}

bool is_number(std::string_view field) {
  const std::optional<double> value = real_number(field);
  return value && !std::isnan(*value);
}

using Fields = std::vector<std::string>;

/// The first records of a text, those that a cut at its end may have shortened aside.
std::vector<Fields> first_records(std::string_view text, char delimiter, std::string_view comments) {
  const std::string_view head = text.substr(0, sniffed_bytes);
  std::vector<Fields> list;
  Records records(head, delimiter, comments);
  try {
    while (list.size() < head_records && records.next()) {
      if (records.position() == head.size() && head.size() < text.size() && !list.empty()) break;
      list.emplace_back(records.fields().begin(), records.fields().end());
    }
  } catch (const Error&) {  // a quote that is not closed: whoever reads the record says so
  }
  return list;
}

bool all_have(const std::vector<Fields>& records, std::size_t columns) {
  return std::ranges::all_of(records, [&](const Fields& fields) { return fields.size() == columns; });
}

bool is_header(const std::vector<Fields>& records, const DelimitedOptions& options) {
  if (options.header) return *options.header;
  const Fields& first = records.front();
  if (std::ranges::any_of(first, is_number)) return false;
  for (const std::string& field : first)
    for (const std::string_view word : options.header_words)
      if (same_column_name(field, word)) return true;
  if (records.size() < 2) return false;
  const Fields& second = records[1];
  for (std::size_t c = 0; c < std::min(first.size(), second.size()); ++c)
    if (!first[c].empty() && is_number(second[c])) return true;
  return false;
}

}  // namespace

std::string_view without_mark(std::string_view text) {
  WEFT_CHECK(!text.starts_with("\xff\xfe") && !text.starts_with("\xfe\xff"), unsupported,
             "it is text in UTF-16: save it as UTF-8");
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

bool Records::to_content() {
  for (; at_ < text_.size(); ++lines_) {
    std::size_t content = at_;
    while (content < text_.size() && (text_[content] == ' ' || text_[content] == '\t' || text_[content] == '\r'))
      ++content;
    const bool comment = content < text_.size() && comments_.find(text_[content]) != std::string_view::npos;
    if (content < text_.size() && text_[content] != '\n' && !comment) return true;
    const std::size_t line_end = text_.find('\n', content);
    at_ = line_end == std::string_view::npos ? text_.size() : line_end + 1;
  }
  return false;
}

void Records::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

void Records::read_quoted() {
  const std::int64_t opened = lines_ + 1;
  const std::size_t begin = ++at_;
  bool escapes = false;
  for (;; at_ += 2, escapes = true) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos)
      fail(ErrorCode::invalid_file, "line {}: found {}: expected a quote that closes the field", opened,
           in_quotes(text_.substr(begin - 1, text_.find('\n', begin) - begin + 1)));
    lines_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                         text_.begin() + static_cast<std::ptrdiff_t>(quote), '\n');
    at_ = quote;
    if (quote + 1 == text_.size() || text_[quote + 1] != '"') break;
  }
  std::string_view field = text_.substr(begin, at_ - begin);
  ++at_;
  if (escapes) {
    std::string& plain = unescaped_.emplace_back();
    for (std::size_t i = 0; i < field.size(); ++i) {
      plain += field[i];
      if (field[i] == '"') ++i;
    }
    field = plain;
  }
  fields_.push_back(field);
  const std::size_t behind = at_;
  skip_blanks();
  if (!at_line_end() && text_[at_] != delimiter_ && (delimiter_ != ' ' || behind == at_))
    fail(ErrorCode::invalid_file, "line {}: found {} behind a closing quote: expected the end of the field", lines_ + 1,
         in_quotes(text_.substr(at_, text_.find('\n', at_) - at_)));
}

void Records::read_field() {
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '"') return read_quoted();
  const std::size_t begin = at_;
  while (!at_line_end() && text_[at_] != delimiter_ && (delimiter_ != ' ' || text_[at_] != '\t')) ++at_;
  fields_.push_back(trimmed(text_.substr(begin, at_ - begin)));
}

bool Records::ends_in_delimiter() const {
  if (delimiter_ == ' ' || fields_.size() < 2 || !fields_.back().empty()) return false;
  const std::size_t last = raw().find_last_not_of(delimiter_ == '\t' ? " \r" : " \t\r");
  return last != std::string_view::npos && raw()[last] == delimiter_;
}

bool Records::next() {
  fields_.clear();
  unescaped_.clear();
  if (!to_content()) return false;
  start_ = at_;
  line_ = lines_ + 1;
  for (;;) {
    read_field();
    if (delimiter_ == ' ') skip_blanks();
    if (at_line_end()) break;
    if (delimiter_ != ' ') ++at_;
  }
  end_ = at_;
  if (end_ > start_ && text_[end_ - 1] == '\r') --end_;
  if (at_ < text_.size()) {
    ++at_;
    ++lines_;
  }
  return true;
}

Dialect dialect_of(std::string_view text, const DelimitedOptions& options) {
  struct Reading {
    Dialect dialect;
    std::vector<Fields> records;
  };
  std::optional<Reading> chosen;  // the first delimiter of any use, until one gives every record the same width
  for (const char delimiter : {'\t', ';', ',', '|', ' '}) {
    Reading reading;
    reading.dialect.delimiter = delimiter;
    reading.records = first_records(text, delimiter, options.comments);
    if (reading.records.empty()) continue;
    reading.dialect.columns = reading.records.front().size();
    const bool even = reading.dialect.columns > 1 && all_have(reading.records, reading.dialect.columns);
    if (even || !chosen || chosen->dialect.columns == 1) chosen = std::move(reading);
    if (even) break;
  }
  if (!chosen) return {};
  if (is_header(chosen->records, options)) chosen->dialect.names = chosen->records.front();
  return chosen->dialect;
}

bool same_column_name(std::string_view a, std::string_view b) { return plain_column(a) == plain_column(b); }

int find_column(std::span<const std::string> names, std::span<const std::string_view> wanted) {
  for (std::size_t c = 0; c < names.size(); ++c)
    for (const std::string_view name : wanted)
      if (same_column_name(names[c], name)) return static_cast<int>(c);
  return -1;
}

std::optional<std::int64_t> whole_number(std::string_view field) {
  TextCursor cursor(field, '\n');
  std::int64_t whole = 0;
  if (cursor.read_integer(whole)) {
    cursor.skip_blanks();
    return cursor.done() ? std::optional(whole) : std::nullopt;
  }
  const std::optional<double> real = real_number(field);
  constexpr double most = 9007199254740992.0;  // 2^53: below it every whole number is a double
  if (!real || !(std::abs(*real) <= most) || *real != std::trunc(*real)) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<double> real_number(std::string_view field) {
  field = trimmed(field);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (field.empty()) return nan;
  TextCursor cursor(field, '\n');
  double value = 0;
  if (cursor.read_real(value)) return cursor.done() ? std::optional(value) : std::nullopt;
  if (field.size() > 4) return std::nullopt;
  const std::string word = lower_case(field);
  for (const std::string_view missing : {"na", "n/a", "null", "none"})
    if (word == missing) return nan;
  return std::nullopt;
}

DelimitedTable::DelimitedTable(Source source, const DelimitedOptions& options)
    : source_(std::move(source)),
      text_(without_mark(source_.text())),
      comments_(options.comments),
      dialect_(dialect_of(text_, options)) {
  Records records(text_, dialect_.delimiter, comments_);
  if (dialect_.has_header()) records.next();
  while (records.next()) {
    const std::size_t found = records.fields().size();
    if (found != dialect_.columns)
      fail(ErrorCode::invalid_file, "line {}: found {} fields in {}: expected {}, as in the first line{}",
           records.line(), found, in_quotes(records.raw()), dialect_.columns,
           found == dialect_.columns + 1 && records.ends_in_delimiter()
               ? fmt::format("; leave out the {} at its end", in_quotes({&dialect_.delimiter, 1}))
               : "");
    WEFT_CHECK(rows() < options.most_rows, invalid_file,
               "line {}: found more than {} rows: expected about one for each node of the graph", records.line(),
               options.most_rows);
    starts_.push_back(records.start());
  }
}

void DelimitedTable::check_last_column() const {
  if (rows() == 0 || (dialect_.has_header() && !dialect_.names.back().empty())) return;
  Records records(text_.substr(starts_.front()), dialect_.delimiter, comments_);
  if (!records.next() || !records.ends_in_delimiter()) return;
  if (!std::ranges::all_of(strings(columns() - 1), &std::string::empty)) return;
  fail(ErrorCode::invalid_file,
       "line {}: found {}, and every line ends so, with an empty column that has no name: leave out the {} at the end "
       "of lines",
       line(0), in_quotes(records.raw()), in_quotes({&dialect_.delimiter, 1}));
}

std::string DelimitedTable::title(int column) const {
  const auto at = static_cast<std::size_t>(column);
  if (at >= dialect_.names.size()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} ({})", column + 1, in_quotes(dialect_.names[at]));
}

std::int64_t DelimitedTable::line(std::int64_t row) const {
  const auto start = static_cast<std::ptrdiff_t>(starts_[static_cast<std::size_t>(row)]);
  return 1 + std::count(text_.begin(), text_.begin() + start, '\n');
}

/// f(row, record) for every row, rows side by side; of several Errors the first row's is raised.
template <class F>
void DelimitedTable::each_row(const F& f) const {
  constexpr std::int64_t rows_a_task = 4096;
  const std::int64_t tasks = (rows() + rows_a_task - 1) / rows_a_task;
  std::vector<std::optional<Error>> faults(static_cast<std::size_t>(tasks));
  parallel_tasks(default_threads(), tasks, [&](std::int64_t task, int) {
    const std::int64_t begin = task * rows_a_task, end = std::min(rows(), begin + rows_a_task);
    Records records(text_.substr(starts_[static_cast<std::size_t>(begin)]), dialect_.delimiter, comments_);
    try {
      for (std::int64_t row = begin; row < end && records.next(); ++row) f(row, records);
    } catch (const Error& error) {
      faults[static_cast<std::size_t>(task)].emplace(error);
    }
  });
  for (const std::optional<Error>& fault : faults)
    if (fault) throw Error(*fault);
}

void DelimitedTable::fail_field(const Records& record, int column, std::string_view expected) const {
  const std::string_view field = record.fields()[static_cast<std::size_t>(column)];
  const auto start = record.raw().data() - text_.data();  // its own lines are counted from a task's first row
  fail(ErrorCode::invalid_file, "line {}: found {} in {}: expected {}",
       1 + std::count(text_.begin(), text_.begin() + start, '\n'), in_quotes(field), title(column), expected);
}

std::vector<std::string> DelimitedTable::strings(int column) const {
  std::vector<std::string> list(starts_.size());
  each_row([&](std::int64_t row, const Records& record) {
    list[static_cast<std::size_t>(row)] = record.fields()[static_cast<std::size_t>(column)];
  });
  return list;
}

std::vector<std::int64_t> DelimitedTable::integers(int column) const {
  std::vector<std::int64_t> list(starts_.size());
  each_row([&](std::int64_t row, const Records& record) {
    const auto value = whole_number(record.fields()[static_cast<std::size_t>(column)]);
    if (!value) fail_field(record, column, "a whole number");
    list[static_cast<std::size_t>(row)] = *value;
  });
  return list;
}

Tensor DelimitedTable::numbers(std::span<const int> columns) const {
  const auto width = static_cast<std::int64_t>(columns.size());
  Tensor table = Tensor::empty(Shape(rows(), width), Dtype::f32, "numbers of a table");
  float* const out = table.span<float>().data();
  each_row([&](std::int64_t row, const Records& record) {
    for (std::int64_t c = 0; c < width; ++c) {
      const int column = columns[static_cast<std::size_t>(c)];
      const auto value = real_number(record.fields()[static_cast<std::size_t>(column)]);
      if (!value || !fits_float(*value))
        fail_field(record, column,
                   expected_number(record.fields()[static_cast<std::size_t>(column)], "a number", "a number"));
      out[row * width + c] = static_cast<float>(*value);
    }
  });
  return table;
}

}  // namespace weft::io
