#include "core/operator_timer.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t most_pairs = 4096;  // of events, before they are read and used again

}  // namespace

std::size_t OperatorTimer::line_of(const char* name) {
  const auto known = std::ranges::find(lines_, name, &OperatorTime::name);
  if (known != lines_.end()) return static_cast<std::size_t>(known - lines_.begin());
  lines_.push_back({name, 0, 0});
  return lines_.size() - 1;
}

void OperatorTimer::begin(const char* name) {
  if (depth_ == 0) {
    line_ = line_of(name);
    if (timed_.size() == most_pairs) collect();
    counts_ = events_ == nullptr || events_->begin();
    if (events_ != nullptr && counts_) timed_.push_back(line_);
    begun_ = Clock::now();
  }
  ++depth_;  // last: what threw above has no end
}

void OperatorTimer::end() noexcept {
  if (--depth_ > 0 || !counts_) return;
  OperatorTime& line = lines_[line_];
  if (events_ == nullptr) {
    ++line.calls;
    line.seconds += std::chrono::duration<double>(Clock::now() - begun_).count();
    return;
  }
  try {
    events_->end();
  } catch (...) {  // a device that failed says so to whoever waits for it next
    if (!timed_.empty()) timed_.pop_back();
  }
}

void OperatorTimer::collect() {
  const std::vector<std::size_t> timed = std::exchange(timed_, {});
  const std::vector<double> seconds = events_->take();
  for (std::size_t i = 0; i < seconds.size() && i < timed.size(); ++i) {
    ++lines_[timed[i]].calls;
    lines_[timed[i]].seconds += seconds[i];
  }
}

std::vector<OperatorTime> OperatorTimer::times() {
  if (events_ != nullptr) collect();
  return lines_;
}

}  // namespace weft
