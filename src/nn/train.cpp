// Training from the first epoch to the best model.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>

#include "core/check.hpp"
#include "core/operator_timer.hpp"
#include "nn/checkpoint.hpp"
#include "nn/class_names.hpp"
#include "nn/edge_weights.hpp"
#include "nn/known_nodes.hpp"
#include "nn/trainer.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// Epochs that a GPU may be asked for beyond what it has done: so many, and no more than take so long, as whoever
// interrupts training waits for them.
constexpr std::int64_t most_ahead = 64, least_ahead = 2;
constexpr double seconds_ahead = 0.2;
constexpr std::int64_t cold_epochs = 3;  // that load, record and allocate
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

EpochFigures figures_of(const nn::Published& p, std::int64_t epoch, bool has_val, bool has_test, double seconds) {
  EpochFigures f;
  f.epoch = epoch + 1;
  f.loss = p.loss;
  f.train_accuracy = p.train_accuracy;
  f.val_accuracy = p.evaluated != 0 && has_val ? p.val_accuracy : unknown;
  f.test_accuracy = p.evaluated != 0 && has_test ? p.test_accuracy : unknown;
  f.val_loss = p.evaluated != 0 && has_val ? p.val_loss : unknown;
  f.lr = p.lr;
  f.loss_scale = p.loss_scale;
  f.seconds = seconds;
  return f;
}

/// Training as the host sees it: epochs asked for, figures handed on.
class Run {
 public:
  Run(nn::Trainer& trainer, const TrainOptions& options, const EpochWatcher& watch)
      : trainer_(trainer), options_(options), watch_(watch) {
    has_val_ = trainer.nodes_in(1) > 0;
    has_test_ = trainer.nodes_in(2) > 0;
  }

  /// From the epoch after those `restored` on, which have been published.
  void go(const nn::Restored& restored, TrainResult& result, const std::function<void()>& save) {
    const std::int64_t first = restored.epochs;
    before_ = restored.seconds;
    delivered_ = 0;
    begun_ = Clock::now();
    deliver(result, false);
    std::int64_t epoch = first;
    Clock::time_point warm = begun_;
    double timed = 0;  // from there to the last epoch
    for (; epoch < options_.epochs && !result.stopped_early && !result.interrupted; ++epoch) {
      const std::int64_t number = epoch + 1;
      if (number == options_.epochs) {  // it may be the only one that is evaluated
        trainer_.context().synchronise();
        timed = since(warm);
      }
      trainer_.epoch(evaluates(number));
      if (epoch == first + cold_epochs - 1) {
        trainer_.context().synchronise();
        warm = Clock::now();
      }
      wait_for(epoch - epochs_ahead(epoch - first - cold_epochs, warm));
      deliver(result, true);
      if (options_.checkpoint_every > 0 && number % options_.checkpoint_every == 0 && number < options_.epochs) {
        trainer_.context().synchronise();
        deliver(result, true);
        save();
      }
    }
    trainer_.context().synchronise();
    deliver(result, true);
    result.seconds = since(begun_);
    const std::int64_t all = epoch - first;
    const std::int64_t ended = epoch == options_.epochs && timed > 0 ? 1 : 0;  // after `timed`
    result.epoch_seconds = all > cold_epochs + ended
                               ? (ended != 0 ? timed : since(warm)) / static_cast<double>(all - cold_epochs - ended)
                               : result.seconds / static_cast<double>(std::max<std::int64_t>(all, 1));
  }
  bool evaluates(std::int64_t number) const {
    return number == options_.epochs || (options_.eval_every > 0 && number % options_.eval_every == 0);
  }

 private:
  /// After `warm` epochs since then.
  static std::int64_t epochs_ahead(std::int64_t warm_epochs, Clock::time_point warm) {
    if (warm_epochs <= 0) return least_ahead;
    const double one = since(warm) / static_cast<double>(warm_epochs);
    return std::clamp(static_cast<std::int64_t>(seconds_ahead / std::max(one, 1e-6)), least_ahead, most_ahead);
  }
  /// Until so many epochs are over.
  void wait_for(std::int64_t epochs) {
    Clock::time_point moved = Clock::now();
    for (std::int64_t last = trainer_.done(); last < epochs;) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      const std::int64_t now = trainer_.done();
      if (now != last) moved = Clock::now();
      last = now;
      if (since(moved) > 1) trainer_.context().synchronise();  // an Error where the device has failed
    }
  }
  /// When an epoch that has just been found over ended.
  double seconds_at(std::int64_t epoch) const {
    if (epoch < static_cast<std::int64_t>(before_.size())) return before_[static_cast<std::size_t>(epoch)];
    return (before_.empty() ? 0 : before_.back()) + since(begun_);
  }
  void deliver(TrainResult& result, bool watched) {
    for (const std::int64_t done = trainer_.done(); delivered_ < done && !result.stopped_early; ++delivered_) {
      const nn::Published& p = trainer_.published(delivered_);
      result.epochs.push_back(figures_of(p, delivered_, has_val_, has_test_, seconds_at(delivered_)));
      result.best_epoch = p.best_epoch;
      if (p.stopped != 0) result.stopped_early = true;
      if (watched && watch_ && !result.interrupted && !watch_(result.epochs.back())) result.interrupted = true;
    }
  }

  nn::Trainer& trainer_;
  const TrainOptions& options_;
  const EpochWatcher& watch_;
  bool has_val_ = false, has_test_ = false;
  std::int64_t delivered_ = 0;
  std::vector<double> before_;  // ends of epochs of earlier runs, in seconds
  Clock::time_point begun_;
};

