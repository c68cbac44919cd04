// Reading Matrix Market. One pass counts the entries of each chunk of lines, a second parses them straight into their
// places.
#include <algorithm>
#include <limits>
#include <optional>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/parallel.hpp"
#include "graph/io/mtx_format.hpp"
#include "graph/io/note.hpp"
#include "graph/io/text_chunks.hpp"
#include "graph/io/text_scan.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
namespace {

enum class Field { real, integer, complex, pattern };
enum class Symmetry { general, symmetric, skew, hermitian };

constexpr NameTable<Field, 6> field_names = {{{Field::real, "real"},
                                              {Field::real, "double"},
                                              {Field::integer, "integer"},
                                              {Field::integer, "unsigned-integer"},
                                              {Field::complex, "complex"},
                                              {Field::pattern, "pattern"}}};
constexpr NameTable<Symmetry, 4> symmetry_names = {{{Symmetry::general, "general"},
                                                    {Symmetry::symmetric, "symmetric"},
                                                    {Symmetry::skew, "skew-symmetric"},
                                                    {Symmetry::hermitian, "hermitian"}}};

// Off-diagonal entries of a chunk, and the place of the first one's mirror.
struct Mirrored {
  std::int64_t count = 0, first = 0;
};

class Reader {
 public:
  Reader(const Source& source, const Progress& progress) : text_(source.text()), progress_(progress) {}

  Dataset read() {
    read_banner();
    read_sizes();
    count_entries();
    const std::int64_t most = symmetry_ == Symmetry::general ? entries_ : 2 * entries_;
    destinations_ = Buffer<NodeId>(static_cast<std::size_t>(most), "destination of every edge");
    sources_ = Buffer<NodeId>(static_cast<std::size_t>(most), "source of every edge");
    Dataset file;
    file.note = std::move(note_);
    switch (field_) {
      case Field::pattern: edges_ = parse<Field::pattern, char>(nullptr); break;
      case Field::integer: file.values = with_values<Field::integer, std::int64_t>(most); break;
      case Field::real: file.values = with_values<Field::real, double>(most); break;
      case Field::complex: file.values = with_values<Field::complex, double>(most); break;
    }
    const auto count = static_cast<std::size_t>(edges_);
    file.graph = Graph::from_coo(rows_, cols_, {destinations_.data(), count}, {sources_.data(), count});
    return file;
  }

 private:
  [[noreturn]] void fail_at(const char* at, std::string_view message) const { fail_at_line(text_, at, message); }

