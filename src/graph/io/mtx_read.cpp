// Reading Matrix Market, block by block. One pass counts the entries of each chunk of a block's lines, a second parses
// them straight into their places.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

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

// A chunk's entries: the first one's place and how many, how many of them are off the diagonal, and the place of the
// first one's mirror.
struct Entries {
  std::int64_t first = 0, count = 0, mirrored = 0, first_mirror = 0;
};

class MtxReader {
 public:
  MtxReader(TextBlocks& blocks, const Progress& progress) : blocks_(blocks), progress_(progress) {}

  Dataset read() {
    blocks_.next();
    text_ = blocks_.text();
    read_banner();
    read_sizes();
    check_promise();
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
    file.graph =
        Graph::from_edges({.num_sources = cols_, .num_destinations = rows_},
                          {.sources = {sources_.data(), count}, .destinations = {destinations_.data(), count}});
    return file;
  }

 private:
  [[noreturn]] void fail_at(const char* at, std::string_view message) const {
    fail_at_line(text_, at, message, blocks_.lines_before());
  }

  void read_banner() {
    const std::size_t line_end = std::min(text_.find('\n'), text_.size());
    TextCursor line(text_.substr(0, std::min<std::size_t>(line_end, 1024)));
    const auto word = [&] { return lower_case(line.token()); };
    const std::string banner = word(), object = word(), layout = word(), field = word(), symmetry = word();
    if (banner != "%%matrixmarket" || object != "matrix")
      fail_at(text_.data(), fmt::format("found {}: expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'",
                                        in_quotes(text_.substr(0, line_end))));
    if (layout == "array")
      fail(ErrorCode::unsupported,
           "line 1: it is a dense matrix ('array'): weft reads 'coordinate', the sparse layout");
    if (layout != "coordinate")
      fail_at(text_.data(), fmt::format("found the layout {}: expected 'coordinate'", in_quotes(layout)));
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
    const std::string text = in_quotes(word);
    return text.substr(1, text.size() - 2);
  }

  void read_sizes() {
    TextCursor cursor(body_);
    if (!cursor.to_content("%"))
      fail_at(text_.data() + text_.size(), fmt::format("{} before the line with rows, columns and entries",
                                                       blocks_.last() ? "the file ends" : "comments go on too long"));
    const char* start = cursor.position();
    const bool read = cursor.read_integer(rows_) && cursor.read_integer(cols_) && cursor.read_integer(entries_);
    cursor.skip_blanks();
    if (!read || !cursor.at_line_end())
      fail_at(start, fmt::format("found {}: expected three numbers, rows, columns and entries",
                                 in_quotes(rest_of_line(start))));
    try {
      check_counts(rows_, cols_, entries_);
      check_nodes_against_size(rows_, cols_, text_.size());
    } catch (const Error& error) {
      fail_at(start, error.what());
    }
    if (symmetry_ != Symmetry::general && rows_ != cols_)
      fail_at(start, fmt::format("a {} matrix of {} x {}: expected a square one", name_in(symmetry_names, symmetry_),
                                 rows_, cols_));
    sizes_line_ = 1 + std::count(text_.data(), start, '\n');
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

  [[noreturn]] void fail_promise(std::string_view found) const {
    fail(ErrorCode::invalid_file, "line {}: it promises {} entries, but {} lines with content follow", sizes_line_,
         entries_, found);
  }
  /// Before there is memory for as many entries as the header says.
  void check_promise() {
    chunks_.emplace(text_, body_, "%");
    if (blocks_.last() && chunks_->lines() != entries_) fail_promise(fmt::to_string(chunks_->lines()));
    const std::size_t most = blocks_.most_bytes() / 4 + 1;  // "1 1" and the line's end
    if (entries_ > static_cast<std::int64_t>(most)) fail_promise(fmt::format("at most {}", most));
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
    std::int64_t read = 0;
    for (;;) {
      const std::size_t before = parts_.size();
      for (const TextChunk& chunk : chunks_->chunks()) parts_.push_back({read + chunk.first, chunk.lines});
      with_block(blocks_, [&] {
        if (read + chunks_->lines() > entries_) fail_promise("more");
        chunks_->each(within_file(blocks_, progress_), [&](std::size_t i, TextFault& fault) {
          parse_chunk<field>(chunks_->chunks()[i].text, parts_[before + i], values, fault);
        });
      });
      read += chunks_->lines();
      if (blocks_.last() || !blocks_.next()) break;
      text_ = blocks_.text();
      chunks_.emplace(text_, text_, "%", blocks_.lines_before());
    }
    if (read != entries_) fail_promise(fmt::to_string(read));
    std::int64_t end = entries_;
    if (symmetry_ == Symmetry::general) return end;
    for (Entries& part : parts_) {
      part.first_mirror = end;
      end += part.mirrored;
    }
    parallel_tasks(default_threads(), static_cast<std::int64_t>(parts_.size()),
                   [&](std::int64_t i, int) { mirror<field>(parts_[static_cast<std::size_t>(i)], values); });
    return end;
  }

  template <Field field, class Value>
  void parse_chunk(std::string_view text, Entries& part, Value* values, TextFault& fault) {
    TextCursor cursor(text);
    auto place = static_cast<std::size_t>(part.first);
    for (; cursor.to_content("%"); cursor.next_line(), ++place) {
      const char* start = cursor.position();
      std::int64_t row = 0, col = 0;
      if (!cursor.read_integer(row) || !cursor.read_integer(col)) return blame(fault, start, "a row and a column");
      if (row < 1 || row > rows_) return blame_index(fault, start, "row", row, rows_);
      if (col < 1 || col > cols_) return blame_index(fault, start, "column", col, cols_);
      destinations_[place] = static_cast<NodeId>(row - 1);
      sources_[place] = static_cast<NodeId>(col - 1);
      part.mirrored += row != col;
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
    fault = {at, fmt::format("found {}: expected {}", in_quotes(rest_of_line(at)), expected)};
  }
  void blame_index(TextFault& fault, const char* at, std::string_view what, std::int64_t found,
                   std::int64_t most) const {
    fault = {at, fmt::format("found {} {}: expected 1 to {} (Matrix Market counts from 1)", what, found, most)};
  }

  template <Field field, class Value>
  void mirror(const Entries& part, Value* values) {
    auto mirror = static_cast<std::size_t>(part.first_mirror);
    const auto first = static_cast<std::size_t>(part.first), count = static_cast<std::size_t>(part.count);
    for (std::size_t k = first; k < first + count; ++k) {
      if (destinations_[k] == sources_[k]) continue;
      destinations_[mirror] = sources_[k];
      sources_[mirror] = destinations_[k];
      if constexpr (field != Field::pattern) values[mirror] = symmetry_ == Symmetry::skew ? -values[k] : values[k];
      ++mirror;
    }
  }

  TextBlocks& blocks_;
  std::string_view text_, body_;
  const Progress& progress_;
  Field field_ = Field::real;
  Symmetry symmetry_ = Symmetry::general;
  std::int64_t rows_ = 0, cols_ = 0, entries_ = 0, edges_ = 0;
  std::int64_t sizes_line_ = 1;
  std::string note_;
  std::optional<TextChunks> chunks_;  // of the block
  std::vector<Entries> parts_;        // a chunk of any block each
  Buffer<NodeId> destinations_, sources_;
};

}  // namespace

Dataset read_mtx(TextBlocks&& blocks, const ReadOptions& options) { return MtxReader(blocks, options.progress).read(); }

Dataset read_mtx(const Source& source, const ReadOptions& options) { return read_mtx(TextBlocks(source), options); }

}  // namespace weft::io
