// Text that came from a file or another program, as a message may show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// In single quotes, on one line, every byte that is not printable ASCII as \xNN: text from a file must not move the
/// cursor of a terminal or fill its screen. At most `most` characters of it, the cut marked by dots.
std::string in_quotes(std::string_view text, std::size_t most = 40);

}  // namespace weft
