#include "sampled_inference.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model_facts.hpp"
#include "operator_times.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

/// Of the test split where it is known, else of all nodes.
double measured(const Predictions& predictions) {
  return std::isfinite(predictions.test_accuracy) ? predictions.test_accuracy : predictions.accuracy;
}

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

void print_sampled(std::FILE* out, const Dataset& dataset, EdgeSampling method, const std::vector<SampledRun>& runs) {
  const Predictions& whole = runs.front().predictions;
  const std::string split = std::isfinite(whole.test_accuracy) ? "test " : "all ";
  print_line(out, fmt::format("edges kept by {}", name(method)));
  TextTable table(out, {{"edges a row", 12},
                        {"rate", 8},
                        {split + measure_of(dataset), 14},
                        {"points", 8},
                        {"edges' part", 13},
                        {"speed-up", 9},
                        {"forward pass", 13},
                        {"speed-up", 9}});
  table.print_header();
  for (const SampledRun& run : runs) {
    const Predictions& p = run.predictions;
    const auto times = [&](double before, double now) {
      return run.width == 0 || now <= 0 ? std::string() : fmt::format("{:.2f}x", before / now);
    };
    table.print_row({run.width == 0 ? "all" : std::to_string(run.width), fmt::format("{:.1f}%", 100 * p.sampling_rate),
                     accuracy_text(measured(p)), run.width == 0 ? "" : points(measured(p) - measured(whole)),
                     seconds_text(sparse_seconds(p.operators)),
                     times(sparse_seconds(whole.operators), sparse_seconds(p.operators)), seconds_text(p.seconds),
                     times(whole.seconds, p.seconds)});
  }
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