MemoryStats stats_of(Device device) { return device.kind == DeviceKind::cpu ? memory_stats() : memory_stats(device); }

TrainResult train_here(Context& context, const Dataset& dataset, Model model, const TrainOptions& options,
                       const EpochWatcher& watch) {
  const bool on_cpu = context.device().kind == DeviceKind::cpu;
  const std::size_t before = stats_of(context.device()).live_bytes;
  on_cpu ? reset_memory_peak() : reset_memory_peak(context.device());
  nn::Trainer trainer(context, dataset, model, options);
  const auto data = options.checkpoint.empty() ? nn::DataFingerprint{} : nn::fingerprint_of(dataset);
  nn::Restored restored;
  if (options.resume) restored = nn::restore(options.checkpoint, trainer, model, options, data);
  TrainResult result;
  result.batches = trainer.batches();
  const auto save = [&] {
    try {
      std::vector<double> seconds;
      for (const EpochFigures& figures : result.epochs) seconds.push_back(figures.seconds);
      nn::save_checkpoint(options.checkpoint, trainer, model, options, data, std::move(seconds));
    } catch (const Error& error) {  // a full disk must not cost the training; a failed device has ended it anyway
      if (error.code() != ErrorCode::io && error.code() != ErrorCode::out_of_memory) throw;
      ++result.failed_checkpoints;
      result.checkpoint_error = error.what();
    }
  };
  if (options.time_operators) trainer.record(false);
  const TimedScope timed(context, options.time_operators);
  Run run(trainer, options, watch);
  run.go(restored, result, save);
  result.operators = timed.times();
  if (!options.checkpoint.empty() && (result.interrupted || options.checkpoint_every > 0)) save();
  result.skipped_steps = trainer.state().skipped;
  nn::Parameters& parameters = trainer.parameters();
  parameters.copy_to(model, result.best_epoch > 0 ? parameters.best() : parameters.values(), context.stream());
  result.model = std::move(model);
  result.train_accuracy = result.val_accuracy = result.test_accuracy = unknown;
  if (result.best_epoch > 0) {
    const EpochFigures& best = result.epochs[static_cast<std::size_t>(result.best_epoch - 1)];
    result.train_accuracy = best.train_accuracy;
    result.val_accuracy = best.val_accuracy;
    result.test_accuracy = best.test_accuracy;
  }
  result.peak_bytes = stats_of(context.device()).peak_bytes - before;
  return result;
}

}  // namespace

TrainResult train(Context& context, const Dataset& dataset, Model model, const TrainOptions& given,
                  const EpochWatcher& watch) {
  validate(model.spec);
  nn::check_options(given);
  nn::check_sampling(given.sample, model.spec);
  TrainOptions options = given;
  options.sample = nn::completed(given.sample, model.spec);  // a checkpoint knows them whole
  model.spec.several_labels = dataset.multi_label();
  nn::check_fits(dataset, model.spec);
  model.spec.edge_weights = nn::learns_from_weights(dataset, model.spec.architecture, options.ignore_weights);
  nn::check_parameters(model);
  if (dataset.class_names) model.class_names = nn::copy_of(dataset.class_names);
  nn::check_class_names(model.class_names, model.spec.classes);
  model.known_nodes = nn::known_nodes_of(dataset);
  WEFT_CHECK(options.dtype != Dtype::f64 || context.device().kind == DeviceKind::cpu, unsupported,
             "dtype is f64: models train in it on the cpu device only, for checks; use f32, f16 or bf16");
  WEFT_CHECK(!options.checkpoint.empty() || (options.checkpoint_every == 0 && !options.resume), invalid_argument,
             "checkpoint is empty: checkpoints and resuming take a file's name");
  if (context.device().kind == DeviceKind::cpu) return train_here(context, dataset, std::move(model), options, watch);
  // The default stream cannot be recorded.
  const nn::cuda::OwnStream stream(context.device());
  context.synchronise();
  Context own = Context::cuda(context.device().index, stream.get());
  return train_here(own, dataset, std::move(model), options, watch);
}

}  // namespace weft
