// What tasks hold, and how often a call hands out a certain number of them: its results do not show whether its work
// was shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/task_observer.hpp"
#include "plan/partition.hpp"

namespace weft::test {

/// Edges of one task.
inline std::int64_t edges_of(const Plan& plan, const GraphView& view, std::int64_t task) {
  std::int64_t edges = 0;
  for (const weft::Run& run : plan.backing.partition->runs(view, task)) edges += run.end - run.begin;
  return edges;
}

/// Hears of every parallel_tasks while it lives; one at a time.
class HandOuts : public TaskObserver {
 public:
  HandOuts() { observe_tasks(this); }
  ~HandOuts() override { observe_tasks(nullptr); }
  HandOuts(const HandOuts&) = delete;
  HandOuts& operator=(const HandOuts&) = delete;

  void handed_out(int threads, std::int64_t tasks) override {
    const std::lock_guard guard(lock_);
    all_.emplace_back(threads, tasks);
  }
  /// How many times so many tasks went to at most so many threads.
  std::int64_t of(int threads, std::int64_t tasks) {
    const std::lock_guard guard(lock_);
    return std::count(all_.begin(), all_.end(), std::pair(threads, tasks));
  }

 private:
  std::mutex lock_;
  std::vector<std::pair<int, std::int64_t>> all_;
};

}  // namespace weft::test
