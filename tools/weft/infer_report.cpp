#include "infer_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operator_times.hpp"

namespace weft::tool {
namespace {

double edges_seconds(const Predictions& predictions) { return sparse_seconds(predictions.operators); }
double all_seconds(const Predictions& predictions) { return predictions.seconds; }

/// Accuracy over one of the times, a point a width. From no time on, so that distances are ratios; fewer edges are
/// joined with more of them, whatever order the widths were given in.
LineChart accuracy_over(const std::string& time, double (*seconds)(const Predictions&), const Dataset& dataset,
                        EdgeSampling method, const std::vector<SampledRun>& runs) {
  LineChart chart;
  chart.title = fmt::format("{} over the time of the {}", measured_title(dataset, runs.front().predictions), time);
  chart.x_title = "milliseconds";
  chart.whole = false;
  chart.lowest = 0;
  chart.highest = 1;
  chart.series = {{sampled_title(method), 0, {}}, {"all edges", 1, {}}};
  std::vector<const SampledRun*> sorted;
  for (const SampledRun& run : runs) sorted.push_back(&run);
  std::ranges::stable_sort(sorted, {}, &SampledRun::width);
  for (const SampledRun* run : sorted) {
    const double milliseconds = 1e3 * seconds(run->predictions);
    const bool whole = run->width == 0;
    chart.series[whole ? 1 : 0].points.push_back(
        {milliseconds, measured(run->predictions), whole ? "all" : std::to_string(run->width)});
    constexpr double room = 1.05;  // for the ring and the label of the last one
    chart.last = std::max(chart.last, room * milliseconds);
  }
  return chart;
}

}  // namespace

std::string infer_report(const ReportHead& head, const Dataset& dataset, EdgeSampling method,
                         const std::vector<SampledRun>& runs) {
  if (runs.size() > 1)
    return page_html(head, table_html(sampled_title(method), sampled_rows(dataset, runs)) +
                               charts_html({accuracy_over("edges' part", edges_seconds, dataset, method, runs),
                                            accuracy_over("forward pass", all_seconds, dataset, method, runs)}));
  std::vector<std::vector<std::string>> rows = operator_rows(runs.front().predictions.operators);
  rows.insert(rows.begin(), {"operator", "time", "share", "calls"});
  return page_html(head, table_html("time by operator", rows));
}

}  // namespace weft::tool