  void read_banner() {
    const std::size_t line_end = std::min(text_.find('\n'), text_.size());
    TextCursor line(text_.substr(0, std::min<std::size_t>(line_end, 1024)));
    const auto word = [&] {
      std::string lower(line.token());
      std::ranges::transform(lower, lower.begin(),
                             [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      return lower;
    };
    const std::string banner = word(), object = word(), layout = word(), field = word(), symmetry = word();
    if (banner != "%%matrixmarket" || object != "matrix")
      fail_at(text_.data(), fmt::format("found {}: expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'",
                                        quoted(text_.substr(0, line_end))));
    if (layout == "array")
      fail(ErrorCode::unsupported,
           "line 1: it is a dense matrix ('array'): weft reads 'coordinate', the sparse layout");
    if (layout != "coordinate")
      fail_at(text_.data(), fmt::format("found the layout {}: expected 'coordinate'", quoted(layout)));
    try {
      field_ = parse_in(field_names, "field", quoted_part(field));
      symmetry_ = parse_in(symmetry_names, "symmetry", quoted_part(symmetry));
    } catch (const Error& error) {
      fail_at(text_.data(), error.what());
    }
    if (symmetry_ == Symmetry::skew && field_ == Field::pattern)
      fail_at(text_.data(), "a pattern cannot be skew-symmetric: it has no values to negate");
    body_ = text_.substr(std::min(line_end + 1, text_.size()));
  }

  // A word as it may stand between the quotes that a message puts around it.
  static std::string quoted_part(std::string_view word) {
    const std::string text = quoted(word);
    return text.substr(1, text.size() - 2);
  }

  void read_sizes() {
    TextCursor cursor(body_);
    if (!cursor.to_content("%"))
      fail_at(text_.data() + text_.size(), "the file ends before the line with rows, columns and entries");
    const char* start = cursor.position();
    const bool read = cursor.read_integer(rows_) && cursor.read_integer(cols_) && cursor.read_integer(entries_);
    cursor.skip_blanks();
    if (!read || !cursor.at_line_end())
      fail_at(start,
              fmt::format("found {}: expected three numbers, rows, columns and entries", quoted(rest_of_line(start))));
    try {
      check_counts(rows_, cols_, entries_);
      check_nodes_against_size(rows_, cols_, text_.size());
    } catch (const Error& error) {
      fail_at(start, error.what());
    }
    if (symmetry_ != Symmetry::general && rows_ != cols_)
      fail_at(start, fmt::format("a {} matrix of {} x {}: expected a square one", name_in(symmetry_names, symmetry_),
                                 rows_, cols_));
    sizes_at_ = start;
    read_note(body_.substr(0, static_cast<std::size_t>(start - body_.data())));
    cursor.next_line();
    body_ = text_.substr(static_cast<std::size_t>(cursor.position() - text_.data()));
  }

  void read_note(std::string_view comments) {
    std::size_t at = comments.find(mtx_note);
    while (at != std::string_view::npos && at != 0 && comments[at - 1] != '\n') at = comments.find(mtx_note, at + 1);
    if (at != std::string_view::npos) note_ = clean_note(rest_of_line(comments.data() + at + mtx_note.size()));
  }

  std::string_view rest_of_line(const char* at) const { return io::rest_of_line(text_, at); }

  void count_entries() {
    chunks_.emplace(text_, body_, "%");
    mirrored_.resize(chunks_->chunks().size());
    if (chunks_->lines() != entries_)
      fail_at(sizes_at_,
              fmt::format("it promises {} entries, but {} lines with content follow", entries_, chunks_->lines()));
  }

  template <Field field, class Value>
  Tensor with_values(std::int64_t most) {
    Buffer<Value> values(static_cast<std::size_t>(most), "the edge values");
    edges_ = parse<field>(values.data());
    return smallest_exact(std::span<const Value>(values.data(), static_cast<std::size_t>(edges_)));
  }

  // Returns the number of edges, mirrored ones included.
  template <Field field, class Value>
  std::int64_t parse(Value* values) {
    chunks_->each(progress_, [&](std::size_t i, TextFault& fault) { parse_chunk<field>(i, values, fault); });
    std::int64_t end = entries_;
    if (symmetry_ == Symmetry::general) return end;
    for (Mirrored& mirrored : mirrored_) {
      mirrored.first = end;
      end += mirrored.count;
    }
    parallel_tasks(default_threads(), static_cast<std::int64_t>(mirrored_.size()),
                   [&](std::int64_t i, int) { mirror_chunk<field>(static_cast<std::size_t>(i), values); });
    return end;
  }

  template <Field field, class Value>
  void parse_chunk(std::size_t i, Value* values, TextFault& fault) {
    const TextChunk& chunk = chunks_->chunks()[i];
    TextCursor cursor(chunk.text);
    auto place = static_cast<std::size_t>(chunk.first);
    for (; cursor.to_content("%"); cursor.next_line(), ++place) {
      const char* start = cursor.position();
      std::int64_t row = 0, col = 0;
      if (!cursor.read_integer(row) || !cursor.read_integer(col)) return blame(fault, start, "a row and a column");
      if (row < 1 || row > rows_) return blame_index(fault, start, "row", row, rows_);
      if (col < 1 || col > cols_) return blame_index(fault, start, "column", col, cols_);
      destinations_[place] = static_cast<NodeId>(row - 1);
      sources_[place] = static_cast<NodeId>(col - 1);
      mirrored_[i].count += row != col;
      if constexpr (field == Field::integer) {
        const bool read = cursor.read_integer(values[place]);
        const bool negatable = symmetry_ != Symmetry::skew || values[place] != std::numeric_limits<Value>::min();
        if (!read || !negatable) return blame(fault, start, "row, column and an integer below 2^63");
      } else if constexpr (field != Field::pattern) {
        if (!cursor.read_real(values[place])) return blame(fault, start, "row, column and a number of at most 1.8e308");
      }
      if constexpr (field == Field::complex) {
        double imaginary = 0;
        if (!cursor.read_real(imaginary)) return blame(fault, start, "row, column, real and imaginary part");
        if (imaginary != 0) return blame(fault, start, "imaginary parts of 0: weft's values are real");
      }
      if constexpr (field != Field::pattern)
        if (symmetry_ == Symmetry::skew && row == col && values[place] != 0)
          return blame(fault, start, "0 on the diagonal of a skew-symmetric matrix");
      cursor.skip_blanks();
      if (!cursor.at_line_end()) return blame(fault, start, "nothing behind the entry");
    }
  }

  void blame(TextFault& fault, const char* at, std::string_view expected) const {
    fault = {at, fmt::format("found {}: expected {}", quoted(rest_of_line(at)), expected)};
  }
  void blame_index(TextFault& fault, const char* at, std::string_view what, std::int64_t found,
                   std::int64_t most) const {
    fault = {at, fmt::format("found {} {}: expected 1 to {} (Matrix Market counts from 1)", what, found, most)};
  }

  template <Field field, class Value>
  void mirror_chunk(std::size_t i, Value* values) {
    const TextChunk& chunk = chunks_->chunks()[i];
    auto mirror = static_cast<std::size_t>(mirrored_[i].first);
    const auto first = static_cast<std::size_t>(chunk.first), count = static_cast<std::size_t>(chunk.lines);
    for (std::size_t k = first; k < first + count; ++k) {
      if (destinations_[k] == sources_[k]) continue;
      destinations_[mirror] = sources_[k];
      sources_[mirror] = destinations_[k];
      if constexpr (field != Field::pattern) values[mirror] = symmetry_ == Symmetry::skew ? -values[k] : values[k];
      ++mirror;
    }
  }

  std::string_view text_, body_;
  const Progress& progress_;
  Field field_ = Field::real;
  Symmetry symmetry_ = Symmetry::general;
  std::int64_t rows_ = 0, cols_ = 0, entries_ = 0, edges_ = 0;
  const char* sizes_at_ = nullptr;
  std::string note_;
  std::optional<TextChunks> chunks_;
  std::vector<Mirrored> mirrored_;  // by chunk
  Buffer<NodeId> destinations_, sources_;
};

}  // namespace

Dataset read_mtx(const Source& source, const ReadOptions& options) { return Reader(source, options.progress).read(); }

}  // namespace weft::io
