// What the pages of train and infer are made of: one HTML file without anything from elsewhere, whose style also has
// the classes that charts in SVG use.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "line_chart.hpp"
#include "weft/context.hpp"

namespace weft::tool {

using ReportLines = std::vector<std::pair<std::string, std::string>>;  // label, text

struct ReportHead {
  std::string program;  // "weft train"
  std::string title;    // "gcn on citations"
  std::string command;  // as it was given
  ReportLines lines;    // of the first table
};

/// What every page ends its lines with: the machine, weft's version, the date.
void add_origin(ReportLines& lines, const Context& context);
/// The first row is the header; nothing at all where there is none.
std::string table_html(std::string_view title, const std::vector<std::vector<std::string>>& rows);
std::string charts_html(const std::vector<LineChart>& charts);
/// `body` is HTML.
std::string page_html(const ReportHead& head, std::string_view body);

}  // namespace weft::tool
