// Single runs of several contestants, timed in turns: whatever the machine does meanwhile hits all of
// them alike.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/context.hpp"

namespace weft::tool {

/// Times calls one by one, on the clock that belongs to a device.
class Timer {
 public:
  virtual ~Timer() = default;
  /// Microseconds of one call and of all it started.
  virtual double microseconds(const std::function<void()>& run) = 0;
};

/// The host's clock on a CPU, events in the context's stream on a GPU.
std::unique_ptr<Timer> make_timer(const Context& context);
/// The host's clock, until the context has nothing more to do: launches and waiting included.
std::unique_ptr<Timer> make_wall_timer(const Context& context);
/// The same on a CPU. On a GPU, events in an idle stream: what the host does and launches shows, waking it up at the
/// end does not.
std::unique_ptr<Timer> make_fresh_timer(const Context& context);

struct Contestant {
  std::function<void()> run;
  std::vector<double> microseconds;  // of every timed run
};

struct TimingOptions {
  int repeat = 0;   // exactly so many rounds; 0: as below
  int rounds = 20;  // at least, unless the time runs out
  int fewest = 5;   // at least, whatever it takes
  int most = 500;
  double fill_seconds = 0.25;  // short runs are repeated until so much was timed, a contestant
  double limit_seconds = 2;    // and stopped early after so much, a contestant
  /// Runs shorter than this go once untimed before each timed one: caches then hold what the contestant itself leaves
  /// there, not what the one before it did.
  double warm_below_us = 0;
  std::function<void(int done, int total)> progress;
};

/// What suits a device. A GPU's times scatter so little that the fewest rounds do; its cache holds whole tables of
/// features, so who ran before would show.
TimingOptions timing_for(Device device);

/// Two untimed runs each, then rounds; who goes first rotates.
void time_in_turns(Timer& timer, std::vector<Contestant>& contestants, const TimingOptions& options);

/// GB/s of a large copy on the context's device, bytes read and bytes written.
double copy_gb_s(const Context& context);

double median_of(std::vector<double> values);
/// Of positive values; 0 where there are none.
double geometric_mean_of(const std::vector<double>& values);
/// The value a share of all lies at or below; values must not be empty.
double quantile_of(std::vector<double> values, double share);

}  // namespace weft::tool
