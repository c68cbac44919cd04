// How far training has come, on stderr: one line rewritten on a terminal, elsewhere about ten lines over the run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "options.hpp"
#include "progress.hpp"
#include "weft/nn.hpp"

namespace weft::tool {

/// "epoch 20/200  loss 1.204  train 0.925  val 0.748  41.2 epochs/s  4.4 s left  12.3 MiB"; what is not known is left
/// out.
std::string epoch_line(const EpochFigures& figures, std::int64_t epochs, double epochs_a_second, std::size_t bytes);
/// Whether another tenth of the way is done with this epoch.
bool is_tenth(std::int64_t epoch, std::int64_t epochs);

class TrainProgress {
 public:
  TrainProgress(std::int64_t epochs, Device device, bool quiet);

  void show(const EpochFigures& figures);
  void clear() { bar_.clear(); }
  std::int64_t seen() const { return seen_; }

 private:
  std::int64_t epochs_, seen_ = 0;
  Device device_;
  std::size_t before_;  // bytes: of the dataset, for one
  bool quiet_, terminal_;
  ProgressBar bar_;
  Stopwatch watch_;
  double shown_s_ = 0, first_s_ = 0;
  /// Kept, as an epoch may not be looked at.
  double train_ = 0, val_ = 0;
};

}  // namespace weft::tool
