#include "kernels/cpu/target.hpp"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/check.hpp"

namespace weft::cpu {
namespace {

// A lower bit is a better target.
std::uint64_t lowest(std::uint64_t bits) { return bits & (~bits + 1); }

std::uint64_t usable() {
  return static_cast<std::uint64_t>(hwy::SupportedTargets()) & static_cast<std::uint64_t>(HWY_TARGETS);
}

bool cap_target(std::string_view wanted) {
  std::string known;
  std::uint64_t better = 0;
  for (std::uint64_t left = usable(); left != 0; left &= left - 1) {
    const std::string_view target = hwy::TargetName(static_cast<std::int64_t>(lowest(left)));
    if (target == wanted) {
      hwy::DisableTargets(static_cast<std::int64_t>(better));
      return true;
    }
    better |= lowest(left);
    known += known.empty() ? "" : ", ";
    known += target;
  }
  fail(ErrorCode::invalid_argument, "WEFT_CPU_TARGET is '{}': this build and machine have {}", wanted, known);
}

}  // namespace

void settle_target() {
  static const bool settled = [] {
    const char* wanted = std::getenv("WEFT_CPU_TARGET");
    return wanted == nullptr || *wanted == '\0' || cap_target(wanted);
  }();
  static_cast<void>(settled);
}

std::string_view cpu_target() {
  settle_target();
  return usable() == 0 ? "none" : hwy::TargetName(static_cast<std::int64_t>(lowest(usable())));
}

}  // namespace weft::cpu
