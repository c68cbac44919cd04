#include "train_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "line_chart.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

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

}  // namespace

std::string train_report(const TrainSummary& summary) {
  std::string body = table_html("runs", summary.runs) + charts_html({loss_chart(summary), accuracy_chart(summary)});
  if (!summary.confusion.empty()) body += "<h2>test split: labels and predictions</h2>\n" + summary.confusion;
  return page_html(summary.head, body);
}

}  // namespace weft::tool
