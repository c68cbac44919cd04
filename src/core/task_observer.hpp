// A hook for tests: what a call really hands to the threads, which its results do not show.
#pragma once

#include <cstdint>

namespace weft {

class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  /// parallel_tasks is about to hand out that many tasks to at most that many threads.
  virtual void handed_out(int threads, std::int64_t tasks) = 0;
};

/// `observer` hears of every parallel_tasks from now on, from whichever thread calls it; null for none.
void observe_tasks(TaskObserver* observer);

}  // namespace weft
