// How far a generator has come, for the Progress it was given.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "weft/progress.hpp"

namespace weft::generator {

/// Any thread adds what it has done; only the one that made the ticker tells it on, a few hundred times in all.
class Ticker {
 public:
  /// `passes` passes over `total` things make the whole.
  Ticker(const Progress& progress, std::int64_t total, std::int64_t passes = 1)
      : progress_(progress), total_(total), passes_(passes), step_(std::max<std::int64_t>(total * passes / 512, 1)) {}

  void add(std::int64_t count) {
    const std::int64_t done = done_.fetch_add(count, std::memory_order_relaxed) + count;
    if (!progress_ || std::this_thread::get_id() != owner_ || done < next_) return;
    next_ = done + step_;
    progress_("generating", done / passes_, total_);
  }
  /// The whole is done: told even where the other threads did it all.
  void end() const {
    if (progress_) progress_("generating", total_, total_);
  }

 private:
  const Progress& progress_;
  std::int64_t total_, passes_, step_, next_ = 0;
  std::atomic<std::int64_t> done_{0};
  std::thread::id owner_ = std::this_thread::get_id();
};

}  // namespace weft::generator
