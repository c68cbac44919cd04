#include "train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "nn/sample/batch.hpp"
#include "nn/sample/passes.hpp"
#include "options.hpp"

namespace weft::tool {
namespace {

using Apply = std::function<void(std::string_view option, const std::string& text, TrainRequest& request)>;

template <class Owner>
Owner& part_of(TrainRequest& request) {
  if constexpr (std::is_same_v<Owner, ModelSpec>)
    return request.spec;
  else if constexpr (std::is_same_v<Owner, SampleOptions>)
    return request.options.sample;
  else
    return request.options;
}

template <class Owner>
Apply count(std::int64_t Owner::*field, std::int64_t low, std::int64_t high) {
  return [=](std::string_view option, const std::string& text, TrainRequest& request) {
    part_of<Owner>(request).*field = parse_count(option, text, low, high);
  };
}

enum class Ends { both, low_only, high_only };  // of a range, that belong to it

/// From 0 to `high`.
template <class Owner, class T>
Apply number(T Owner::*field, std::type_identity_t<T> high, Ends ends = Ends::both) {
  return [=](std::string_view option, const std::string& text, TrainRequest& request) {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    const bool within = value >= 0 && value <= high && (value > 0 || ends != Ends::high_only) &&
                        (value < high || ends != Ends::low_only);
    if (!whole || !within)
      throw UsageError(fmt::format("{} is '{}': expected a number {} 0 to {}{}", option, text,
                                   ends == Ends::high_only ? "above" : "from", ends == Ends::low_only ? "below " : "",
                                   high));
    part_of<Owner>(request).*field = value;
  };
}

template <class Owner, class T>
Apply choice(T Owner::*field, T (*parse)(std::string_view)) {
  return [=](std::string_view option, const std::string& text, TrainRequest& request) {
    part_of<Owner>(request).*field = as_usage(option, [&] { return parse(text); });
  };
}

void apply_dtype(std::string_view option, const std::string& text, TrainRequest& request) {
  const auto dtypes = parse_dtypes(text);
  if (dtypes.size() != 1) throw UsageError(fmt::format("{} takes one type here", option));
  request.options.dtype = dtypes.front();
}

void apply_seed(std::string_view option, const std::string& text, TrainRequest& request) {
  request.options.seed =
      static_cast<std::uint64_t>(parse_count(option, text, 0, std::numeric_limits<std::int64_t>::max()));
}

void apply_fanouts(std::string_view option, const std::string& text, TrainRequest& request) {
  for (const std::string& each : split_list(option, text))
    request.options.sample.fanouts.push_back(parse_count(option, each, 1, nn::most_fanout));
}

constexpr std::int64_t most_epochs = 10'000'000;  // each leaves its figures
constexpr const char *of_model = "Model", *of_training = "Training", *of_batches = "Batches", *of_run = "Run",
                     *of_output = "Output";

/// An option with a value.
struct Setting {
  const char *option, *group, *help;
  Apply apply;
  std::vector<Architecture> only = {};  // those that have it; empty: all
  std::vector<Sampling> samplers = {};  // likewise
};

const std::vector<Setting>& settings() {
  constexpr std::int64_t widest = 1 << 20;
  constexpr double large = 1e6;
  constexpr std::int64_t most_drawn = 1 << 30;
  const std::vector<Architecture> attention{Architecture::gat, Architecture::gatv2};
  const std::vector<Sampling> of_subgraphs{Sampling::node, Sampling::edge, Sampling::walk};
  const std::vector<Sampling> of_any{Sampling::node, Sampling::edge, Sampling::walk, Sampling::neighbour};
  static const std::vector<Setting> table{
      {"--layers", of_model, "Layers", count(&ModelSpec::layers, 1, 1000)},
      {"--hidden", of_model, "Width of hidden layers, of one head in gat and gatv2",
       count(&ModelSpec::hidden, 1, widest)},
      {"--heads", of_model, "gat, gatv2: heads of hidden layers", count(&ModelSpec::heads, 1, 4096), attention},
      {"--output-heads", of_model, "gat, gatv2: heads of the last layer, whose mean is the output",
       count(&ModelSpec::output_heads, 1, 4096), attention},
      {"--activation", of_model, "relu, elu or none", choice(&ModelSpec::activation, parse_activation)},
      {"--norm", of_model, "none, batch or layer: of hidden layers", choice(&ModelSpec::norm, parse_layer_norm)},
      {"--degree-norm",
       of_model,
       "gcn: what sums over neighbours are divided by: none, left, right or both",
       choice(&ModelSpec::degree_norm, parse_degree_norm),
       {Architecture::gcn}},
      {"--aggregate",
       of_model,
       "sage: sum, mean or max",
       choice(&ModelSpec::aggregate, parse_reduce),
       {Architecture::sage}},
      {"--gin-lambda",
       of_model,
       "gin: not 0 takes this times the mean of the neighbours, not their sum",
       number(&ModelSpec::lambda, large),
       {Architecture::gin}},
      {"--dropout", of_model, "Share of the activations that is dropped",
       number(&ModelSpec::dropout, 1, Ends::low_only)},
      {"--attention-dropout", of_model, "gat, gatv2: share of the attention weights that is dropped",
       number(&ModelSpec::attention_dropout, 1, Ends::low_only), attention},
      {"--epochs", of_training, "Epochs", count(&TrainOptions::epochs, 1, most_epochs)},
      {"--lr", of_training, "Learning rate", number(&TrainOptions::lr, large, Ends::high_only)},
      {"--optimiser", of_training, "adam, adamw or sgd", choice(&TrainOptions::optimiser, parse_optimiser)},
      {"--momentum", of_training, "sgd: momentum", number(&TrainOptions::momentum, 1, Ends::low_only)},
      {"--weight-decay", of_training, "Weight decay, of matrices only", number(&TrainOptions::weight_decay, large)},
      {"--schedule", of_training, "constant, cosine or steps: how the learning rate runs",
       choice(&TrainOptions::schedule, parse_schedule_of_rate)},
      {"--warmup", of_training, "Epochs over which the rate rises", count(&TrainOptions::warmup, 0, most_epochs)},
      {"--every", of_training, "schedule steps: epochs between them", count(&TrainOptions::every, 1, most_epochs)},
      {"--gamma", of_training, "schedule steps: what each multiplies the rate by",
       number(&TrainOptions::gamma, large, Ends::high_only)},
      {"--patience", of_training, "Epochs without a better one that end training; 0: never",
       count(&TrainOptions::patience, 0, most_epochs)},
      {"--eval-every", of_training, "Epochs between looks at the validation split; 0: only after the last",
       count(&TrainOptions::eval_every, 0, most_epochs)},
      {"--best-by", of_training, "accuracy or loss, in the validation split",
       choice(&TrainOptions::best_by, parse_best_by)},
      {"--sampler", of_batches,
       "none: steps see the whole graph; node, edge or walk: subgraphs drawn as GraphSAINT does; neighbour: neighbours "
       "of training nodes as GraphSAGE does",
       choice(&SampleOptions::method, parse_sampling)},
      {"--batch",
       of_batches,
       "Nodes (default 6000), edges (4000) or walks (3000) drawn, or training nodes (512)",
       count(&SampleOptions::batch, 1, most_drawn),
       {},
       of_any},
      {"--walk-length",
       of_batches,
       "walk: steps (default 2)",
       count(&SampleOptions::walk_length, 1, 1000),
       {},
       {Sampling::walk}},
      {"--fanout",
       of_batches,
       "neighbour: neighbours drawn of a node, from the last layer to the first (default 25,10)",
       apply_fanouts,
       {},
       {Sampling::neighbour}},
      {"--batches",
       of_batches,
       "An epoch's; by default, and for neighbour at most, as many as hold the graph's or the training nodes once",
       count(&SampleOptions::batches, 1, most_drawn),
       {},
       of_any},
      {"--coverage",
       of_batches,
       "node, edge, walk: subgraphs a node is in on average before training, to weigh losses and edges by (default 50; "
       "0: unweighed)",
       count(&SampleOptions::coverage, 0, 100'000),
       {},
       of_subgraphs},
      {"--dtype", of_run, "Storage type of activations: f32, f16, bf16 or f64", apply_dtype},
      {"--seed", of_run, "Of the first parameters, of dropout and of batches", apply_seed},
  };
  return table;
}

/// An option without a value, and what takes it back.
struct Switch {
  const char *on, *off, *group, *help;
  std::function<void(bool on, TrainRequest& request)> apply;
  std::vector<Architecture> only = {};  // those that have it; empty: all
};

template <class Owner, class Flag>
std::function<void(bool, TrainRequest&)> turns(Flag Owner::*field) {
  return [=](bool on, TrainRequest& request) { part_of<Owner>(request).*field = on; };
}

const std::vector<Switch>& switches() {
  static const std::vector<Switch> table{
      {"--residual", "--no-residual", of_model, "Add a layer's input to its output", turns(&ModelSpec::residual)},
      {"--mean-heads",
       "--no-mean-heads",
       of_model,
       "gat, gatv2: hidden layers give the mean of their heads, and not all side by side",
       turns(&ModelSpec::mean_heads),
       {Architecture::gat, Architecture::gatv2}},
      {"--self-loops", "--no-self-loops", of_model, "Every node is its own neighbour as well",
       turns(&ModelSpec::self_loops)},
      {"--normalise", "--no-normalise", of_model, "Divide every row of the features by its sum",
       turns(&ModelSpec::normalise_inputs)},
      {"--learn-eps",
       "--no-learn-eps",
       of_model,
       "gin: eps is learned, and not 0 throughout",
       turns(&ModelSpec::learn_eps),
       {Architecture::gin}},
      {"--tf32", "--no-tf32", of_run, "f32 on a GPU: multiply dense matrices in TF32, which is faster and less exact",
       turns(&TrainOptions::tf32)},
      {"--recompute",
       "--no-recompute",
       of_run,
       "gin: make layers' outputs again in the backward instead of keeping them: slower, less memory (by itself where "
       "that saves 1 GiB)",
       turns(&TrainOptions::recompute),
       {Architecture::gin}},
      {"--decay-first-layer-only", "--no-decay-first-layer-only", of_training, "Weight decay in the first layer alone",
       turns(&TrainOptions::decay_first_layer_only)},
  };
  return table;
}

/// A UsageError where `chosen` is not among those an option is for.
template <class T>
void check_among(const char* option, const std::vector<T>& users, T chosen, std::string_view what) {
  if (users.empty() || std::ranges::count(users, chosen) > 0) return;
  std::string which;
  for (const T user : users) which += (which.empty() ? "" : " and ") + std::string(name(user));
  throw UsageError(fmt::format("{}: {}{} has no use for it, only {}", option, what, name(chosen), which));
}

void check_files(const TrainRequest& request) {
  const std::vector<std::pair<std::string_view, const std::string*>> files{
      {"--save", &request.save},
      {"--checkpoint", &request.options.checkpoint},
      {"--json", &request.json},
      {"--report", &request.report}};
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = i + 1; j < files.size(); ++j)
      if (!files[i].second->empty() && *files[i].second == *files[j].second)
        throw UsageError(
            fmt::format("{} and {} are both '{}': name two files", files[i].first, files[j].first, *files[i].second));
  if (!request.options.checkpoint.empty()) return;
  if (request.options.resume) throw UsageError("--resume: name the --checkpoint to go on from");
  if (request.options.checkpoint_every > 0) throw UsageError("--checkpoint-every: name the file with --checkpoint");
}

}  // namespace

void TrainArguments::add_to(CLI::App& app) {
  app.add_option(
         "--data", data_,
         "A dataset: a file or folder (docs/formats.md), or a name (citations); what it lacks of features, labels and "
         "splits, the options under Data give")
      ->required();
  app.add_option("--model", model_, "gcn, sage, gin, gat or gatv2")->required();
  parts_.add_to(app);
  texts_.resize(settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    settings_.push_back(app.add_option(setting.option, texts_[i], setting.help)->group(setting.group));
  }
  for (const Switch& each : switches())
    switches_.push_back(app.add_flag(fmt::format("{},!{}", each.on, each.off), each.help)->group(each.group));
  app.add_option("--synthetic", synthetic_,
                 "FEATURES,CLASSES: random features and labels for a graph that has none, to see what training costs")
      ->group(of_run);
  app.add_option("--device", device_, "cpu, cuda or cuda:N; the first GPU by default, else the CPU")->group(of_run);
  app.add_option("--threads", threads_, "CPU threads, which take the CPU where no device is named; 0 takes every core")
      ->capture_default_str()
      ->group(of_run);
  app.add_option("--save", save_, "Write the model of the best epoch to this file (safetensors)")->group(of_output);
  app.add_option("--checkpoint", checkpoint_, "Write what training can go on from to this file")->group(of_output);
  app.add_option("--checkpoint-every", checkpoint_every_, "Epochs between checkpoints; 0: only when interrupted")
      ->capture_default_str()
      ->group(of_output);
  app.add_flag("--resume", resume_, "Go on from the checkpoint where it exists")->group(of_output);
  app.add_option("--json", json_, "Write options, result and every epoch to this file (- for standard output)")
      ->group(of_output);
  app.add_option("--report", report_, "Write an HTML page with table and curves to this file")->group(of_output);
  app.add_flag("--quiet", quiet_, "Without progress, model and curves")->group(of_output);
}

TrainRequest TrainArguments::read() const {
  TrainRequest request;
  const Architecture architecture = as_usage("--model", [&] { return parse_architecture(model_); });
  request.spec = ModelSpec::of(architecture);
  request.options = TrainOptions::of(architecture);
  request.data = data_;
  request.command = fmt::format("weft train --data {} --model {}", data_, model_);
  parts_.check();
  request.parts = parts_;
  request.command += parts_.command();
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
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (settings_[i]->count() == 0) continue;
    const Setting& setting = settings()[i];
    check_among(setting.option, setting.only, request.spec.architecture, "");
    check_among(setting.option, setting.samplers, request.options.sample.method, "--sampler ");
    setting.apply(setting.option, texts_[i], request);
    request.command += fmt::format(" {} {}", setting.option, texts_[i]);
    if (std::string_view(setting.option) == "--momentum" && request.options.optimiser != Optimiser::sgd)
      throw UsageError(fmt::format("--momentum: {} has no use for it, only sgd", name(request.options.optimiser)));
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    if (switches_[i]->count() == 0) continue;
    const bool on = switches_[i]->as<bool>();
    const Switch& each = switches()[i];
    check_among(on ? each.on : each.off, each.only, request.spec.architecture, "");
    each.apply(on, request);
    request.command += fmt::format(" {}", on ? each.on : each.off);
  }
}

}  // namespace weft::tool
