#include "train_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "line_chart.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

constexpr const char* style =
    ":root { color-scheme: light dark; --text: #1a202c; --page: #ffffff; --soft: #5a6577; --grid: #e2e8f0;\n"
    "  --s0: #2b6cb0; --s1: #c05621; --s2: #2f855a; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e2e8f0; --page: #171923; --soft: #a0aec0; --grid: #2d3748;\n"
    "    --s0: #63b3ed; --s1: #f6ad55; --s2: #68d391; } }\n"
    "body { font: 14px system-ui, sans-serif; margin: 2em; color: var(--text); background: var(--page); }\n"
    "h1 { font-size: 20px; }\n"
    "h2 { font-size: 15px; margin: 1.5em 0 0.3em; }\n"
    "code { overflow-wrap: anywhere; }\n"
    "table { border-collapse: collapse; }\n"
    "td, th { padding: 3px 20px 3px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }\n"
    "th { font-weight: normal; color: var(--soft); }\n"
    ".confusion td, .confusion th { padding: 3px 8px; text-align: right; }\n"
    ".charts { display: flex; flex-wrap: wrap; gap: 0 2em; }\n"
    ".charts section { flex: 1 1 480px; max-width: 760px; }\n"
    "svg { width: 100%; height: auto; }\n"
    "svg text { font: 12px system-ui, sans-serif; fill: var(--text); }\n"
    "svg .tick { fill: var(--soft); }\n"
    ".grid { stroke: var(--grid); }\n"
    ".axis { stroke: var(--soft); }\n"
    ".mark { stroke: var(--soft); stroke-dasharray: 4 4; }\n"
    ".line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }\n"
    ".dot { stroke-width: 5; }\n"
    ".s0 { stroke: var(--s0); }\n"
    ".s1 { stroke: var(--s1); }\n"
    ".s2 { stroke: var(--s2); }\n";

bool looked_at(const EpochFigures& figures) {
  return std::isfinite(figures.val_accuracy) || std::isfinite(figures.test_accuracy) || std::isfinite(figures.val_loss);
}

ChartSeries series_of(const TrainSummary& summary, std::string name, int colour, double EpochFigures::*figure) {
  ChartSeries series{std::move(name), colour, {}};
  for (const EpochFigures& epoch : summary.epochs)
    series.points.push_back({static_cast<double>(epoch.epoch), epoch.*figure});
  return series;
}

/// Of the epochs after which the model was looked at: with --eval-every most have not been, which is no gap, and
/// their training accuracy is one with dropout.
ChartSeries looks_of(const TrainSummary& summary, std::string name, int colour, double EpochFigures::*figure) {
  ChartSeries series{std::move(name), colour, {}};
  const bool any = std::ranges::any_of(summary.epochs, looked_at);
  for (const EpochFigures& epoch : summary.epochs)
    if (!any || looked_at(epoch)) series.points.push_back({static_cast<double>(epoch.epoch), epoch.*figure});
  return series;
}

LineChart chart_of(const TrainSummary& summary, std::string title) {
  LineChart chart;
  chart.title = std::move(title);
  chart.x_title = "epoch";
  if (!summary.epochs.empty()) {
    chart.first = static_cast<double>(summary.epochs.front().epoch);
    chart.last = static_cast<double>(summary.epochs.back().epoch);
  }
  chart.lowest = 0;
  if (summary.best_epoch > 0) {
    chart.mark = static_cast<double>(summary.best_epoch);
    chart.mark_text = fmt::format("best: epoch {}", grouped(summary.best_epoch));
  }
  return chart;
}

LineChart loss_chart(const TrainSummary& summary) {
  LineChart chart = chart_of(summary, "loss");
  chart.series.push_back(series_of(summary, "train", 0, &EpochFigures::loss));
  chart.series.push_back(looks_of(summary, "val", 1, &EpochFigures::val_loss));
  return chart;
}

LineChart accuracy_chart(const TrainSummary& summary) {
  LineChart chart = chart_of(summary, summary.measure);
  chart.highest = 1;
  chart.series.push_back(looks_of(summary, "train", 0, &EpochFigures::train_accuracy));
  chart.series.push_back(looks_of(summary, "val", 1, &EpochFigures::val_accuracy));
  chart.series.push_back(looks_of(summary, "test", 2, &EpochFigures::test_accuracy));
  return chart;
}

std::string runs_html(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string html = "<h2>runs</h2>\n<table>\n";
  for (const std::vector<std::string>& row : rows) {
    const char* tag = &row == &rows.front() ? "th" : "td";
    html += "<tr>";
    for (const std::string& text : row) html += fmt::format("<{0}>{1}</{0}>", tag, escaped(text));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string train_report(const TrainSummary& summary) {
  const std::string title = escaped(summary.title);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>weft train: {}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n<h1>{}</h1>\n<p><code>{}</code></p>\n<table>\n",
      title, style, title, escaped(summary.command));
  for (const auto& [label, text] : summary.lines)
    page += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(label), escaped(text));
  page += "</table>\n" + runs_html(summary.runs) + "<div class=\"charts\">\n";
  for (const LineChart& chart : {loss_chart(summary), accuracy_chart(summary)})
    page += fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", escaped(chart.title), to_svg(chart));
  page += "</div>\n";
  if (!summary.confusion.empty()) page += "<h2>test split: labels and predictions</h2>\n" + summary.confusion;
  return page + "</body>\n</html>\n";
}

}  // namespace weft::tool
