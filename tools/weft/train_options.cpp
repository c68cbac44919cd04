#include "train_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include "nn/sample/batch.hpp"
#include "option_text.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "train_settings.hpp"

namespace weft::tool {
namespace {

/// A UsageError where `chosen` is not among those an option is for.
template <class T>
void check_among(const std::string& option, const std::vector<T>& users, T chosen, std::string_view what) {
  if (users.empty() || std::ranges::count(users, chosen) > 0) return;
  std::string which;
  for (const T user : users) which += (which.empty() ? "" : " and ") + std::string(name(user));
  throw UsageError(fmt::format("{}: {}{} has no use for it, only {}", option, what, name(chosen), which));
}

void check_files(const TrainRequest& request) {
  check_one_on_stdout(request.json, request.report);
  std::vector<NamedPath> inputs = request.parts.files();
  inputs.push_back({"--data", &request.data});
  const std::vector<NamedPath> outputs{{"--save", &request.save},
                                       {"--checkpoint", &request.options.checkpoint},
                                       {"--log", &request.log},
                                       {"--json", &request.json},
                                       {"--report", &request.report}};
  check_distinct(outputs, inputs);
  for (const NamedPath& output : std::span(outputs).first(3))
    if (*output.path == "-")
      throw UsageError(
          fmt::format("{} is '-': expected the name of a file; only --json and --report go to standard "
                      "output",
                      output.option));
  if (request.runs > 1 && !request.options.checkpoint.empty())
    throw UsageError("--checkpoint: a checkpoint is of one run; leave out --runs, or train each --seed by itself");
  if (!request.options.checkpoint.empty()) return;
  if (request.options.resume) throw UsageError("--resume: name the --checkpoint to go on from");
  if (request.options.checkpoint_every > 0) throw UsageError("--checkpoint-every: name the file with --checkpoint");
}

}  // namespace

void TrainArguments::add_to(CLI::App& app) {
  app.add_option("--data", data_, "A dataset: a file, a folder or a name such as citations (docs/formats.md)")
      ->type_name("DATA")
      ->required();
  app.add_option("--model", model_, "The model")->type_name(one_of<Architecture>())->required();
  parts_.add_to(app);
  reorder_.add_to(app, "Data");
  texts_.resize(settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    settings_.push_back(app.add_option(setting.names, texts_[i], help_of(setting))
                            ->type_name(setting.field.type)
                            ->default_str(common_default(setting))
                            ->group(setting.group));
  }
  for (const Switch& each : switches()) {
    const std::string help = help_of(each);
    switches_.push_back(app.add_flag(each.names(), help)->default_str(common_default(each))->group(each.group));
  }
  app.add_option("--synthetic", synthetic_,
                 "FEATURES,CLASSES: random features and labels for a graph that has none, to see what training costs")
      ->type_name("N,N")
      ->group(of_run);
  add_device(app, device_, threads_, of_run);
  app.add_option("--save", save_,
                 "Write the model of the best epoch, with --runs of the best run, to this file (safetensors)")
      ->type_name("FILE")
      ->group(of_output);
  app.add_option("--checkpoint", checkpoint_, "Write what training can go on from to this file; not with --runs")
      ->type_name("FILE")
      ->group(of_output);
  app.add_option("--checkpoint-every", checkpoint_every_, "Epochs between checkpoints; 0: only when interrupted")
      ->type_name("N")
      ->capture_default_str()
      ->group(of_output);
  app.add_flag("--resume", resume_, "Go on from the checkpoint where it exists")->group(of_output);
  app.add_option("--json", json_, "Write options, result and every epoch to this file (- for standard output)")
      ->type_name("FILE")
      ->group(of_output);
  app.add_option("--report", report_, "Write an HTML page with table and curves to this file (- for standard output)")
      ->type_name("FILE")
      ->group(of_output);
  app.add_option("--log", log_, "Write a line of CSV to this file after every epoch; --resume goes on with it")
      ->type_name("FILE")
      ->group(of_output);
  app.add_flag("--quiet", quiet_, "Without progress, model and curves")->group(of_output);
}

TrainRequest TrainArguments::read() const {
  TrainRequest request = defaults_of(as_usage("--model", [&] { return parse_architecture(model_); }));
  request.data = data_;
  request.command = fmt::format("weft train --data {} --model {}", data_, model_);
  parts_.check();
  request.parts = parts_;
  reorder_.check();
  request.reorder = reorder_;
  request.command += parts_.command() + reorder_.command();
  read_settings(request);
  if (!synthetic_.empty()) {
    if (parts_.any())
      throw UsageError(
          "--synthetic makes features, labels and splits up: leave out --features, --labels, --masks and "
          "--split");
    const std::vector<std::string> sizes = split_list("--synthetic", synthetic_);
    if (sizes.size() != 2)
      throw UsageError(fmt::format("--synthetic is '{}': expected FEATURES,CLASSES, such as 128,40", synthetic_));
    request.random_features = parse_count("--synthetic", sizes[0], 1, 1 << 20);
    request.random_classes = parse_count("--synthetic", sizes[1], 2, 1 << 20);
    request.command += " --synthetic " + synthetic_;
  }
  request.device = device_;
  request.threads = parse_count("--threads", threads_, 0, 4096);
  if (!device_.empty()) request.command += " --device " + device_;
  if (request.threads != 0) request.command += " --threads " + threads_;
  request.save = save_;
  request.json = json_;
  request.report = report_;
  request.log = log_;
  request.quiet = quiet_;
  request.options.checkpoint = checkpoint_;
  request.options.checkpoint_every = parse_count("--checkpoint-every", checkpoint_every_, 0, most_epochs);
  request.options.resume = resume_;
  check_files(request);
  // Of the model as far as the options say it; no dataset is needed to find their mistakes.
  ModelSpec spec = request.spec;
  spec.inputs = 1;
  spec.classes = 2;
  as_usage("", [&] { validate(spec); });
  as_usage("", [&] { nn::check_sampling(request.options.sample, spec); });
  request.options.sample = nn::completed(request.options.sample, spec);
  return request;
}

void TrainArguments::read_settings(TrainRequest& request) const {
  bool samples_edges = false;
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (settings_[i]->count() == 0) continue;
    const Setting& setting = settings()[i];
    const std::string option = setting.name();
    check_among(option, setting.only, request.spec.architecture, "");
    check_among(option, setting.samplers, request.options.sample.method, "--sampler ");
    setting.field.apply(option, texts_[i], request);
    samples_edges = samples_edges || option == "--edge-sample";
    request.command += fmt::format(" {} {}", option, texts_[i]);
    if (option == "--momentum" && request.options.optimiser != Optimiser::sgd)
      throw UsageError(fmt::format("--momentum: {} has no use for it, only sgd", name(request.options.optimiser)));
  }
  if (request.options.sample.edges.width > 0 && request.options.sample.method != Sampling::none)
    throw UsageError(fmt::format(
        "--sample-width keeps few edges of the whole graph, and --sampler {} draws batches: leave one of the two out",
        name(request.options.sample.method)));
  if (samples_edges && request.options.sample.edges.width == 0)
    throw UsageError(
        "--edge-sample says which edges are kept: give --sample-width as well, how many of a row's are kept at most");
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    if (switches_[i]->count() == 0) continue;
    const bool on = switches_[i]->as<bool>();
    const Switch& each = switches()[i];
    const std::string option = on ? each.on : each.off();
    check_among(option, each.only, request.spec.architecture, "");
    each.apply(on, request);
    request.command += " " + option;
  }
}

}  // namespace weft::tool
