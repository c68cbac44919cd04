#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "text.hpp"

namespace weft::tool {
namespace {

constexpr int usual = 80, narrowest = 20;

int of_environment() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  const std::string_view all = text;
  int columns = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), columns);
  return error == std::errc() && end == all.data() + all.size() ? columns : 0;
}

}  // namespace

int columns_of(std::FILE* file) {
  winsize size{};
  int columns = ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  if (columns <= 0) columns = of_environment();
  return columns > 0 ? std::max(columns, narrowest) : usual;
}

std::vector<std::string> histogram_lines(const std::vector<HistogramRow>& rows, int columns) {
  constexpr std::int64_t longest_bar = 40;
  std::int64_t most = 0;
  std::size_t label_width = 0, count_width = 0;
  for (const HistogramRow& row : rows) {
    most = std::max(most, row.count);
    label_width = std::max(label_width, row.label.size());
    count_width = std::max(count_width, grouped(row.count).size());
  }
  const auto before = static_cast<std::int64_t>(2 + label_width + 1 + count_width + 1);
  // One column is left free: some terminals wrap a line that fills the last one.
  const std::int64_t bar = std::clamp<std::int64_t>(columns - 1 - before, 1, longest_bar);
  std::vector<std::string> lines;
  for (const HistogramRow& row : rows) {
    const std::int64_t marks = most > 0 ? (row.count * bar + most - 1) / most : 0;
    std::string line = fmt::format("  {:>{}} {:>{}} {}", row.label, label_width, grouped(row.count), count_width,
                                   std::string(static_cast<std::size_t>(marks), '#'));
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft::tool
