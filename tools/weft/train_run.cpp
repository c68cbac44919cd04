#include "train_run.hpp"
#include "operator_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>

#include "model_facts.hpp"
#include "nn/layers/definition.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

std::string seeds_text(std::uint64_t first, std::int64_t runs) {
  if (runs == 1) return fmt::format("seed {}", first);
  return fmt::format("seeds {} to {}", first, first + static_cast<std::uint64_t>(runs - 1));
}

std::string spread_text(const Spread& spread) {
  if (!std::isfinite(spread.mean)) return "-";
  if (!std::isfinite(spread.deviation)) return accuracy_text(spread.mean);
  return fmt::format("{} +- {:.4f} (standard deviation)", accuracy_text(spread.mean), spread.deviation);
}

}  // namespace

double TrainRun::best_val_loss() const {
  return result.best_epoch > 0 ? result.epochs[static_cast<std::size_t>(result.best_epoch - 1)].val_loss : unknown;
}

Spread spread_of(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  if (count == 0) return {unknown, unknown};
  const double mean = sum / static_cast<double>(count);
  for (const double value : values)
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  return {mean, count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : unknown};
}

std::size_t Trained::finished() const {
  return static_cast<std::size_t>(std::ranges::count_if(runs, [](const TrainRun& r) { return !r.result.interrupted; }));
}

