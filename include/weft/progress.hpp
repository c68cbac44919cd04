// How far long work has come.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace weft {

/// Told now and then, by the thread that called, how far long work has come; `total` is 0 where it is not known.
using Progress = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

}  // namespace weft
