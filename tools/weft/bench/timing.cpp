#include "bench/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/cuda/measure.hpp"
#include "bench/inputs.hpp"
#include "core/device.hpp"

namespace weft::tool {
namespace {

using Clock = std::chrono::steady_clock;

class WallTimer final : public Timer {
 public:
  explicit WallTimer(const Context& context) : context_(context) {}
  double microseconds(const std::function<void()>& run) override {
    const auto begun = Clock::now();
    run();
    context_.synchronise();
    return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
  }

 private:
  const Context& context_;
};

bool enough(int rounds, double seconds_each, const TimingOptions& options) {
  if (options.repeat > 0) return rounds >= options.repeat;
  if (rounds < options.fewest) return false;
  if (rounds >= options.most || seconds_each >= options.limit_seconds) return true;
  return rounds >= options.rounds && seconds_each >= options.fill_seconds;
}

}  // namespace

std::unique_ptr<Timer> make_fresh_timer(const Context& context) {
  if (context.device().kind == DeviceKind::cuda) return make_event_timer(context, false);
  return make_wall_timer(context);
}

std::unique_ptr<Timer> make_wall_timer(const Context& context) { return std::make_unique<WallTimer>(context); }

std::unique_ptr<Timer> make_timer(const Context& context) {
  if (context.device().kind == DeviceKind::cuda) return make_event_timer(context);
  return make_wall_timer(context);
}

TimingOptions timing_for(Device device) {
  TimingOptions options;
  if (device.kind == DeviceKind::cuda) {
    options.fill_seconds = 0.02;
    options.limit_seconds = 5;
    options.warm_below_us = 5000;
  }
  return options;
}

void time_in_turns(Timer& timer, std::vector<Contestant>& contestants, const TimingOptions& options) {
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
      if (options.warm_below_us > 0 &&
          (contestant.microseconds.empty() || contestant.microseconds.back() < options.warm_below_us))
        contestant.run();
      contestant.microseconds.push_back(timer.microseconds(contestant.run));
    }
  }
}

double copy_gb_s(const Context& context) {
  constexpr std::size_t bytes = std::size_t{512} << 20;  // far more than any cache holds
  const Device device = context.device();
  const Input from(context, random_tensor(Shape(bytes / sizeof(float)), Dtype::f32, 1, -1, 1, "measuring a copy"));
  const DeviceBuffer to(device, context.stream(), bytes, "measuring a copy");
  const std::unique_ptr<Timer> timer = make_timer(context);
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) {
    const double us =
        timer->microseconds([&] { copy_bytes(device, to.data(), device, from.data(), bytes, context.stream()); });
    if (i >= 2) times.push_back(us);
  }
  return 2.0 * static_cast<double>(bytes) / median_of(times) * 1e-3;
}

double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank > 0 ? rank - 1 : 0)];
}

double geometric_mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(values.size()));
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace weft::tool
