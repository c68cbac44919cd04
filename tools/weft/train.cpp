// weft train: a graph neural network on a dataset, watched while it learns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "data_options.hpp"
#include "machine.hpp"
#include "model_facts.hpp"
#include "options.hpp"
#include "synthetic.hpp"
#include "text.hpp"
#include "train_curve.hpp"
#include "train_options.hpp"
#include "train_progress.hpp"
#include "train_report.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

volatile std::sig_atomic_t caught = 0;
extern "C" void remember_signal(int signal) { caught = signal; }

/// While it lives SIGINT and SIGTERM are remembered instead of ending the program, each once: whoever sends one again
/// means it. What the caller has told the program to ignore stays ignored.
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

std::string_view signal_name(int signal) { return signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

nlohmann::json sampling_json(const SampleOptions& sample) {
  return {{"method", name(sample.method)}, {"batch", sample.batch},     {"walk_length", sample.walk_length},
          {"fanouts", sample.fanouts},     {"batches", sample.batches}, {"coverage", sample.coverage}};
}

nlohmann::json options_json(const TrainOptions& options) {
  return {{"epochs", options.epochs},
          {"optimiser", name(options.optimiser)},
          {"lr", options.lr},
          {"weight_decay", options.weight_decay},
          {"decay_first_layer_only", options.decay_first_layer_only},
          {"momentum", options.momentum},
          {"beta1", options.beta1},
          {"beta2", options.beta2},
          {"epsilon", options.epsilon},
          {"schedule", name(options.schedule)},
          {"warmup", options.warmup},
          {"every", options.every},
          {"gamma", options.gamma},
          {"patience", options.patience},
          {"eval_every", options.eval_every},
          {"best_by", name(options.best_by)},
          {"dtype", name(options.dtype)},
          {"tf32", options.tf32},
          {"recompute", options.recompute ? nlohmann::json(*options.recompute) : nlohmann::json(nullptr)},
          {"seed", options.seed},
          {"sample", sampling_json(options.sample)},
          {"checkpoint_every", options.checkpoint_every},
          {"resume", options.resume}};
}

// What is not finite is written as null.
nlohmann::json epoch_json(const EpochFigures& figures) {
  return {{"epoch", figures.epoch},
          {"loss", figures.loss},
          {"train_accuracy", figures.train_accuracy},
          {"val_accuracy", figures.val_accuracy},
          {"test_accuracy", figures.test_accuracy},
          {"val_loss", figures.val_loss},
          {"lr", figures.lr},
          {"loss_scale", figures.loss_scale},
          {"seconds", figures.seconds}};
}

/// A run that is over.
struct Trained {
  const TrainRequest& request;
  const Dataset& dataset;
  const Context& context;
  TrainResult result;
  std::int64_t seen = 0;  // epochs of this very run: with --resume others came before
  int signal = 0;         // that ended it, or 0

  double epochs_a_second() const { return seen > 0 && result.epoch_seconds > 0 ? 1 / result.epoch_seconds : 0; }
  std::int64_t last_epoch() const { return result.epochs.empty() ? 0 : result.epochs.back().epoch; }

  /// How it ended, where that was not after the last epoch.
  std::string ending() const {
    const std::string where = fmt::format("after epoch {} of {}", last_epoch(), request.options.epochs);
    if (result.interrupted)
      return fmt::format("interrupted {}{}", signal != 0 ? fmt::format("by {} ", signal_name(signal)) : "", where);
    if (!result.stopped_early) return "";
    return fmt::format("{}: {} epochs without a better one", where, request.options.patience);
  }

  std::vector<std::pair<std::string, std::string>> lines() const {
    const std::string measure = measure_of(dataset);
    std::vector<std::pair<std::string, std::string>> lines{
        {"best epoch", result.best_epoch > 0 ? fmt::format("{} of {}", result.best_epoch, last_epoch())
                                             : fmt::format("not known: the model is of epoch {}", last_epoch())},
        {"train " + measure, accuracy_text(result.train_accuracy)},
        {"val " + measure, accuracy_text(result.val_accuracy)},
        {"test " + measure, accuracy_text(result.test_accuracy)},
        {"time", fmt::format("{}, {} epochs/s", seconds_text(result.seconds), short_number(epochs_a_second()))},
        {"peak memory", bytes_text(static_cast<double>(result.peak_bytes))}};
    if (request.options.sample.method != Sampling::none)
      lines.emplace_back(
          "batches", fmt::format("{} an epoch, by {}", grouped(result.batches), name(request.options.sample.method)));
    if (result.skipped_steps > 0) lines.emplace_back("skipped", skipped());
    if (const std::string text = ending(); !text.empty()) lines.emplace_back("ended", text);
    return lines;
  }
  /// Steps without an effect, in f16. A few are the way to a loss scale that fits; more say what to change.
  std::string skipped() const {
    std::string text =
        fmt::format("{} of {} steps, whose gradients were beyond f16 (loss scale {})", grouped(result.skipped_steps),
                    grouped(result.steps()), short_number(result.epochs.empty() ? 1 : result.epochs.back().loss_scale));
    if (2 * result.skipped_steps < result.steps()) return text;
    const bool gin = request.spec.architecture == Architecture::gin && request.spec.lambda == 0;
    return text + fmt::format("; --dtype bf16, --norm layer{} may help", gin ? " or --gin-lambda 1" : "");
  }
};

nlohmann::json run_json(const Trained& run) {
  const TrainResult& result = run.result;
  nlohmann::json epochs = nlohmann::json::array();
  for (const EpochFigures& figures : result.epochs) epochs.push_back(epoch_json(figures));
  return {{"command", run.request.command},
          {"commit", build_commit()},
          {"date", utc_now()},
          {"device_line", device_line(run.context)},
          {"data", data_json(run.dataset, run.request.data)},
          {"model", spec_json(result.model.spec)},
          {"options", options_json(run.request.options)},
          {"device", to_string(run.context.device())},
          {"threads", run.context.threads()},
          {"result",
           {{"best_epoch", result.best_epoch},
            {"batches_an_epoch", result.batches},
            {"steps", result.steps()},
            {"skipped_steps", result.skipped_steps},
            {"measure", measure_of(run.dataset)},
            {"train_accuracy", result.train_accuracy},
            {"val_accuracy", result.val_accuracy},
            {"test_accuracy", result.test_accuracy},
            {"seconds", result.seconds},
            {"epoch_seconds", result.epoch_seconds},
            {"epochs_a_second", run.epochs_a_second()},
            {"peak_bytes", result.peak_bytes},
            {"parameters", result.model.num_parameters()},
            {"stopped_early", result.stopped_early},
            {"interrupted", result.interrupted}}},
          {"epochs", std::move(epochs)}};
}

/// "adam, lr 0.01, weight decay 0.0005 of the first layer, 200 epochs, patience 100, f32, seed 0"
std::string training_line(const TrainOptions& options) {
  std::string text = fmt::format("{}, lr {}", name(options.optimiser), options.lr);
  if (options.schedule != Schedule::constant) text += fmt::format(" ({})", name(options.schedule));
  if (options.weight_decay > 0)
    text += fmt::format(", weight decay {}{}", options.weight_decay,
                        options.decay_first_layer_only ? " of the first layer" : "");
  text += fmt::format(", {} epochs", grouped(options.epochs));
  if (options.patience > 0) text += fmt::format(", patience {}", options.patience);
  if (options.sample.method != Sampling::none) text += fmt::format(", batches by {}", name(options.sample.method));
  return text + fmt::format(", {}{}, seed {}", name(options.dtype), options.tf32 ? " (tf32)" : "", options.seed);
}

TrainSummary summary_of(const Trained& run) {
  TrainSummary summary;
  summary.title = fmt::format("{} on {}", name(run.request.spec.architecture), run.dataset.name);
  summary.command = run.request.command;
  summary.measure = measure_of(run.dataset);
  summary.lines = run.lines();
  summary.lines.emplace_back("data", data_line(run.dataset));
  if (!run.dataset.note.empty()) summary.lines.emplace_back("note", run.dataset.note);
  summary.lines.emplace_back("model", to_string(run.result.model.spec));
  summary.lines.emplace_back("training", training_line(run.request.options));
  summary.lines.emplace_back("device", to_string(run.context.device()));
  summary.epochs = run.result.epochs;
  summary.best_epoch = run.result.best_epoch;
  return summary;
}

void print_curves(std::FILE* out, const Trained& run) {
  const std::vector<EpochFigures>& epochs = run.result.epochs;
  const auto print_curve = [&](const std::string& title, double EpochFigures::*figure) {
    std::vector<double> values;
    values.reserve(epochs.size());
    for (const EpochFigures& figures : epochs) values.push_back(figures.*figure);
    const std::string curve = curve_text(values, epochs.empty() ? 1 : epochs.front().epoch);
    if (!curve.empty()) print_line(out, "\n" + title + "\n" + curve.substr(0, curve.size() - 1));
  };
  print_curve("loss", &EpochFigures::loss);
  print_curve("validation " + measure_of(run.dataset), &EpochFigures::val_accuracy);
  print_line(out, "");
}

void write_files(std::FILE* out, const Trained& run) {
  const TrainRequest& request = run.request;
  if (!request.save.empty()) save_model(request.save, run.result.model);
  const std::string json = request.json.empty() ? "" : json_text(run_json(run)) + "\n";
  if (request.json == "-")
    std::fputs(json.c_str(), stdout);
  else if (!request.json.empty())
    save_text(request.json, json);
  if (!request.report.empty()) save_text(request.report, train_report(summary_of(run)));
  for (const std::string& path : {request.save, request.json, request.report})
    if (!path.empty() && path != "-") print_line(out, wrote_line(path));
}

int run(TrainRequest request) {
  for (const std::string& path : {request.save, request.options.checkpoint, request.json, request.report})
    if (!path.empty() && !(path == "-" && path == request.json)) check_savable(path);
  Context context = pick_context(request.device, request.threads);
  // With JSON on stdout, people's output goes to stderr.
  std::FILE* out = request.json == "-" ? stderr : stdout;
  if (!request.quiet) print_line(out, device_line(context));
  Dataset dataset = open_data(request.data);
  if (request.random_features > 0) make_up(dataset, request.random_features, request.random_classes);
  for (const std::string& line : request.parts.apply(dataset))
    if (!request.quiet) print_line(out, line);
  check_learnable(dataset, request.data);
  request.spec.inputs = dataset.num_features();
  request.spec.classes = dataset.classes;
  request.spec.several_labels = dataset.multi_label();
  Model model = make_model(request.spec, request.options.seed);
  if (!request.quiet) {
    print_line(out, "data     " + data_line(dataset));
    if (!dataset.note.empty()) print_line(out, "note     " + dataset.note);
    const std::string text = to_string(model);
    print_line(out, text.substr(0, text.find_last_not_of('\n') + 1));
    print_line(out, "training " + training_line(request.options));
    if (request.options.patience > 0 && (!dataset.val || dataset.val.shape().size() == 0))
      print_line(out, "note     no validation split: --patience ends nothing, and the model is the last epoch's");
    std::fflush(out);
  }
  Trained trained{request, dataset, context, {}};
  {
    TrainProgress progress(request.options.epochs, context.device(), request.quiet);
    const Interrupts interrupts;
    trained.result = train(context, dataset, std::move(model), request.options, [&](const EpochFigures& figures) {
      progress.show(figures);
      return caught == 0;
    });
    trained.seen = progress.seen();
    trained.signal = caught;
  }
  if (!request.quiet) print_curves(out, trained);
  for (const auto& [label, text] : trained.lines()) print_line(out, fmt::format("{:<16}{}", label, text));
  write_files(out, trained);
  return trained.signal != 0 ? 128 + trained.signal : 0;
}

}  // namespace

Command add_train(CLI::App& root) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* app = root.add_subcommand("train", "Train a graph neural network on a dataset");
  arguments->add_to(*app);
  app->footer(
      "Example:\n  weft train --data citations --model gcn --report gcn.html --save gcn.safetensors\n"
      "  weft train --data cora --model gat --epochs 500 --patience 100\n"
      "  weft train --data reddit --model sage --hidden 128 --sampler neighbour --batch 1024 --fanout 25,10\n\n"
      "What is left out is as the model's paper has it for citation graphs. Ctrl-C ends training after the epoch, and "
      "what\nthere is by then is written; the exit status is 130 then (143 after SIGTERM).");
  return {app, [arguments] { return run(arguments->read()); }};
}

}  // namespace weft::tool
