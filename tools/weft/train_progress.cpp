#include "train_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text.hpp"

namespace weft::tool {

std::string epoch_line(const EpochFigures& figures, std::int64_t epochs, double epochs_a_second, std::size_t bytes) {
  std::string line = fmt::format("epoch {}/{}  loss {:.4f}", figures.epoch, epochs, figures.loss);
  if (std::isfinite(figures.train_accuracy)) line += fmt::format("  train {:.4f}", figures.train_accuracy);
  if (std::isfinite(figures.val_accuracy)) line += fmt::format("  val {:.4f}", figures.val_accuracy);
  if (epochs_a_second > 0) line += fmt::format("  {:.1f} epochs/s", epochs_a_second);
  if (epochs_a_second > 0 && figures.epoch < epochs)
    line += fmt::format("  {} left", seconds_text(static_cast<double>(epochs - figures.epoch) / epochs_a_second));
  return line + "  " + bytes_text(static_cast<double>(bytes));
}

bool is_tenth(std::int64_t epoch, std::int64_t epochs) {
  constexpr std::int64_t parts = 10;
  return epoch * parts / epochs > (epoch - 1) * parts / epochs;
}

TrainProgress::TrainProgress(std::int64_t epochs, Device device, bool quiet)
    : epochs_(epochs),
      device_(device),
      before_(memory_stats(device).live_bytes),
      quiet_(quiet),
      terminal_(isatty(fileno(stderr)) == 1),
      train_(std::numeric_limits<double>::quiet_NaN()),
      val_(train_) {}

void TrainProgress::show(const EpochFigures& figures) {
  if (seen_++ == 0) first_s_ = figures.seconds;
  if (std::isfinite(figures.train_accuracy)) train_ = figures.train_accuracy;
  if (std::isfinite(figures.val_accuracy)) val_ = figures.val_accuracy;
  if (quiet_) return;
  constexpr double every_s = 0.1;
  const double now = watch_.seconds();
  const bool due = terminal_ ? now - shown_s_ >= every_s : is_tenth(figures.epoch, epochs_);
  if (!due && seen_ > 1) return;
  shown_s_ = now;
  EpochFigures known = figures;
  known.train_accuracy = train_;
  known.val_accuracy = val_;
  const double seconds = figures.seconds - first_s_;  // the first epoch warms up
  const double rate = seconds > 0 ? static_cast<double>(seen_ - 1) / seconds : 0;
  const std::string line =
      epoch_line(known, epochs_, rate, std::max(memory_stats(device_).live_bytes, before_) - before_);
  if (terminal_) {
    bar_.announce(line);
  } else {
    print_line(stderr, line);
    std::fflush(stderr);
  }
}

}  // namespace weft::tool
