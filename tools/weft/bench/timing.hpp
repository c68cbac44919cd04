// Single runs of several contestants, timed in turns: whatever the machine does meanwhile hits all of
// them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weft::tool {

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
  std::function<void(int done, int total)> progress;
};

/// Two untimed runs each, then rounds; who goes first rotates.
void time_in_turns(std::vector<Contestant>& contestants, const TimingOptions& options);

double median_of(std::vector<double> values);
/// The value a share of all lies at or below; values must not be empty.
double quantile_of(std::vector<double> values, double share);

}  // namespace weft::tool
