// Words that look random, made of words that do not.
#pragma once

#include <cstdint>

#include "core/anywhere.hpp"

namespace weft {

/// A bijection of 64-bit words in which every output bit depends on every input bit: two odd
/// multiplications between xor-shifts (constants of Evensen's "moremur").
WEFT_ANYWHERE constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 27;
  x *= 0x3c79ac492ba7b653;
  x ^= x >> 33;
  x *= 0x1c69b3f74ac4ae35;
  return x ^ (x >> 27);
}

}  // namespace weft
