// How far long work has come, on stderr: a bar with rate and time left on a terminal, elsewhere a
// plain line now and then, and nothing at all for work that is over quickly.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "weft/io.hpp"

namespace weft::tool {

class ProgressBar {
 public:
  /// Asks once whether the file is a terminal.
  explicit ProgressBar(std::FILE* file = stderr);
  ProgressBar(std::FILE* file, bool terminal, double first_after_s, double every_s);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Safe from any thread. A new `what` starts a new measure.
  void update(std::string_view what, std::int64_t done, std::int64_t total);
  /// Work that cannot say how far it is: its name, on a terminal only, until the next update or clear.
  void announce(std::string_view what);
  /// Takes the bar away, so that other output starts on a clean line.
  void clear();
  /// The same as a function for the library; the bar must outlive its use.
  Progress callback();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& line);
  void show(std::int64_t done, std::int64_t total, Clock::time_point now);

  std::FILE* file_;
  bool terminal_;
  double first_after_s_, every_s_;
  std::mutex lock_;
  std::string what_;
  Clock::time_point begun_{}, shown_{};
  bool drawn_ = false;
};

/// The line itself, without its end: "reading  [#####.....]  50 %  3.1 M/s  2.0 s left".
std::string progress_line(std::string_view what, std::int64_t done, std::int64_t total, double seconds, int columns,
                          bool bar);

}  // namespace weft::tool
