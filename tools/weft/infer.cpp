// weft infer: what a trained model says of every node of a graph, seen before or not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "core/check.hpp"
#include "data_options.hpp"
#include "model_facts.hpp"
#include "options.hpp"
#include "predictions.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string data, load, dtype = "f32", device, threads = "0", out, scores, json;
  DataOptions parts;
};

bool is_csv(const std::string& path) { return path.ends_with(".csv"); }

void check_files(const Options& options) {
  if (!options.out.empty() && !options.out.ends_with(".npy") && !is_csv(options.out))
    throw UsageError(fmt::format("--out is '{}': expected a file that ends in .npy or .csv", options.out));
  if (!options.scores.empty() && !options.scores.ends_with(".npy"))
    throw UsageError(fmt::format("--scores is '{}': expected a file that ends in .npy", options.scores));
  const std::pair<std::string_view, const std::string*> files[] = {
      {"--out", &options.out}, {"--scores", &options.scores}, {"--json", &options.json}};
  for (std::size_t i = 0; i < std::size(files); ++i) {
    const std::string& path = *files[i].second;
    if (path.empty()) continue;
    for (std::size_t j = 0; j < i; ++j)
      if (path == *files[j].second)
        throw UsageError(fmt::format("{} and {} are both '{}': name two files", files[j].first, files[i].first, path));
    if (!(path == "-" && &path == &options.json)) check_savable(path);
  }
}

/// Nodes of each class.
std::vector<std::int64_t> histogram_of(const Predictions& predictions) {
  const std::int64_t classes = predictions.scores.shape().row_size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  if (predictions.classes.shape().rank == 1) {
    for (const std::int32_t label : predictions.classes.span<std::int32_t>()) ++counts[static_cast<std::size_t>(label)];
    return counts;
  }
  const auto has = predictions.classes.span<float>();
  for (std::size_t i = 0; i < has.size(); ++i)
    if (has[i] != 0) ++counts[i % counts.size()];
  return counts;
}

void print_histogram(std::FILE* out, const std::vector<std::int64_t>& counts) {
  constexpr std::size_t most_rows = 40;
  constexpr std::int64_t bar = 40;
  const std::int64_t most = counts.empty() ? 0 : *std::ranges::max_element(counts);
  print_line(out, "predicted classes (nodes a class)");
  for (std::size_t i = 0; i < std::min(counts.size(), most_rows); ++i) {
    const auto marks = most > 0 ? static_cast<std::size_t>((counts[i] * bar + most - 1) / most) : 0;
    const std::string line = fmt::format("  {:>8} {:>13} {}", i, grouped(counts[i]), std::string(marks, '#'));
    print_line(out, line.substr(0, line.find_last_not_of(' ') + 1));
  }
  if (counts.size() > most_rows) print_line(out, fmt::format("  and {} more classes", counts.size() - most_rows));
}

/// Why no accuracy is known.
std::string not_measured(const Dataset& dataset, const Model& model) {
  if (dataset.labels && dataset.classes != model.spec.classes)
    return fmt::format("not known: the data has {} classes, the model {}", dataset.classes, model.spec.classes);
  if (dataset.labels && dataset.multi_label() != model.spec.several_labels)
    return fmt::format("not known: nodes have {} in the data, and {} by the model",
                       dataset.multi_label() ? "several labels" : "one label",
                       model.spec.several_labels ? "several" : "one");
  return "not known: the data has no labels";
}

void print(std::FILE* out, const Dataset& dataset, const Model& model, const Predictions& predictions) {
  const auto line = [&](std::string_view label, const std::string& text) {
    print_line(out, fmt::format("{:<16}{}", label, text));
  };
  const std::string measure = measure_of(dataset);
  if (std::isfinite(predictions.accuracy)) {
    line("train " + measure, accuracy_text(predictions.train_accuracy));
    line("val " + measure, accuracy_text(predictions.val_accuracy));
    line("test " + measure, accuracy_text(predictions.test_accuracy));
    line("all " + measure, accuracy_text(predictions.accuracy));
  } else {
    line(measure, not_measured(dataset, model));
  }
  line("forward pass", seconds_text(predictions.seconds));
  print_histogram(out, histogram_of(predictions));
}

