// What the operators and dense work of a context take, where they run: by the clock on a CPU, by events in the stream
// on a GPU, so that nothing waits meanwhile.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/cuda/event_pairs.hpp"
#include "weft/context.hpp"

namespace weft {

class OperatorTimer {
 public:
  OperatorTimer(Device device, CUstream_st* stream) {
    if (device.kind == DeviceKind::cuda) events_ = std::make_unique<cuda::EventPairs>(device, stream);
  }

  /// Of operators that call others the outermost counts.
  void begin(const char* name);
  void end() noexcept;
  /// Waits for what is being timed.
  std::vector<OperatorTime> times();

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t line_of(const char* name);
  /// Adds up what the events say, and forgets them.
  void collect();

  int depth_ = 0;
  std::size_t line_ = 0;  // of the operator that runs
  bool counts_ = false;   // whether that one is timed
  Clock::time_point begun_;
  std::vector<OperatorTime> lines_;
  std::unique_ptr<cuda::EventPairs> events_;  // on a GPU
  std::vector<std::size_t> timed_;            // the line of each pair of events
};

/// While it lives the named operator runs, if the context times operators.
class TimedOperator {
 public:
  TimedOperator(const Context& context, const char* name) : timer_(context.timer()) {
    if (timer_ != nullptr) timer_->begin(name);
  }
  ~TimedOperator() {
    if (timer_ != nullptr) timer_->end();
  }
  TimedOperator(const TimedOperator&) = delete;
  TimedOperator& operator=(const TimedOperator&) = delete;

 private:
  friend class TimedScope;
  static std::unique_ptr<OperatorTimer>& timer_of(Context& context);

  OperatorTimer* timer_;
};

/// Times the operators of a context while it lives, if `on`; a timer that the caller has stands still meanwhile.
class TimedScope {
 public:
  TimedScope(Context& context, bool on);
  ~TimedScope();
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;
  /// Of the operators so far; none where nothing is timed.
  std::vector<OperatorTime> times() const { return on_ ? context_.operator_times() : std::vector<OperatorTime>{}; }

 private:
  Context& context_;
  bool on_;
  std::unique_ptr<OperatorTimer> before_;
};

}  // namespace weft