std::size_t Trained::best_index() const {
  const bool by_accuracy = request.options.best_by == BestBy::accuracy;
  // Whatever is no number is worse than any number.
  const auto below = [](double a, double b) { return std::isfinite(a) && (!std::isfinite(b) || a < b); };
  const auto better = [&](const TrainRun& a, const TrainRun& b) {
    if (by_accuracy && below(b.result.val_accuracy, a.result.val_accuracy)) return true;
    if (by_accuracy && below(a.result.val_accuracy, b.result.val_accuracy)) return false;
    return below(a.best_val_loss(), b.best_val_loss());
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (!runs[i].result.interrupted && better(runs[i], runs[best])) best = i;
  return best;
}

Spread Trained::spread(double TrainResult::*figure) const {
  std::vector<double> values;
  for (const TrainRun& run : runs)
    if (!run.result.interrupted) values.push_back(run.result.*figure);
  return spread_of(values);
}

std::string Trained::best_by() const {
  return request.options.best_by == BestBy::loss ? "lowest validation loss"
                                                 : "highest validation " + measure_of(dataset);
}

std::string Trained::ending(const TrainRun& run) const {
  const std::string where = fmt::format("after epoch {} of {}", run.last_epoch(), request.options.epochs);
  if (run.result.interrupted) {
    const std::string by = signal == 0 ? "" : signal == SIGTERM ? "by SIGTERM " : "by SIGINT ";
    return fmt::format("interrupted {}{}", by, where);
  }
  if (!run.result.stopped_early) return "";
  return fmt::format("{}: {} epochs without a better one", where, request.options.patience);
}

/// Steps without an effect, in f16. A few are the way to a loss scale that fits; more say what to change.
std::string Trained::skipped(const TrainRun& run) const {
  const TrainResult& result = run.result;
  std::string text =
      fmt::format("{} of {} steps, whose gradients were beyond f16 (loss scale {})", grouped(result.skipped_steps),
                  grouped(result.steps()), short_number(result.epochs.empty() ? 1 : result.epochs.back().loss_scale));
  if (2 * result.skipped_steps < result.steps()) return text;
  const bool sums = nn::definition_of(request.spec.architecture).reads.lambda && request.spec.lambda == 0;
  return text + fmt::format("; --dtype bf16, --norm layer{} may help", sums ? " or --gin-lambda 1" : "");
}

std::string Trained::run_line(std::size_t index) const {
  const TrainRun& run = runs[index];
  const std::string measure = measure_of(dataset);
  std::string text = fmt::format("run {} of {}: seed {}", index + 1, request.runs, run.seed);
  if (run.result.best_epoch > 0) text += fmt::format(", best epoch {} of {}", run.result.best_epoch, run.last_epoch());
  text += fmt::format(", val {} {}, test {} {}, {}", measure, accuracy_text(run.result.val_accuracy), measure,
                      accuracy_text(run.result.test_accuracy), seconds_text(run.result.seconds));
  return run.result.interrupted ? text + ", " + ending(run) : text;
}

std::vector<std::vector<std::string>> Trained::table() const {
  const std::string measure = measure_of(dataset);
  std::vector<std::vector<std::string>> rows{
      {"run", "seed", "best epoch", "epochs", "val " + measure, "test " + measure, "time", ""}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TrainResult& result = runs[i].result;
    std::vector<std::string> marks;
    if (i == best_index()) marks.emplace_back("best");
    if (result.interrupted) marks.emplace_back("interrupted");
    rows.push_back({fmt::format("{}", i + 1), fmt::format("{}", runs[i].seed),
                    result.best_epoch > 0 ? fmt::format("{}", result.best_epoch) : "-",
                    fmt::format("{}", runs[i].last_epoch()), accuracy_text(result.val_accuracy),
                    accuracy_text(result.test_accuracy), seconds_text(result.seconds),
                    fmt::format("{}", fmt::join(marks, ", "))});
  }
  return rows;
}

Lines Trained::lines_of_all() const {
  const std::string measure = measure_of(dataset);
  const auto done = static_cast<std::int64_t>(finished());
  std::string text = fmt::format("{} of {}", done, request.runs);
  if (done > 0) text += fmt::format(" ({})", seeds_text(request.options.seed, done));
  if (signal != 0) text += ", then interrupted";
  return {{"runs", text},
          {"mean val", measure + " " + spread_text(spread(&TrainResult::val_accuracy))},
          {"mean test", measure + " " + spread_text(spread(&TrainResult::test_accuracy))},
          {"best run", fmt::format("{} (seed {}{}{})", best_index() + 1, best().seed,
                                   std::isfinite(best().best_val_loss()) ? ", " + best_by() : "",
                                   best().result.interrupted ? ", the only one, interrupted" : "")}};
}

Lines Trained::lines() const {
  const TrainRun& run = best();
  const TrainResult& result = run.result;
  const std::string measure = measure_of(dataset);
  Lines lines;
  if (several()) lines = lines_of_all();
  for (auto& line : Lines{
           {"best epoch", result.best_epoch > 0
                              ? fmt::format("{} of {} ({})", result.best_epoch, run.last_epoch(), best_by())
                              : fmt::format("not known: the model is of epoch {}", run.last_epoch())},
           {"train " + measure, accuracy_text(result.train_accuracy)},
           {"val " + measure, accuracy_text(result.val_accuracy)},
           {"test " + measure, accuracy_text(result.test_accuracy)},
           {"time", fmt::format("{}, {} epochs/s", seconds_text(result.seconds), short_number(run.epochs_a_second()))},
           {"peak memory", bytes_text(static_cast<double>(result.peak_bytes))}})
    lines.push_back(std::move(line));
  if (request.options.sample.method != Sampling::none)
    lines.emplace_back("batches",
                       fmt::format("{} an epoch, by {}", grouped(result.batches), name(request.options.sample.method)));
  if (const EdgeSample& edges = request.options.sample.edges; edges.width > 0)
    lines.emplace_back("edges", fmt::format("at most {} per row, by {}", grouped(edges.width), name(edges.method)));
  for (const auto& [label, text] : operator_lines(result.operators)) lines.emplace_back(label, text);
  if (result.skipped_steps > 0) lines.emplace_back("skipped", skipped(run));
  if (const std::string text = ending(run); !text.empty()) lines.emplace_back("ended", text);
  return lines;
}

std::string training_line(const TrainRequest& request) {
  const TrainOptions& options = request.options;
  std::string text = fmt::format("{}, lr {}", name(options.optimiser), options.lr);
  if (options.schedule != LearningRateSchedule::constant) text += fmt::format(" ({})", name(options.schedule));
  if (options.weight_decay > 0)
    text += fmt::format(", weight decay {}{}", options.weight_decay,
                        options.decay_first_layer_only ? " of the first layer" : "");
  text += fmt::format(", {} epochs", grouped(options.epochs));
  if (options.patience > 0) text += fmt::format(", patience {}", options.patience);
  if (options.sample.method != Sampling::none) text += fmt::format(", batches by {}", name(options.sample.method));
  if (const EdgeSample& edges = options.sample.edges; edges.width > 0)
    text += fmt::format(", at most {} edges per row by {}", grouped(edges.width), name(edges.method));
  text += fmt::format(", {}{}, ", name(options.dtype), options.tf32 ? " (tf32)" : "");
  return text + seeds_text(options.seed, request.runs);
}

}  // namespace weft::tool
