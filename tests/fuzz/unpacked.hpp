// What menders allow a packed stream, so that a small input cannot make mending slow.
#pragma once

#include <cstddef>

namespace weft::test {

inline constexpr std::size_t most_mended = std::size_t{1} << 20;  // bytes that a stream may unpack to
inline constexpr int most_window_log = 20;                        // and of the window that it may ask for, 2^20

}  // namespace weft::test
