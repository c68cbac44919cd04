// Which table a plan takes: the user's of this GPU, else the one that is built in.
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/check.hpp"
#include "core/environment.hpp"
#include "core/in_quotes.hpp"
#include "core/names.hpp"
#include "plan/selector/table.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// "NVIDIA H200" -> "nvidia-h200".
std::string file_word(std::string_view device) {
  std::string word = lower_case(device);
  for (char& c : word)
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) c = '-';
  return word;
}

/// The last file that was read, kept until it changes: a plan must not cost a read.
class TableCache {
 public:
  SelectorTable read(const std::string& path) {
    const std::lock_guard guard(lock_);
    std::error_code gone;
    const auto written = fs::last_write_time(path, gone);
    const auto bytes = gone ? 0 : fs::file_size(path, gone);
    if (!gone && table_ && path == path_ && written == written_ && bytes == bytes_) return *table_;
    table_.reset();
    SelectorTable table = read_selector_table(path);
    if (gone) return table;
    path_ = path;
    written_ = written;
    bytes_ = bytes;
    table_ = table;
    return table;
  }

 private:
  std::mutex lock_;
  std::string path_;
  fs::file_time_type written_;
  std::uintmax_t bytes_ = 0;
  std::optional<SelectorTable> table_;
};

/// None where the user keeps none. An Error names the variable, too, where that led to the file.
std::optional<SelectorTable> users_table(const TuningFile& file) {
  static TableCache cache;
  std::error_code ignored;
  if (file.path.empty() || (!file.named && !fs::exists(file.path, ignored))) return std::nullopt;
  try {
    return cache.read(file.path);
  } catch (const Error& error) {
    fail(error.code(), "{}{}", file.named ? "WEFT_TUNING: " : "", error.what());
  }
}

}  // namespace

TuningFile tuning_file(std::string_view device) {
  if (std::string named = environment("WEFT_TUNING"); !named.empty()) return {std::move(named), true};
  const std::string folder = user_folder("XDG_CONFIG_HOME", ".config");
  if (folder.empty()) return {};
  return {fmt::format("{}/tuning-{}.json", folder, file_word(device)), false};
}

SelectorChoice choose_selector(std::string_view device, Dtype dtype, int window_rows) {
  const TuningFile file = tuning_file(device);
  SelectorChoice choice;
  if (const std::optional<SelectorTable> table = users_table(file)) {
    const SelectorRow* const row = table->find(dtype, window_rows);
    if (table->device != device) {
      choice.note =
          fmt::format("{} is of {}, this GPU is '{}': not used", file.path, weft::in_quotes(table->device), device);
    } else if (row == nullptr) {
      choice.note =
          fmt::format("{} has no row of {} and {} rows per window: not used", file.path, name(dtype), window_rows);
    } else {
      choice.row = *row;
      choice.source = file.path;
      return choice;
    }
  }
  const SelectorTable& built_in = built_in_selector();
  const SelectorRow* const row = built_in.find(dtype, window_rows);
  WEFT_CHECK(
      row != nullptr, unsupported,
      "policy select=model for {} and {} rows per window: expected a table with a model of them, and the one that "
      "is built in has none{}{}; run weft tune on this GPU, or leave select out",
      name(dtype), window_rows, choice.note.empty() ? "" : "; ", choice.note);
  choice.row = *row;
  choice.source = fmt::format("built in for {}{}", built_in.device, row->samples == 0 ? ", untuned" : "");
  if (choice.note.empty() && built_in.device != device)
    choice.note = fmt::format("this GPU is {}: weft tune fits a model to it", device);
  return choice;
}

}  // namespace weft
