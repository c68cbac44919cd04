// Numbers and tables as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

/// 1166243 -> "1,166,243".
std::string grouped(std::int64_t value);
/// "812 B", "13.4 MiB".
std::string bytes_text(double bytes);
/// "12.4 us", "3.21 ms", "1.5 s", "2 min 05 s".
std::string seconds_text(double seconds);
/// Four significant digits without an exponent where that is readable: "0.0123", "12.4", "1166".
std::string short_number(double value);
/// Features a node has: "64", or "4x16" in heads.
std::string features_text(std::int64_t heads, std::int64_t width);
/// At most `width` characters, the cut marked.
std::string shortened(std::string_view text, std::size_t width);
/// For HTML and SVG, as text or between double quotes.
std::string escaped(std::string_view text);

enum class Align { left, right };
struct Column {
  std::string title;
  std::size_t width = 0;  // at least the title's
  Align align = Align::right;
};

/// A table printed row by row, so that long runs show what is already known.
class TextTable {
 public:
  TextTable(std::FILE* file, std::vector<Column> columns);
  void print_header();
  void print_row(const std::vector<std::string>& cells);

 private:
  std::FILE* file_;
  std::vector<Column> columns_;
};

/// fmt-free write of a whole line; failures show when stdout is flushed at the end.
void print_line(std::FILE* file, std::string_view line);

/// "weft: MESSAGE" as one line of stderr, whatever line ends the message holds.
void complain(std::string_view message);

}  // namespace weft::tool
