#include "bench/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace weft::tool {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_of(const std::function<void()>& run) {
  const auto begun = Clock::now();
  run();
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

bool enough(int rounds, double seconds_each, const TimingOptions& options) {
  if (options.repeat > 0) return rounds >= options.repeat;
  if (rounds < options.fewest) return false;
  if (rounds >= options.most || seconds_each >= options.limit_seconds) return true;
  return rounds >= options.rounds && seconds_each >= options.fill_seconds;
}

}  // namespace

void time_in_turns(std::vector<Contestant>& contestants, const TimingOptions& options) {
  if (contestants.empty()) return;
  for (Contestant& contestant : contestants)
    for (int i = 0; i < 2; ++i) contestant.run();
  const auto begun = Clock::now();
  const std::size_t count = contestants.size();
  for (int round = 0;; ++round) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    if (enough(round, seconds / static_cast<double>(count), options)) return;
    if (options.progress) options.progress(round, options.repeat > 0 ? options.repeat : options.rounds);
    for (std::size_t i = 0; i < count; ++i) {
      Contestant& contestant = contestants[(i + static_cast<std::size_t>(round)) % count];
      contestant.microseconds.push_back(microseconds_of(contestant.run));
    }
  }
}

double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank > 0 ? rank - 1 : 0)];
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace weft::tool
