// The one place that starts threads (but for unpacking ahead, see graph/io/text_blocks.hpp). Callers hand over numbered
// tasks; results must not depend on which thread runs which task, nor on how many threads there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft {

/// A reference to a callable body(task, thread): no allocation, no copy.
class TaskBody {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, TaskBody>) TaskBody(F&& f)  // NOLINT: implicit by design
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, std::int64_t task, int thread) {
          (*static_cast<std::remove_reference_t<F>*>(object))(task, thread);
        }) {}
  void operator()(std::int64_t task, int thread) const { call_(object_, task, thread); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, int);
};

enum class TaskOrder { next_free, round_robin };

/// Runs body(task, thread) for every task in [0, tasks) on at most `threads` threads. The first
/// exception a task throws is thrown again here, after all threads have stopped.
void parallel_tasks(int threads, std::int64_t tasks, TaskBody body, TaskOrder order = TaskOrder::next_free);

/// body(begin, end) over [0, count) cut into even pieces of at least `grain`.
template <class F>
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain, F&& body) {
  const std::int64_t pieces =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(grain, 1), 1, std::int64_t{threads} * 8);
  parallel_tasks(threads, pieces, [&](std::int64_t piece, int) {
    const auto border = [&](std::int64_t i) { return count / pieces * i + std::min(i, count % pieces); };
    body(border(piece), border(piece + 1));
  });
}

/// Threads for work that has no Context, such as building a graph.
int default_threads();
/// Sets it (tests use this to show that results do not depend on it); 0 goes back to all cores.
void set_default_threads(int threads);

}  // namespace weft
