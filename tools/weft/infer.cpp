// weft infer: what a trained model says of every node of a graph, seen before or not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "adding.hpp"
#include "class_titles.hpp"
#include "command.hpp"
#include "core/check.hpp"
#include "data_options.hpp"
#include "infer_report.hpp"
#include "model_facts.hpp"
#include "nn/class_names.hpp"
#include "nn/known_nodes.hpp"
#include "nn/label_map.hpp"
#include "operator_times.hpp"
#include "option_text.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "predictions.hpp"
#include "reorder_option.hpp"
#include "sampled_inference.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "weight_facts.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string data, load, dtype = "f32", device, threads = "0", out, scores, probabilities, embeddings, json, report;
  std::string sample, sample_width;
  bool ignore_weights = false, no_checksum = false, time_by_operator = false;
  DataOptions parts;
  ReorderOption reorder;
};

bool is_csv(const std::string& path) { return path.ends_with(".csv"); }

void check_files(const Options& options) {
  if (!options.out.empty() && !options.out.ends_with(".npy") && !is_csv(options.out))
    throw UsageError(fmt::format("--out is '{}': expected a file that ends in .npy or .csv", options.out));
  const std::pair<std::string_view, const std::string*> files[] = {{"--scores", &options.scores},
                                                                   {"--probabilities", &options.probabilities},
                                                                   {"--embeddings", &options.embeddings},
                                                                   {"--out", &options.out},
                                                                   {"--json", &options.json},
                                                                   {"--report", &options.report}};
  check_one_on_stdout(options.json, options.report);
  for (const auto& [option, path] : std::span(files).first(3))
    if (!path->empty() && !path->ends_with(".npy"))
      throw UsageError(fmt::format("{} is '{}': expected a file that ends in .npy", option, *path));
  std::vector<NamedPath> inputs = options.parts.files();
  inputs.push_back({"--data", &options.data});
  inputs.push_back({"--load", &options.load});
  std::vector<NamedPath> outputs;
  for (const auto& [option, path] : files) outputs.push_back({option, path});
  check_distinct(outputs, inputs);
  for (const NamedPath& output : outputs)
    if (!output.path->empty() && *output.path != "-") check_savable(*output.path);
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

/// The model's names of its classes; those of the data where the model, as the first ones, has none and the data has as
/// many.
const NodeNames& names_of_classes(const Dataset& dataset, const Model& model) {
  static const NodeNames none;
  if (model.class_names) return model.class_names;
  const bool fit = dataset.class_names.count() == model.spec.classes && !nn::are_whole_numbers(dataset.class_names);
  return fit ? dataset.class_names : none;
}

void print_histogram(std::FILE* out, const std::vector<std::int64_t>& counts, const NodeNames& names) {
  constexpr std::size_t most_rows = 40;
  std::vector<HistogramRow> rows;
  for (std::size_t i = 0; i < std::min(counts.size(), most_rows); ++i)
    rows.push_back({class_title(names, static_cast<std::int64_t>(i)), counts[i]});
  print_line(out, "predicted classes (nodes a class)");
  for (const std::string& line : histogram_lines(rows, columns_of(out))) print_line(out, line);
  if (counts.size() > most_rows) print_line(out, fmt::format("  and {} more classes", counts.size() - most_rows));
}

/// What a person should hear of how the data's nodes and classes are those of the model.
std::vector<std::string> notes_on_match(const Dataset& dataset, const Model& model) {
  std::vector<std::string> notes;
  if (std::string note = nn::check_known_nodes(dataset, model); !note.empty()) notes.push_back(std::move(note));
  const std::vector<std::int32_t> map = nn::label_map_of(dataset, model);
  const bool in_order = std::ranges::is_sorted(map) && (map.empty() || map.back() + 1 == std::ssize(map));
  if (!in_order) notes.emplace_back("the data's classes are matched with the model's by name");
  return notes;
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

/// Accuracy on every split, and the time.
ReportLines figures_of(const Dataset& dataset, const Model& model, const Predictions& predictions) {
  ReportLines lines;
  const std::string measure = measure_of(dataset);
  if (std::isfinite(predictions.accuracy)) {
    lines.emplace_back("train " + measure, accuracy_text(predictions.train_accuracy));
    lines.emplace_back("val " + measure, accuracy_text(predictions.val_accuracy));
    lines.emplace_back("test " + measure, accuracy_text(predictions.test_accuracy));
    lines.emplace_back("all " + measure, accuracy_text(predictions.accuracy));
  } else {
    lines.emplace_back(measure, not_measured(dataset, model));
  }
  lines.emplace_back("forward pass", seconds_text(predictions.seconds));
  return lines;
}

void print(std::FILE* out, const Dataset& dataset, const Model& model, const Predictions& predictions,
           bool by_operator) {
  ReportLines lines = figures_of(dataset, model, predictions);
  if (by_operator) std::ranges::copy(operator_lines(predictions.operators), std::back_inserter(lines));
  for (const auto& [label, text] : lines) print_line(out, fmt::format("{:<16}{}", label, text));
  print_histogram(out, histogram_of(predictions), names_of_classes(dataset, model));
}

ReportHead head_of(const std::string& command, const Context& context, const Dataset& dataset, const Model& model,
                   const std::string& weights, const std::vector<SampledRun>& runs) {
  ReportHead head{"weft infer", fmt::format("{} on {}", name(model.spec.architecture), dataset.name), command, {}};
  if (runs.size() == 1) head.lines = figures_of(dataset, model, runs.front().predictions);  // else a table has them
  head.lines.emplace_back("data", data_line(dataset));
  if (!dataset.note.empty()) head.lines.emplace_back("note", dataset.note);
  head.lines.emplace_back("edge weights", weights.empty() ? "none" : weights);
  head.lines.emplace_back("model", to_string(model.spec));
  add_origin(head.lines, context);
  return head;
}

// What is not finite is written as null.
nlohmann::json run_json(const Options& options, const std::string& command, const Context& context,
                        const Dataset& dataset, const Model& model, const Predictions& predictions,
                        const std::vector<SampledRun>& sampled, EdgeSampling method) {
  nlohmann::json json = {{"command", command},
                         {"data", data_json(dataset, options.data)},
                         {"model", spec_json(model.spec)},
                         {"dtype", name(parse_floating_dtype(options.dtype))},
                         {"device", to_string(context.device())},
                         {"threads", context.threads()},
                         {"result",
                          {{"measure", measure_of(dataset)},
                           {"train_accuracy", predictions.train_accuracy},
                           {"val_accuracy", predictions.val_accuracy},
                           {"test_accuracy", predictions.test_accuracy},
                           {"accuracy", predictions.accuracy},
                           {"seconds", predictions.seconds},
                           {"nodes_a_class", histogram_of(predictions)},
                           {"class_names", class_names_of(names_of_classes(dataset, model))}}}};
  if (options.time_by_operator) json["result"]["operators"] = operators_json(predictions.operators);
  if (sampled.size() > 1) json["sample"] = sampled_json(method, sampled);
  return json;
}

/// By the numbers that nodes had before they were renumbered.
void restore(Predictions& predictions, const Reordering& order) {
  for (Tensor* const rows : {&predictions.scores, &predictions.classes, &predictions.embeddings})
    if (*rows) *rows = restored(*rows, order);
}

int run(const Options& options, const std::string& command) {
  const auto dtypes = parse_dtypes(options.dtype);
  if (dtypes.size() != 1) throw UsageError("--dtype takes one type here");
  const std::int64_t threads = parse_count("--threads", options.threads, 0, 4096);
  options.parts.check();
  options.reorder.check();
  check_files(options);
  const std::vector<std::int64_t> widths = parse_sample_widths(options.sample, options.sample_width);
  const EdgeSampling method = options.sample.empty()
                                  ? EdgeSampling::fastrand
                                  : as_usage("--sample", [&] { return parse_edge_sampling(options.sample); });
  const std::string* const files[] = {&options.out, &options.scores, &options.probabilities, &options.embeddings};
  if (widths.size() > 1 && std::ranges::any_of(files, [](const std::string* file) { return !file->empty(); }))
    throw UsageError("--sample-width has several widths: predictions of one alone can be written; give one width");
  Model model = load_model(options.load, options.no_checksum ? Checksum::ignored : Checksum::required);
  Context context = pick_context(options.device, threads);
  // With JSON or the page on stdout, people's output goes to stderr.
  std::FILE* out = options.json == "-" || options.report == "-" ? stderr : stdout;
  print_line(out, device_line(context));
  Dataset dataset = open_data(options.data);
  DataOptions parts = options.parts;
  if (model.reverses_edges && parts.reverse_edges_unless_told())
    print_line(out,
               "note     the model was trained with --undirected: edges get their reverse here too (--directed: not)");
  for (const std::string& line : parts.apply(dataset)) print_line(out, line);
  WEFT_CHECK(dataset.has_features(), invalid_argument,
             "'{}' has no features, and the model takes {} a node: give those that it was trained on with --features",
             options.data, model.spec.inputs);
  print_line(out, "data     " + data_line(dataset));
  const bool renumbers = options.reorder.given();
  const Reordering order = renumbers ? options.reorder.find(context, dataset) : Reordering{};
  if (renumbers) print_line(out, "order    " + order_text(order));
  if (!dataset.note.empty()) print_line(out, "note     " + dataset.note);
  const std::string weights = inference_weights(dataset, model.spec, options.ignore_weights);
  if (!weights.empty()) print_line(out, "weights  " + weights);
  print_line(out, "model    " + to_string(model.spec));
  const std::vector<std::string> notes = notes_on_match(dataset, model);
  if (options.ignore_weights) model.spec.edge_weights = false;
  const bool by_operator = options.time_by_operator || !options.report.empty();
  const InferOptions how{dtypes.front(), !options.embeddings.empty(), by_operator, {.method = method}};
  const Dataset renumbered = renumbers ? reordered(dataset, order) : Dataset{};
  std::vector<SampledRun> runs = run_sampled(context, renumbers ? renumbered : dataset, model, how, widths);
  if (renumbers) restore(runs.back().predictions, order);
  const Predictions& predictions = runs.back().predictions;  // what is written
  for (const std::string& note : notes) print_line(out, "note     " + note);
  if (!widths.empty()) print_sampled(out, dataset, method, runs);
  if (widths.size() < 2) print(out, dataset, model, predictions, options.time_by_operator);
  const bool wanted = is_csv(options.out) || !options.probabilities.empty();
  const Tensor chances = wanted ? probabilities(predictions.scores, model.spec.several_labels) : Tensor();
  Outputs outputs(out);
  outputs.add("--out", options.out, [&](const std::string& path) {
    if (is_csv(path))
      save_csv(path, dataset, names_of_classes(dataset, model), predictions, chances);
    else
      save_npy(path, predictions.classes);
  });
  outputs.add("--scores", options.scores, [&](const std::string& path) { save_npy(path, predictions.scores); });
  outputs.add("--probabilities", options.probabilities, [&](const std::string& path) { save_npy(path, chances); });
  outputs.add("--embeddings", options.embeddings,
              [&](const std::string& path) { save_npy(path, predictions.embeddings); });
  outputs.add_text("--json", options.json, [&] {
    nlohmann::json json = run_json(options, command, context, dataset, model, predictions, runs, method);
    if (renumbers) json["order"] = order_json(order);
    return json_text(json) + "\n";
  });
  outputs.add_text("--report", options.report, [&] {
    return infer_report(head_of(command, context, dataset, model, weights, runs), dataset, method, runs);
  });
  return outputs.write_all();
}

std::string command_text(const Options& options) {
  std::string text = fmt::format("weft infer --data {} --load {}", options.data, options.load);
  if (options.no_checksum) text += " --no-checksum";
  text += options.parts.command() + options.reorder.command();
  if (options.dtype != "f32") text += " --dtype " + options.dtype;
  if (options.ignore_weights) text += " --ignore-weights";
  if (options.time_by_operator) text += " --time-by-operator";
  if (!options.sample.empty()) text += " --sample " + options.sample;
  if (!options.sample_width.empty()) text += " --sample-width " + options.sample_width;
  if (!options.device.empty()) text += " --device " + options.device;
  if (options.threads != "0") text += " --threads " + options.threads;
  return text;
}

}  // namespace

Command add_infer(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "infer", "Predict the classes of a dataset's nodes with a trained model");
  app->add_option("--data", options->data,
                  "A dataset with as many features as the model was trained on: a file or folder (docs/formats.md), or "
                  "a name (citations)")
      ->type_name("DATA")
      ->required();
  app->add_option("--load", options->load, "The model: a file that weft train --save has written")
      ->type_name("FILE")
      ->required();
  app->add_flag("--no-checksum", options->no_checksum,
                "Read the model whatever its checksum, as one that another tool has rewritten needs it; damage to the "
                "file may go unnoticed then");
  app->add_flag("--ignore-weights", options->ignore_weights,
                "Take every edge for one of weight 1, also where the model was trained with edge weights");
  options->parts.add_to(*app);
  options->reorder.add_to(*app, "Data");
  app->add_option("--dtype", options->dtype, "Storage type of activations")
      ->type_name(one_of_floating_dtypes())
      ->capture_default_str();
  app->add_flag("--time-by-operator", options->time_by_operator, "Show where the time of the forward pass goes");
  app->add_option("--sample", options->sample, "With --sample-width, which edges of a row are kept (default fastrand)")
      ->type_name(one_of<EdgeSampling>());
  app->add_option("--sample-width", options->sample_width,
                  "Keep at most so many edges of every row, as ES-SpMM does; shows accuracy and time beside those of "
                  "all edges, for several widths a line each")
      ->type_name("N,N,..");
  add_device(*app, options->device, options->threads);
  app->add_option(
         "--out", options->out,
         "Write the predictions to this file: .npy (i32, a class per node; f32 of 0 and 1 [nodes, classes] where "
         "nodes have several) or .csv (node,class,score,probability; a line per class where nodes have several, and "
         "none "
         "of a node with none)")
      ->type_name("FILE");
  app->add_option("--scores", options->scores,
                  "Write the scores of all classes to this .npy file: f32 [nodes, classes]")
      ->type_name("FILE");
  app->add_option("--probabilities", options->probabilities,
                  "Write the probabilities of all classes to this .npy file: f32 [nodes, classes], the softmax of a "
                  "node's scores, or the sigmoid of each where nodes have several classes")
      ->type_name("FILE");
  app->add_option("--embeddings", options->embeddings,
                  "Write what the last layer reads to this .npy file: f32 [nodes, width], the output of the last "
                  "hidden layer after its activation")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write accuracy, time and histogram to this file (- for standard output)")
      ->type_name("FILE");
  app->add_option("--report", options->report,
                  "Write an HTML page to this file (- for standard output): with --sample-width the table and accuracy "
                  "over time, without it accuracy and the time by operator")
      ->type_name("FILE");
  app->footer(
      "Example:\n  weft infer --data citations --load gcn.safetensors --out predictions.csv\n"
      "  weft infer --data citations --load gcn.safetensors --embeddings hidden.npy");
  return {app, [options] { return run(*options, command_text(*options)); }};
}

}  // namespace weft::tool
