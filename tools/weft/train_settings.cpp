#include "train_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <type_traits>

#include "nn/layers/definition.hpp"
#include "nn/sample/passes.hpp"
#include "option_text.hpp"
#include "options.hpp"

namespace weft::tool {
namespace {

using nn::LayerDefinition;

constexpr std::int64_t most_drawn = 1 << 30;

/// The part of a request that has fields of a type.
template <class Owner, class Request>
auto& part_of(Request& request) {
  if constexpr (std::is_same_v<Owner, ModelSpec>)
    return request.spec;
  else if constexpr (std::is_same_v<Owner, SampleOptions>)
    return request.options.sample;
  else
    return request.options;
}

template <class Owner, class T>
auto showing(T Owner::*field) {
  return [=](const TrainRequest& request) { return fmt::format("{}", part_of<Owner>(request).*field); };
}

template <class Owner>
Field count(std::int64_t Owner::*field, std::int64_t low, std::int64_t high) {
  return {[=](std::string_view option, const std::string& text, TrainRequest& request) {
            part_of<Owner>(request).*field = parse_count(option, text, low, high);
          },
          showing(field)};
}

/// Of batches: how many there are by default depends on the sampler, and the help text says it.
Field drawn(std::int64_t SampleOptions::*field, std::int64_t low, std::int64_t high) {
  return {count(field, low, high).apply};
}

enum class Ends { both, low_only, high_only };  // of a range, that belong to it

/// From 0 to `high`.
template <class Owner, class T>
Field number(T Owner::*field, std::type_identity_t<T> high, Ends ends = Ends::both) {
  const auto apply = [=](std::string_view option, const std::string& text, TrainRequest& request) {
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
  return {apply, showing(field), "X"};
}

template <class Owner, class T>
Field choice(T Owner::*field, T (*parse)(std::string_view), std::string type = one_of<T>()) {
  return {[=](std::string_view option, const std::string& text, TrainRequest& request) {
            part_of<Owner>(request).*field = as_usage(option, [&] { return parse(text); });
          },
          [=](const TrainRequest& request) { return std::string(name(part_of<Owner>(request).*field)); }, type};
}

Field dtype() {
  return {[](std::string_view option, const std::string& text, TrainRequest& request) {
            const auto dtypes = parse_dtypes(text);
            if (dtypes.size() != 1) throw UsageError(fmt::format("{} takes one type here", option));
            request.options.dtype = dtypes.front();
          },
          [](const TrainRequest& request) { return std::string(name(request.options.dtype)); },
          one_of_floating_dtypes()};
}

Field seed() {
  return {[](std::string_view option, const std::string& text, TrainRequest& request) {
            request.options.seed =
                static_cast<std::uint64_t>(parse_count(option, text, 0, std::numeric_limits<std::int64_t>::max()));
          },
          showing(&TrainOptions::seed)};
}

Field runs() {
  return {[](std::string_view option, const std::string& text, TrainRequest& request) {
            request.runs = parse_count(option, text, 1, 10'000);
          },
          [](const TrainRequest& request) { return std::to_string(request.runs); }};
}

Field fanouts() {
  return {[](std::string_view option, const std::string& text, TrainRequest& request) {
            std::vector<std::int64_t> given;
            for (const std::string& each : split_list(option, text)) {
              given.push_back(parse_count(option, each, all_neighbours, nn::most_fanout));
              if (given.back() == 0)
                throw UsageError(fmt::format("{} is '0': expected 1 to {} neighbours, or {} for all", option,
                                             nn::most_fanout, all_neighbours));
            }
            request.options.sample.fanouts = given;
          },
          {},
          "N,N,.."};
}

Field edge_sampling() {
  return {[](std::string_view option, const std::string& text, TrainRequest& request) {
            request.options.sample.edges.method = as_usage(option, [&] { return parse_edge_sampling(text); });
          },
          [](const TrainRequest& request) { return std::string(name(request.options.sample.edges.method)); },
          one_of<EdgeSampling>()};
}

Field sample_width() {
  return {[](std::string_view option, const std::string& text, TrainRequest& request) {
            request.options.sample.edges.width = parse_count(option, text, 1, most_drawn);
          },
          {},
          "N"};
}

std::vector<Architecture> those_with(nn::LayerProperty has) {
  std::vector<Architecture> found;
  for (const LayerDefinition* layer : nn::layer_definitions())
    if (has(*layer)) found.push_back(layer->architecture);
  return found;
}

std::string about_weights() {
  const auto by_weights = [](const LayerDefinition& layer) { return layer.weighted_degrees; };
  const auto by_edges = [](const LayerDefinition& layer) { return takes_weights(layer) && !layer.weighted_degrees; };
  const auto refuses = [](const LayerDefinition& layer) { return !takes_weights(layer); };
  return fmt::format(
      "Train as if edges had no values. Otherwise {} multiply what comes along an edge by its value: {} divides by "
      "sums of weights, means of {} by the number of neighbours; {} refuse values",
      nn::names_of_layers(nn::takes_weights, "and"), nn::names_of_layers(by_weights, "and"),
      nn::names_of_layers(by_edges, "and"), nn::names_of_layers(refuses, "and"));
}

template <class Owner, class Flag>
Switch turns(const char* on, const char* group, const std::string& help, Flag Owner::*field,
             std::vector<Architecture> only = {}, const char* also = nullptr) {
  return {on,
          group,
          help,
          [=](bool value, TrainRequest& request) { part_of<Owner>(request).*field = value; },
          [=](const TrainRequest& request) -> std::string {
            const std::optional<bool> value = part_of<Owner>(request).*field;
            return !value ? "" : *value ? "yes" : "no";
          },
          std::move(only),
          also};
}

}  // namespace

std::string Switch::names() const {
  std::string text = fmt::format("{},!{}", on, opposite(on));
  if (also != nullptr) text += fmt::format(",{},!{}", also, opposite(also));
  return text;
}

const std::vector<Setting>& settings() {
  constexpr std::int64_t widest = 1 << 20;
  constexpr double large = 1e6;
  const std::vector<Architecture> attention = those_with(nn::attends);
  const std::vector<Sampling> of_subgraphs{Sampling::node, Sampling::edge, Sampling::walk};
  const std::vector<Sampling> of_any{Sampling::node, Sampling::edge, Sampling::walk, Sampling::neighbour};
  static const std::vector<Setting> table{
      {"--layers,--num-layers", of_model, "Layers", count(&ModelSpec::layers, 1, 1000)},
      {"--hidden,--hidden-channels,--hidden-dim", of_model,
       fmt::format("Width of hidden layers; of one head in {}", nn::names_of_layers(nn::attends, "and")),
       count(&ModelSpec::hidden, 1, widest)},
      {"--heads,--num-heads", of_model, "heads of hidden layers", count(&ModelSpec::heads, 1, 4096), attention},
      {"--output-heads", of_model, "heads of the last layer, whose mean is the output",
       count(&ModelSpec::output_heads, 1, 4096), attention},
      {"--activation", of_model, "Of hidden layers", choice(&ModelSpec::activation, parse_activation)},
      {"--norm", of_model, "Of hidden layers", choice(&ModelSpec::norm, parse_layer_norm)},
      {"--degree-norm", of_model,
       "divide a sum over neighbours by nothing, the sources' degree, the destination's, or the root of both",
       choice(&ModelSpec::degree_norm, parse_degree_norm),
       those_with([](const LayerDefinition& layer) { return layer.reads.degree_norm; })},
      {"--aggregate,--aggr", of_model, "how neighbours are put together",
       choice(&ModelSpec::aggregate, parse_reduce, "sum|mean|max"),
       those_with([](const LayerDefinition& layer) { return layer.reads.aggregate; })},
      {"--gin-lambda", of_model, "above 0, take X times the mean of the neighbours instead of their sum",
       number(&ModelSpec::lambda, large), those_with([](const LayerDefinition& layer) { return layer.reads.lambda; })},
      {"--dropout", of_model, "Share of the activations that is dropped",
       number(&ModelSpec::dropout, 1, Ends::low_only)},
      {"--attention-dropout", of_model, "share of the attention weights that is dropped",
       number(&ModelSpec::attention_dropout, 1, Ends::low_only), attention},
      {"--epochs", of_training, "Epochs", count(&TrainOptions::epochs, 1, most_epochs)},
      {"--lr,--learning-rate", of_training, "Learning rate", number(&TrainOptions::lr, large, Ends::high_only)},
      {"--optimiser,--optimizer", of_training, "What takes the steps",
       choice(&TrainOptions::optimiser, parse_optimiser)},
      {"--momentum", of_training, "sgd: momentum", number(&TrainOptions::momentum, 1, Ends::low_only)},
      {"--weight-decay,--wd", of_training, "Weight decay of matrices; biases have none",
       number(&TrainOptions::weight_decay, large)},
      {"--schedule,--scheduler", of_training, "How the learning rate runs",
       choice(&TrainOptions::schedule, parse_learning_rate_schedule)},
      {"--warmup", of_training, "Epochs over which the rate rises to --lr",
       count(&TrainOptions::warmup, 0, most_epochs)},
      {"--every", of_training, "schedule steps: epochs between them", count(&TrainOptions::every, 1, most_epochs)},
      {"--gamma", of_training, "schedule steps: what each multiplies the rate by",
       number(&TrainOptions::gamma, large, Ends::high_only)},
      {"--patience", of_training, "End training after N epochs without a better one; 0: never",
       count(&TrainOptions::patience, 0, most_epochs)},
      {"--eval-every", of_training, "Epochs between evaluations of the validation split; 0: only after the last",
       count(&TrainOptions::eval_every, 0, most_epochs)},
      {"--best-by", of_training, "What the best epoch has the best of, in the validation split",
       choice(&TrainOptions::best_by, parse_best_by)},
      {"--sampler", of_batches,
       "What a step sees: the whole graph (none), a subgraph drawn as GraphSAINT does (node, edge, walk), or drawn "
       "neighbours of training nodes as in GraphSAGE (neighbour)",
       choice(&SampleOptions::method, parse_sampling)},
      {"--batch,--batch-size",
       of_batches,
       "Nodes (default 6000), edges (4000) or walks (3000) drawn, or training nodes (512)",
       drawn(&SampleOptions::batch, 1, most_drawn),
       {},
       of_any},
      {"--walk-length", of_batches, "walk: steps", count(&SampleOptions::walk_length, 1, 1000), {}, {Sampling::walk}},
      {"--fanout,--fanouts,--num-neighbors,--num-neighbours",
       of_batches,
       "neighbour: how many neighbours of a node are drawn, from the last layer to the first; -1: all (default 25,10)",
       fanouts(),
       {},
       {Sampling::neighbour}},
      {"--batches",
       of_batches,
       "Batches an epoch (default, and most for neighbour: as many as hold the graph's or the training nodes once)",
       drawn(&SampleOptions::batches, 1, most_drawn),
       {},
       of_any},
      {"--coverage",
       of_batches,
       "node, edge, walk: draw subgraphs before training until a node is in N on average, to weigh losses and edges "
       "by; 0: unweighed",
       count(&SampleOptions::coverage, 0, 100'000),
       {},
       of_subgraphs},
      {"--edge-sample", of_batches,
       "With --sample-width, which of a row's edges steps over the whole graph keep: others in every step (fresh), or "
       "always the same",
       edge_sampling()},
      {"--sample-width", of_batches,
       "Keep at most N edges of every row in training (ES-SpMM); evaluations see all edges", sample_width()},
      {"--dtype", of_run, "Storage type of activations", dtype()},
      {"--seed", of_run, "Of the first parameters, of dropout and of batches", seed()},
      {"--runs", of_run, "Train so often, with seeds from --seed on; shows mean and standard deviation", runs()},
  };
  return table;
}

const std::vector<Switch>& switches() {
  static const std::vector<Switch> table{
      turns("--residual", of_model, "Add a layer's input to its output", &ModelSpec::residual),
      turns("--mean-heads", of_model, "hidden layers give the mean of their heads, not all side by side",
            &ModelSpec::mean_heads, those_with(nn::attends)),
      turns("--self-loops", of_model, "Every node is its own neighbour as well", &ModelSpec::self_loops),
      turns("--ignore-weights", of_model, about_weights(), &TrainOptions::ignore_weights),
      turns("--normalise", of_model, "Divide every row of the features by its sum", &ModelSpec::normalise_inputs, {},
            "--normalize"),
      turns("--learn-eps", of_model, "eps is learned, and not 0 throughout", &ModelSpec::learn_eps,
            those_with([](const LayerDefinition& layer) { return layer.reads.learn_eps; })),
      turns("--decay-first-layer-only", of_training, "Weight decay in the first layer alone",
            &TrainOptions::decay_first_layer_only),
      turns("--time-by-operator", of_run, "Show where the time of training goes; epochs are not recorded then",
            &TrainOptions::time_operators),
      turns("--tf32", of_run, "f32 on a GPU: multiply dense matrices in TF32, which is faster and less exact",
            &TrainOptions::tf32),
      turns("--recompute", of_run,
            "compute layers' outputs again in the backward instead of keeping them: slower, less memory "
            "(default: where that saves 1 GiB)",
            &TrainOptions::recompute, those_with([](const LayerDefinition& layer) { return layer.remakes; })),
      turns("--fuse", of_run,
            "sum over neighbours on the way into the product that follows, in one kernel (default: where that pays)",
            &TrainOptions::fuse,
            those_with([](const LayerDefinition& layer) { return !nn::attends(layer.architecture); })),
  };
  return table;
}

}  // namespace weft::tool
