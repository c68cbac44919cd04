// Training runs that are over: what they gave, for people and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "train_options.hpp"
#include "weft/nn.hpp"

namespace weft::tool {

using Lines = std::vector<std::pair<std::string, std::string>>;  // label, text

/// One run, from one seed.
struct TrainRun {
  std::uint64_t seed = 0;
  TrainResult result;
  std::int64_t seen = 0;  // epochs of this very run: with --resume others came before

  double epochs_a_second() const { return seen > 0 && result.epoch_seconds > 0 ? 1 / result.epoch_seconds : 0; }
  std::int64_t last_epoch() const { return result.epochs.empty() ? 0 : result.epochs.back().epoch; }
  /// Of the best epoch; NaN where none was looked at.
  double best_val_loss() const;
};

/// Mean and standard deviation (of a sample: over n - 1) of what is finite; NaN where there is too little.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(const std::vector<double>& values);

/// All runs of a command.
struct Trained {
  const TrainRequest& request;
  const Dataset& dataset;
  Context& context;                 // inference of the best model runs on it, too
  std::vector<TrainRun> runs = {};  // at least one when shown; only the last may have been interrupted
  int signal = 0;                   // that ended the last run, or kept the next from beginning; or 0

  /// The best by validation, as --best-by says; the first where nothing was validated. An interrupted run counts only
  /// where it is the only one.
  std::size_t best_index() const;
  const TrainRun& best() const { return runs[best_index()]; }
  /// Runs that were not interrupted.
  std::size_t finished() const;
  bool several() const { return request.runs > 1; }
  /// Over the finished runs.
  Spread spread(double TrainResult::*figure) const;

  /// "lowest validation loss" or "highest validation accuracy".
  std::string best_by() const;
  /// "run 2 of 5: seed 1, best epoch 57 of 200, val accuracy 0.7920, test accuracy 0.8120, 1.2 s"
  std::string run_line(std::size_t index) const;
  /// Of the best run, after those of all runs where there are several.
  Lines lines() const;
  /// A header, and a row for every run.
  std::vector<std::vector<std::string>> table() const;
  nlohmann::json json() const;

 private:
  Lines lines_of_all() const;
  /// How a run ended, where that was not after its last epoch.
  std::string ending(const TrainRun& run) const;
  std::string skipped(const TrainRun& run) const;
};

/// "adam, lr 0.01, weight decay 0.0005 of the first layer, 200 epochs, patience 100, f32, seed 0"
std::string training_line(const TrainRequest& request);

}  // namespace weft::tool
