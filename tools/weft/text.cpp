#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::tool {

std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string bytes_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes < 100 ? 1 : 0, units[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 90) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e9)) return fmt::format("{:.3g}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string features_text(std::int64_t heads, std::int64_t width) {
  return heads > 1 ? fmt::format("{}x{}", heads, width) : fmt::format("{}", width);
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  return width < 3 ? std::string(text.substr(0, width)) : std::string(text.substr(0, width - 2)) + "..";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

TextTable::TextTable(std::FILE* file, std::vector<Column> columns) : file_(file), columns_(std::move(columns)) {
  for (Column& column : columns_) column.width = std::max(column.width, column.title.size());
}

void TextTable::print_header() {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  print_row(titles);
}

void TextTable::print_row(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += columns_[i].align == Align::left ? fmt::format("{:<{}}", cells[i], columns_[i].width)
                                             : fmt::format("{:>{}}", cells[i], columns_[i].width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  print_line(file_, line);
  std::fflush(file_);
}

void print_line(std::FILE* file, std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), file);
  std::fputc('\n', file);
}

// Written without formatting machinery that could itself throw.
void complain(std::string_view message) {
  std::string line = "weft: ";
  line += message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace weft::tool
