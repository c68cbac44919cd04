// Progress reports of long work.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace weft {

/// Called from time to time, on the calling thread, with the progress of long work; `total` is 0 if it is unknown.
using Progress = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

}  // namespace weft
