#include "window_facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/names.hpp"
#include "text.hpp"
#include "tune/fit.hpp"

namespace weft::tool {
namespace {

double density_of(const WindowFacts& facts) { return std::exp2(WindowFeatures::of(facts.median, facts.rows).density); }
double fill_of(const WindowFacts& facts) { return std::exp2(WindowFeatures::of(facts.median, facts.rows).fill); }

constexpr NameTable<WindowLayout, 3> rows_texts{{{WindowLayout::none, "consecutive rows"},
                                                 {WindowLayout::clusters, "clustered rows"},
                                                 {WindowLayout::loa, "rows in LOA's order"}}};

}  // namespace

std::vector<std::string> window_lines(const WindowFacts& facts) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "windows  {} of {} {}; {} with dense columns (threshold {}: so many edges and more), intensity {:.2f} edges "
      "a column",
      grouped(facts.windows), facts.rows, name_in(rows_texts, facts.layout), grouped(facts.candidates), facts.threshold,
      facts.intensity));
  lines.push_back(fmt::format("tensor   {} windows, {} columns in {} tiles, {} edges: {:.1f} % of all; made in {}",
                              grouped(facts.selected), grouped(facts.columns), grouped(facts.tiles),
                              grouped(facts.edges), 100 * facts.edge_share, seconds_text(facts.build_seconds)));
  std::string select = fmt::format("select   {}: kept {} of {} windows", name(facts.select), grouped(facts.selected),
                                   grouped(facts.candidates));
  if (facts.candidates > 0)
    select += fmt::format("; the median one has {} columns, density {:.3f}, tiles {:.0f} % full",
                          grouped(facts.median.columns), density_of(facts), 100 * fill_of(facts));
  if (facts.selector && facts.candidates > 0)
    select += fmt::format(", at width {} log odds {:+.2f}", facts.features, facts.log_odds);
  lines.push_back(std::move(select));
  if (!facts.selector) return lines;
  lines.push_back(fmt::format("model    {} > 0 ({})", formula_text(facts.selector->row), facts.selector->source));
  if (!facts.selector->note.empty()) lines.push_back("note     " + facts.selector->note);
  return lines;
}

nlohmann::json windows_json(const WindowFacts& facts) {
  nlohmann::json json = {{"rows", facts.rows},
                         {"threshold", facts.threshold},
                         {"layout", name(facts.layout)},
                         {"windows", facts.windows},
                         {"candidates", facts.candidates},
                         {"selected", facts.selected},
                         {"columns", facts.columns},
                         {"edges", facts.edges},
                         {"tiles", facts.tiles},
                         {"edge_share", facts.edge_share},
                         {"intensity", facts.intensity},
                         {"build_seconds", facts.build_seconds},
                         {"select", name(facts.select)}};
  if (facts.candidates > 0)
    json["median"] = {{"columns", facts.median.columns},
                      {"edges", facts.median.edges},
                      {"density", density_of(facts)},
                      {"fill", fill_of(facts)}};
  if (!facts.selector) return json;
  const SelectorRow& row = facts.selector->row;
  json["selector"] = {{"source", facts.selector->source},
                      {"note", facts.selector->note},
                      {"bias", row.bias},
                      {"columns", row.columns},
                      {"density", row.density},
                      {"fill", row.fill},
                      {"width", row.width},
                      {"accuracy", row.accuracy},
                      {"log_odds", facts.log_odds}};
  return json;
}

}  // namespace weft::tool
