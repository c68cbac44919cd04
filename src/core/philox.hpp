// Random numbers without a state: one for every counter and key, the same wherever it is asked for. (Philox4x32-10 of
// Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011.)
#pragma once

#include <cstdint>

#include "core/anywhere.hpp"

namespace weft {

struct FourWords {
  std::uint32_t at[4];
};

WEFT_ANYWHERE constexpr FourWords philox(FourWords counter, std::uint64_t key) {
  auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.at[0], b = std::uint64_t{0xCD9E8D57u} * counter.at[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.at[1] ^ low, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.at[3] ^ high, static_cast<std::uint32_t>(a)}};
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace weft
