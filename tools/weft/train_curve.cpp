#include "train_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text.hpp"

namespace weft::tool {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) continue;
    sum += values[i];
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : none;
}

/// One value per column.
std::vector<double> in_columns(const std::vector<double>& values, std::size_t columns) {
  const std::size_t n = values.size();
  std::vector<double> result(columns, none);
  if (n > columns) {
    for (std::size_t c = 0; c < columns; ++c) result[c] = mean_of(values, c * n / columns, (c + 1) * n / columns);
    return result;
  }
  // Fewer values than columns stand apart, with a straight line between neighbours.
  const auto place = [&](std::size_t i) { return n > 1 ? i * (columns - 1) / (n - 1) : 0; };
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) continue;
    result[place(i)] = values[i];
    if (i + 1 == n || !std::isfinite(values[i + 1])) continue;
    const std::size_t from = place(i), to = place(i + 1);
    for (std::size_t c = from + 1; c < to; ++c) {
      const double share = static_cast<double>(c - from) / static_cast<double>(to - from);
      result[c] = values[i] + share * (values[i + 1] - values[i]);
    }
  }
  return result;
}

}  // namespace

std::string curve_text(const std::vector<double>& values, std::int64_t first, CurveSize size) {
  constexpr int widest_label = 10;  // "-1.23e+300"
  if (size.line > 0) size.columns = std::min(size.columns, size.line - widest_label - 2);
  const auto columns = static_cast<std::size_t>(std::max(size.columns, 2)), rows = std::size_t(std::max(size.rows, 2));
  const std::vector<double> shown = in_columns(values, columns);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : shown) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return "";
  // Halves, as the range itself can pass that of a double. A level series lies in the middle.
  const double half_range = high / 2 - low / 2;
  const std::size_t middle = rows / 2;
  std::vector<std::string> lines(rows, std::string(columns, ' '));
  for (std::size_t c = 0; c < columns; ++c) {
    if (!std::isfinite(shown[c])) continue;
    std::size_t row = middle;
    if (half_range > 0) {
      const double share = (high / 2 - shown[c] / 2) / half_range;
      row = static_cast<std::size_t>(std::lround(share * static_cast<double>(rows - 1)));
    }
    lines[row][c] = '*';
  }
  std::vector<std::string> labels(rows);
  if (half_range > 0) {
    labels.front() = short_number(high);
    labels.back() = short_number(low);
  } else {
    labels[middle] = short_number(low);
  }
  std::size_t widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, label.size());
  std::string text;
  for (std::size_t r = 0; r < rows; ++r) {
    std::string line = fmt::format("{:>{}} |{}", labels[r], widest, lines[r]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("{:>{}} +{:-<{}}\n", "", widest, "", columns);
  const std::string begin = fmt::format("{}", first);
  text += fmt::format("{:>{}}  {}", "", widest, begin);
  if (values.size() > 1) {
    const std::string end = fmt::format("{}", first + static_cast<std::int64_t>(values.size()) - 1);
    text += fmt::format(" {:>{}}", end, columns > begin.size() + 1 ? columns - begin.size() - 1 : 0);
  }
  return text + "\n";
}

}  // namespace weft::tool
