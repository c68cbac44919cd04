#include "machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace weft::tool {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == '\0' || line.back() == ' ')) line.pop_back();
  return line;
}

// "key : value" lines, as in /proc/cpuinfo and /proc/meminfo; the first that matches.
std::string value_of(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t name_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (colon == std::string::npos || name_end + 1 != key.size()) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Arm's kernels give numbers instead of a name: implementer and part, from the processors' manuals.
std::string arm_model(const std::string& implementer, const std::string& part) {
  if (implementer.empty()) return "";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> arm_parts{{{"0xd03", "Cortex-A53"},
                                                                                     {"0xd08", "Cortex-A72"},
                                                                                     {"0xd0b", "Cortex-A76"},
                                                                                     {"0xd0c", "Neoverse-N1"},
                                                                                     {"0xd40", "Neoverse-V1"},
                                                                                     {"0xd41", "Cortex-A78"},
                                                                                     {"0xd44", "Cortex-X1"},
                                                                                     {"0xd49", "Neoverse-N2"},
                                                                                     {"0xd4f", "Neoverse-V2"},
                                                                                     {"0xd84", "Neoverse-V3"},
                                                                                     {"0xd8e", "Neoverse-N3"}}};
  if (implementer == "0x41")
    for (const auto& [number, name] : arm_parts)
      if (part == number) return fmt::format("Arm {}", name);
  return fmt::format("Arm, implementer {} part {}", implementer, part);
}

std::string cpu_model() {
  const std::string cpuinfo = "/proc/cpuinfo";
  std::string model = value_of(cpuinfo, "model name");
  if (model.empty()) model = arm_model(value_of(cpuinfo, "CPU implementer"), value_of(cpuinfo, "CPU part"));
  if (model.empty()) model = first_line("/proc/device-tree/model");
  return model;
}

std::size_t size_with_unit(const std::string& text) {
  std::size_t used = 0, value = 0;
  try {
    value = std::stoull(text, &used);
  } catch (const std::exception&) {
    return 0;
  }
  const char unit = used < text.size() ? text[used] : ' ';
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : unit == 'G' ? value << 30 : value;
}

std::vector<Cache> caches() {
  std::vector<Cache> found;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level");
    if (level.empty()) return found;
    found.push_back({static_cast<int>(size_with_unit(level)), first_line(folder + "type"),
                     size_with_unit(first_line(folder + "size")), first_line(folder + "shared_cpu_list")});
  }
}

// The word in brackets: "always [madvise] never".
std::string chosen_word(const std::string& text) {
  const std::size_t begin = text.find('['), end = text.find(']');
  return begin == std::string::npos || end == std::string::npos || end < begin
             ? text
             : text.substr(begin + 1, end - begin - 1);
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu_model = cpu_model();
  machine.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.caches = caches();
  machine.memory_bytes = size_with_unit(value_of("/proc/meminfo", "MemTotal")) << 10;  // the file says kB
  machine.available_bytes = size_with_unit(value_of("/proc/meminfo", "MemAvailable")) << 10;
  machine.huge_pages = chosen_word(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  utsname name{};
  if (uname(&name) == 0) machine.system = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  return machine;
}

bool has_gpu_driver() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidia0", ignored) ||
         std::filesystem::exists("/proc/driver/nvidia/gpus", ignored);
}

std::string gpu_driver_version() {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ..."
  std::istringstream words(first_line("/proc/driver/nvidia/version"));
  for (std::string word; words >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return "";
}

std::string compiler_text() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

double machine_load() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace weft::tool
