#include "train_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/check.hpp"
#include "graph/io/output_target.hpp"

namespace weft::tool {
namespace {

constexpr std::string_view columns =
    "epoch,loss,train_accuracy,val_accuracy,test_accuracy,val_loss,lr,loss_scale,seconds\n";

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Bytes of the header and of the whole lines after it whose epochs are before `first`. A line that was cut off, as by
/// a kill, is not among them.
std::size_t kept_bytes(std::string_view text, std::int64_t first) {
  std::size_t kept = columns.size();
  while (true) {
    const std::size_t end = text.find('\n', kept);
    std::int64_t epoch = 0;
    if (end == std::string_view::npos) return kept;
    const auto [comma, error] = std::from_chars(text.data() + kept, text.data() + end, epoch);
    if (error != std::errc() || *comma != ',' || epoch >= first) return kept;
    kept = end + 1;
  }
}

/// What was not measured is an empty cell.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

}  // namespace

TrainLog::TrainLog(std::string path, Options options) : path_(std::move(path)), options_(options) {
  if (path_.empty() || !options_.goes_on) return;
  const std::string text = text_in(path_);
  WEFT_CHECK(text.empty() || text.starts_with(columns), invalid_argument,
             "--log: '{}' does not begin with '{}', and --resume would go on with it: name another file", path_,
             columns.substr(0, columns.size() - 1));
}

TrainLog::~TrainLog() {
  if (file_ >= 0) ::close(file_);
}

void TrainLog::fail_with(const char* what) {
  error_ = fmt::format("cannot {} '{}': {}", what, path_, std::strerror(errno));
}

void TrainLog::open(std::int64_t first_epoch) {
  const io::OutputTarget target = io::output_target(path_);
  const bool goes_on = options_.goes_on && !target.in_place;
  const std::string text = goes_on ? text_in(path_) : "";
  const std::size_t kept = text.starts_with(columns) ? kept_bytes(text, first_epoch) : 0;
  file_ = target.descriptor >= 0 ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0)
                                 : ::open(target.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) return fail_with("open");
  if (!target.in_place && ::ftruncate(file_, static_cast<off_t>(kept)) != 0) return fail_with("write");
  if (kept == 0) write((options_.several_runs ? "run,seed," : "") + std::string(columns));
}

void TrainLog::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_with("write");
    done += static_cast<std::size_t>(count);
  }
}

void TrainLog::add(std::int64_t run, std::uint64_t seed, const EpochFigures& figures) {
  if (path_.empty()) return;
  if (!std::exchange(opened_, true)) open(figures.epoch);
  if (!error_.empty()) return;
  std::string line = options_.several_runs ? fmt::format("{},{},", run, seed) : "";
  line += fmt::format("{}", figures.epoch);
  for (const double value : {figures.loss, figures.train_accuracy, figures.val_accuracy, figures.test_accuracy,
                             figures.val_loss, figures.lr, figures.loss_scale, figures.seconds})
    line += "," + cell(value);
  write(line + "\n");
}

void TrainLog::finish() {
  if (path_.empty() || std::exchange(opened_, true)) return;
  open(std::numeric_limits<std::int64_t>::max());
}

}  // namespace weft::tool