// What is not finite is written as null.
nlohmann::json run_json(const Options& options, const std::string& command, const Context& context,
                        const Dataset& dataset, const Model& model, const Predictions& predictions) {
  return {{"command", command},
          {"data", data_json(dataset, options.data)},
          {"model", spec_json(model.spec)},
          {"dtype", options.dtype},
          {"device", to_string(context.device())},
          {"threads", context.threads()},
          {"result",
           {{"measure", measure_of(dataset)},
            {"train_accuracy", predictions.train_accuracy},
            {"val_accuracy", predictions.val_accuracy},
            {"test_accuracy", predictions.test_accuracy},
            {"accuracy", predictions.accuracy},
            {"seconds", predictions.seconds},
            {"nodes_a_class", histogram_of(predictions)}}}};
}

int run(const Options& options, const std::string& command) {
  const auto dtypes = parse_dtypes(options.dtype);
  if (dtypes.size() != 1) throw UsageError("--dtype takes one type here");
  const std::int64_t threads = parse_count("--threads", options.threads, 0, 4096);
  options.parts.check();
  check_files(options);
  const Model model = load_model(options.load);
  Context context = pick_context(options.device, threads);
  // With JSON on stdout, people's output goes to stderr.
  std::FILE* out = options.json == "-" ? stderr : stdout;
  print_line(out, device_line(context));
  Dataset dataset = open_data(options.data);
  for (const std::string& line : options.parts.apply(dataset)) print_line(out, line);
  WEFT_CHECK(dataset.has_features(), invalid_argument,
             "'{}' has no features, and the model takes {} a node: give those that it was trained on with --features",
             options.data, model.spec.inputs);
  print_line(out, "data     " + data_line(dataset));
  if (!dataset.note.empty()) print_line(out, "note     " + dataset.note);
  print_line(out, "model    " + to_string(model.spec));
  const Predictions predictions = infer(context, dataset, model, dtypes.front());
  print(out, dataset, model, predictions);
  if (!options.out.empty()) {
    if (is_csv(options.out))
      save_csv(options.out, dataset, predictions);
    else
      save_npy(options.out, predictions.classes);
  }
  if (!options.scores.empty()) save_npy(options.scores, predictions.scores);
  const std::string json =
      options.json.empty() ? "" : json_text(run_json(options, command, context, dataset, model, predictions)) + "\n";
  if (options.json == "-")
    std::fputs(json.c_str(), stdout);
  else if (!options.json.empty())
    save_text(options.json, json);
  for (const std::string& path : {options.out, options.scores, options.json})
    if (!path.empty() && path != "-") print_line(out, wrote_line(path));
  return 0;
}

std::string command_text(const Options& options) {
  std::string text = fmt::format("weft infer --data {} --load {}", options.data, options.load);
  text += options.parts.command();
  if (options.dtype != "f32") text += " --dtype " + options.dtype;
  if (!options.device.empty()) text += " --device " + options.device;
  if (options.threads != "0") text += " --threads " + options.threads;
  return text;
}

}  // namespace

Command add_infer(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("infer", "Predict the classes of a dataset's nodes with a trained model");
  app->add_option("--data", options->data,
                  "A dataset with as many features as the model was trained on: a file or folder (docs/formats.md), or "
                  "a name (citations)")
      ->required();
  app->add_option("--load", options->load, "The model: a file that weft train --save has written")->required();
  options->parts.add_to(*app);
  app->add_option("--dtype", options->dtype, "Storage type of activations: f32, f16, bf16 or f64")
      ->capture_default_str();
  app->add_option("--device", options->device, "cpu, cuda or cuda:N; the first GPU by default, else the CPU");
  app->add_option("--threads", options->threads,
                  "CPU threads, which take the CPU where no device is named; 0 takes every core")
      ->capture_default_str();
  app->add_option(
      "--out", options->out,
      "Write the predictions to this file: .npy (i32, a class a node; f32 of 0 and 1 [nodes, classes] where "
      "nodes have several) or .csv (node,class,score; a line a class where nodes have several, and none of a node with "
      "none)");
  app->add_option("--scores", options->scores,
                  "Write the scores of all classes to this .npy file: f32 [nodes, classes]");
  app->add_option("--json", options->json, "Write accuracy, time and histogram to this file (- for standard output)");
  app->footer("Example:\n  weft infer --data citations --load gcn.safetensors --out predictions.csv");
  return {app, [options] { return run(*options, command_text(*options)); }};
}

}  // namespace weft::tool
