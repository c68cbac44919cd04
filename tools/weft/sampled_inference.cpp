#include "sampled_inference.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "model_facts.hpp"
#include "operator_times.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

std::string points(double value) { return std::isfinite(value) ? fmt::format("{:+.2f}", 100 * value) : "-"; }

}  // namespace

std::vector<SampledRun> run_sampled(Context& context, const Dataset& dataset, const Model& model, InferOptions options,
                                    const std::vector<std::int64_t>& widths) {
  std::vector<SampledRun> runs;
  options.time_operators = options.time_operators || !widths.empty();
  options.edges.width = 0;
  if (!widths.empty()) infer(context, dataset, model, options);  // what the first run of a program pays is nobody's
  runs.push_back({0, infer(context, dataset, model, options)});
  for (const std::int64_t width : widths) {
    options.edges.width = width;
    runs.push_back({width, infer(context, dataset, model, options)});
  }
  return runs;
}

double measured(const Predictions& predictions) {
  return std::isfinite(predictions.test_accuracy) ? predictions.test_accuracy : predictions.accuracy;
}

std::string measured_title(const Dataset& dataset, const Predictions& predictions) {
  return (std::isfinite(predictions.test_accuracy) ? "test " : "all ") + measure_of(dataset);
}

std::string sampled_title(EdgeSampling method) { return fmt::format("edges kept by {}", name(method)); }

std::vector<std::vector<std::string>> sampled_rows(const Dataset& dataset, const std::vector<SampledRun>& runs) {
  const Predictions& whole = runs.front().predictions;
  std::vector<std::vector<std::string>> rows{{"edges per row", "rate", measured_title(dataset, whole), "points",
                                              "edges' part", "speed-up", "forward pass", "speed-up"}};
  for (const SampledRun& run : runs) {
    const Predictions& p = run.predictions;
    const auto times = [&](double before, double now) {
      return run.width == 0 || now <= 0 ? std::string() : fmt::format("{:.2f}x", before / now);
    };
    rows.push_back({run.width == 0 ? "all" : std::to_string(run.width), fmt::format("{:.1f}%", 100 * p.sampling_rate),
                    accuracy_text(measured(p)), run.width == 0 ? "" : points(measured(p) - measured(whole)),
                    seconds_text(sparse_seconds(p.operators)),
                    times(sparse_seconds(whole.operators), sparse_seconds(p.operators)), seconds_text(p.seconds),
                    times(whole.seconds, p.seconds)});
  }
  return rows;
}

void print_sampled(std::FILE* out, const Dataset& dataset, EdgeSampling method, const std::vector<SampledRun>& runs) {
  print_line(out, sampled_title(method));
  const std::vector<std::vector<std::string>> rows = sampled_rows(dataset, runs);
  const std::size_t widths[] = {12, 8, 14, 8, 13, 9, 13, 9};
  std::vector<Column> columns;
  for (std::size_t i = 0; i < rows.front().size(); ++i) columns.push_back({rows.front()[i], widths[i]});
  TextTable table(out, columns);
  table.print_header();
  for (const std::vector<std::string>& row : std::span(rows).subspan(1)) table.print_row(row);
}

nlohmann::json sampled_json(EdgeSampling method, const std::vector<SampledRun>& runs) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SampledRun& run : runs)
    rows.push_back({{"width", run.width == 0 ? nlohmann::json(nullptr) : nlohmann::json(run.width)},
                    {"sampling_rate", run.predictions.sampling_rate},
                    {"test_accuracy", run.predictions.test_accuracy},
                    {"accuracy", run.predictions.accuracy},
                    {"seconds", run.predictions.seconds},
                    {"sparse_seconds", sparse_seconds(run.predictions.operators)}});
  return {{"method", name(method)}, {"runs", rows}};
}

}  // namespace weft::tool
