// How much a packed file may hold. Graphs and features shrink 3 to 10 times; a thousand times (deflate's most) is no
// graph but a trap, whichever the packing.
#pragma once

#include <algorithm>
#include <cstddef>

namespace weft::io {

constexpr std::size_t most_unpacked(std::size_t packed_bytes) {
  constexpr std::size_t always_allowed = std::size_t{256} << 20, most_growth = 64;
  return std::max(always_allowed, packed_bytes * most_growth);
}

}  // namespace weft::io
