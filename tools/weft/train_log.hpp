// A training run as CSV, a line after every epoch, for those who watch it (tail -f) or plot it while it runs.
#pragma once

#include <cstdint>
#include <string>

#include "weft/nn.hpp"

namespace weft::tool {

class TrainLog {
 public:
  struct Options {
    bool several_runs = false;  // lines begin with the run, from 1, and its seed
    bool goes_on = false;       // lines of epochs before the first one added here stay
  };
  /// An empty path logs nothing. An Error where a log that goes on is none of these; the file itself is opened with the
  /// first epoch, so that training that cannot begin leaves an old one as it was.
  TrainLog(std::string path, Options options);
  ~TrainLog();
  TrainLog(const TrainLog&) = delete;
  TrainLog& operator=(const TrainLog&) = delete;

  /// Writes a line at once. A failure does not end training: it is kept in error(), and no more is written.
  void add(std::int64_t run, std::uint64_t seed, const EpochFigures& figures);
  /// Where no epoch was added, as there were none left to train: the file has its header, and what went on stays.
  void finish();
  const std::string& error() const { return error_; }

 private:
  void open(std::int64_t first_epoch);
  void write(const std::string& text);
  void fail_with(const char* what);

  std::string path_;
  Options options_;
  int file_ = -1;
  bool opened_ = false;
  std::string error_;
};

}  // namespace weft::tool
