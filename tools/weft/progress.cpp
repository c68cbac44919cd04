#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "terminal.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

std::string rate_text(double rate) {
  constexpr std::string_view units[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  for (; rate >= 1000 && unit + 1 < std::size(units); ++unit) rate /= 1000;
  return fmt::format("{:.{}f} {}/s", rate, rate < 10 ? 1 : 0, units[unit]);
}

}  // namespace

std::string progress_line(std::string_view what, std::int64_t done, std::int64_t total, double seconds, int columns,
                          bool bar) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  if (total <= 0) return fmt::format("{}: {}, {}", what, grouped(done), rate_text(rate));
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  std::string numbers = fmt::format("{:3.0f} %", std::floor(share * 100));
  if (rate > 0) numbers += "  " + rate_text(rate);
  if (rate > 0 && share < 1)
    numbers += fmt::format("  {} left", seconds_text(static_cast<double>(total - done) / rate));
  if (!bar) return fmt::format("{}: {}", what, numbers);
  const auto room = static_cast<int>(columns) - static_cast<int>(what.size() + numbers.size()) - 7;
  const int width = std::clamp(room, 0, 40);
  if (width < 5)
    return shortened(fmt::format("{} {}", what, numbers), static_cast<std::size_t>(std::max(columns - 1, 1)));
  const int full = static_cast<int>(share * width);
  return fmt::format("{} [{:#<{}}{:.<{}}] {}", what, "", full, "", width - full, numbers);
}

ProgressBar::ProgressBar(std::FILE* file) : ProgressBar(file, isatty(fileno(file)) == 1, 0, 0) {
  first_after_s_ = terminal_ ? 0.3 : 3.0;
  every_s_ = terminal_ ? 0.1 : 5.0;
}

ProgressBar::ProgressBar(std::FILE* file, bool terminal, double first_after_s, double every_s)
    : file_(file), terminal_(terminal), first_after_s_(first_after_s), every_s_(every_s) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::update(std::string_view what, std::int64_t done, std::int64_t total) {
  const auto now = Clock::now();
  const std::lock_guard guard(lock_);
  if (what != what_) {
    what_ = what;
    begun_ = now;
    shown_ =
        now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(first_after_s_ - every_s_));
  }
  if (std::chrono::duration<double>(now - shown_).count() < every_s_) return;
  shown_ = now;
  show(done, total, now);
}

void ProgressBar::draw(const std::string& line) {
  for (const char* part : {"\r", line.c_str(), "\x1b[K"}) std::fputs(part, file_);
  std::fflush(file_);
  drawn_ = true;
}

void ProgressBar::show(std::int64_t done, std::int64_t total, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const std::string line = progress_line(what_, done, total, seconds, terminal_ ? columns_of(file_) : 80, terminal_);
  if (terminal_) {
    draw(line);
  } else {
    print_line(file_, line);
  }
  std::fflush(file_);
}

void ProgressBar::announce(std::string_view what) {
  const std::lock_guard guard(lock_);
  if (!terminal_) return;
  draw(shortened(what, static_cast<std::size_t>(columns_of(file_) - 1)));
}

void ProgressBar::clear() {
  const std::lock_guard guard(lock_);
  if (!drawn_) return;
  std::fputs("\r\x1b[K", file_);
  std::fflush(file_);
  drawn_ = false;
}

Progress ProgressBar::callback() {
  return [this](std::string_view what, std::int64_t done, std::int64_t total) { update(what, done, total); };
}

}  // namespace weft::tool
