// weft train: a graph neural network on a dataset, watched while it learns.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "confusion.hpp"
#include "core/check.hpp"
#include "data_options.hpp"
#include "model_facts.hpp"
#include "nn/edge_weights.hpp"
#include "nn/known_nodes.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "synthetic.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "train_curve.hpp"
#include "train_log.hpp"
#include "train_options.hpp"
#include "train_progress.hpp"
#include "train_report.hpp"
#include "train_run.hpp"
#include "train_settings.hpp"
#include "weight_facts.hpp"

namespace weft::tool {
namespace {

volatile std::sig_atomic_t caught = 0;
extern "C" void remember_signal(int signal) {
  caught = signal;
  // Whichever comes next ends the program at once; only calls that POSIX allows in a handler.
  for (const int next : {SIGINT, SIGTERM}) {
    struct sigaction now {};
    sigaction(next, nullptr, &now);
    if (now.sa_handler == remember_signal) std::signal(next, SIG_DFL);
  }
}

/// While it lives the first SIGINT or SIGTERM is remembered instead of ending the program; a second one of either ends
/// it. What the caller has told the program to ignore stays ignored.
class Interrupts {
 public:
  Interrupts() {
    caught = 0;
    for (Held& held : held_) {
      struct sigaction action {};
      action.sa_handler = remember_signal;
      action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
      sigemptyset(&action.sa_mask);
      sigaction(held.signal, nullptr, &held.before);
      if (held.before.sa_handler != SIG_IGN) sigaction(held.signal, &action, nullptr);
    }
  }
  ~Interrupts() {
    for (const Held& held : held_) sigaction(held.signal, &held.before, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  struct Held {
    int signal;
    struct sigaction before {};
  };
  Held held_[2] = {{SIGINT}, {SIGTERM}};
};

/// The confusion matrix of the best model, or why there is none.
std::string confusion_section(const Trained& trained) {
  if (trained.dataset.multi_label() || !trained.dataset.test) return "";
  try {
    const Predictions predictions =
        infer(trained.context, trained.dataset, trained.best().result.model, trained.request.options.dtype);
    return confusion_html(confusion_of(trained.dataset, predictions));
  } catch (const Error& error) {  // the rest of the page stands without it
    return fmt::format("<p>not made: {}</p>\n", escaped(error.what()));
  }
}

TrainSummary summary_of(const Trained& trained) {
  TrainSummary summary;
  const Dataset& dataset = trained.dataset;
  summary.measure = measure_of(dataset);
  summary.head = {"weft train", fmt::format("{} on {}", name(trained.request.spec.architecture), dataset.name),
                  trained.request.command, trained.lines()};
  ReportLines& lines = summary.head.lines;
  lines.emplace_back("data", data_line(dataset));
  if (!dataset.note.empty()) lines.emplace_back("note", dataset.note);
  const std::string weights = training_weights(dataset, trained.request.options.ignore_weights);
  lines.emplace_back("edge weights", weights.empty() ? "none" : weights);
  lines.emplace_back("model", to_string(trained.best().result.model.spec));
  lines.emplace_back("training", training_line(trained.request));
  add_origin(lines, trained.context);
  if (trained.several()) summary.runs = trained.table();
  summary.epochs = trained.best().result.epochs;
  summary.best_epoch = trained.best().result.best_epoch;
  summary.confusion = confusion_section(trained);
  return summary;
}

void print_curves(std::FILE* out, const Trained& trained) {
  const std::vector<EpochFigures>& epochs = trained.best().result.epochs;
  constexpr int widest_curve = 100;
  const CurveSize size{.columns = widest_curve, .line = columns_of(out) - 1};
  const auto print_curve = [&](const std::string& title, double EpochFigures::*figure) {
    std::vector<double> values;
    values.reserve(epochs.size());
    for (const EpochFigures& figures : epochs) values.push_back(figures.*figure);
    const std::string curve = curve_text(values, epochs.empty() ? 1 : epochs.front().epoch, size);
    if (!curve.empty()) print_line(out, "\n" + title + "\n" + curve.substr(0, curve.size() - 1));
  };
  print_curve("loss", &EpochFigures::loss);
  print_curve("validation " + measure_of(trained.dataset), &EpochFigures::val_accuracy);
  print_line(out, "");
}

/// A dataset that a model can be trained on, or an Error.
Dataset open_training_data(const TrainRequest& request, std::FILE* out) {
  Dataset dataset = open_data(request.data);
  if (request.random_features > 0) make_up(dataset, request.random_features, request.random_classes);
  for (const std::string& line : request.parts.apply(dataset))
    if (!request.quiet) print_line(out, line);
  check_learnable(dataset, request.data);
  return dataset;
}

void print_plan(std::FILE* out, const TrainRequest& request, const Dataset& dataset, const Model& model) {
  print_line(out, "data     " + data_line(dataset));
  if (!dataset.note.empty()) print_line(out, "note     " + dataset.note);
  const std::string weights = training_weights(dataset, request.options.ignore_weights);
  if (!weights.empty()) print_line(out, "weights  " + weights);
  const std::string text = to_string(model);
  print_line(out, text.substr(0, text.find_last_not_of('\n') + 1));
  print_line(out, "training " + training_line(request));
  if (request.options.patience > 0 && (!dataset.val || dataset.val.shape().size() == 0))
    print_line(out, "note     no validation split: --patience ends nothing, and the model is the last epoch's");
  std::fflush(out);
}

/// Run after run, until all are done or a signal comes. A later run that fails is reported, and those before it stay.
void train_all(Context& context, Trained& trained, TrainLog& log, Outputs& outputs, std::FILE* out) {
  const TrainRequest& request = trained.request;
  const Interrupts interrupts;
  for (std::int64_t i = 0; i < request.runs && (i == 0 || caught == 0); ++i) {
    TrainRun run;
    TrainOptions options = request.options;
    options.seed += static_cast<std::uint64_t>(i);
    run.seed = options.seed;
    try {
      TrainProgress progress(options.epochs, context.device(), request.quiet);
      run.result = train(context, trained.dataset, make_model(request.spec, run.seed), options,
                         [&](const EpochFigures& figures) {
                           progress.show(figures);
                           log.add(i + 1, run.seed, figures);
                           return caught == 0;
                         });
      run.seen = progress.seen();
    } catch (const std::exception& error) {  // running out of memory included
      if (i == 0) throw;
      outputs.report_failure("--runs", fmt::format("run {} (seed {}) failed: {}", i + 1, run.seed, error.what()));
      break;
    }
    trained.signal = caught;
    trained.runs.push_back(std::move(run));
    const std::size_t best = trained.best_index();
    for (std::size_t other = 0; other < trained.runs.size(); ++other)
      if (other != best) trained.runs[other].result.model = {};  // thousands of runs would fill the memory
    if (!trained.several()) continue;
    print_line(out, trained.run_line(static_cast<std::size_t>(i)));
    std::fflush(out);
  }
  trained.signal = caught;
}

int run(TrainRequest request) {
  for (const std::string& path : {request.save, request.options.checkpoint, request.json, request.report, request.log})
    if (!path.empty() && path != "-") check_savable(path);
  Context context = pick_context(request.device, request.threads);
  // With JSON or the page on stdout, people's output goes to stderr.
  std::FILE* out = request.json == "-" || request.report == "-" ? stderr : stdout;
  if (!request.quiet) print_line(out, device_line(context));
  Dataset dataset = open_training_data(request, out);
  const std::optional<KnownNodes> known_nodes = nn::known_nodes_of(dataset);
  const bool renumbers = request.reorder.given();
  const Reordering order = renumbers ? request.reorder.find(context, dataset) : Reordering{};
  if (renumbers) dataset = reordered(dataset, order);
  if (renumbers && !request.quiet) print_line(out, "order    " + order_text(order));
  request.spec.inputs = dataset.num_features();
  request.spec.classes = dataset.classes;
  request.spec.several_labels = dataset.multi_label();
  request.spec.edge_weights =
      nn::learns_from_weights(dataset, request.spec.architecture, request.options.ignore_weights);
  if (!request.quiet) print_plan(out, request, dataset, make_model(request.spec, request.options.seed));
  const bool resumes = request.options.resume && std::filesystem::exists(request.options.checkpoint);
  TrainLog log(request.log, {.several_runs = request.runs > 1, .goes_on = resumes});
  Trained trained{request, dataset, context};
  Outputs outputs(out);
  train_all(context, trained, log, outputs, out);
  if (!request.quiet) print_curves(out, trained);
  for (const auto& [label, text] : trained.lines()) print_line(out, fmt::format("{:<16}{}", label, text));
  const TrainResult& best = trained.best().result;
  if (best.failed_checkpoints > 0)
    outputs.report_failure("--checkpoint", fmt::format("{} of this run's checkpoints could not be written: {}",
                                                       best.failed_checkpoints, best.checkpoint_error));
  log.finish();
  if (!log.error().empty()) outputs.report_failure("--log", log.error());
  outputs.add("--save", request.save, [&](const std::string& path) {
    Model model = best.model.clone();
    model.reverses_edges = request.parts.direction().undirected;
    model.known_nodes = known_nodes;  // by the numbers of the data
    save_model(path, model);
  });
  outputs.add_text("--json", request.json, [&] {
    nlohmann::json json = trained.json();
    if (renumbers) json["order"] = order_json(order);
    return json_text(json) + "\n";
  });
  outputs.add_text("--report", request.report, [&] { return train_report(summary_of(trained)); });
  return outputs.write_all(trained.signal != 0 ? 128 + trained.signal : 0);
}

}  // namespace

Command add_train(CLI::App& root) {
  auto arguments = std::make_shared<TrainArguments>();
  Adding app(root, "train", "Train a graph neural network on a dataset");
  arguments->add_to(*app);
  app->footer("");  // the parent's, which would follow
  app->footer([] {
    return defaults_table() +
           "\n\nExample:\n"
           "  weft train --data citations --model gcn --save gcn.safetensors\n"
           "  weft train --data cora --model gat --epochs 500 --patience 100\n"
           "  weft train --data reddit --model sage --sampler neighbour --fanout 25,10\n\n"
           "Ctrl-C ends training after the epoch, and what there is by then is written; the\n"
           "exit status is 130 then (143 after SIGTERM). Every file asked for is tried: one\n"
           "that cannot be written is one line on stderr and the exit status 1, and neither\n"
           "ends training nor keeps the others from being written.";
  });
  return {app, [arguments] { return run(arguments->read()); }};
}

}  // namespace weft::tool
