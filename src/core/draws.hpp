// Random choices without a state, the same on every device.
#pragma once

#include <cstdint>

#include "core/philox.hpp"

namespace weft {

/// What random numbers are for: those of different purposes have nothing to do with each other.
enum class Purpose : std::uint32_t { batches, counting, shuffling, edges };

/// 0 to bound - 1, all equally likely but for a part in 2^64 / bound.
WEFT_ANYWHERE constexpr std::int64_t below(std::uint32_t high, std::uint32_t low, std::int64_t bound) {
  // The upper half of a product of 64-bit numbers, made of products of 32-bit ones.
  const auto wide = static_cast<std::uint64_t>(bound);
  const std::uint64_t c = wide >> 32, d = wide & 0xffffffffu;
  const std::uint64_t first = high * d + ((low * d) >> 32), second = low * c + (first & 0xffffffffu);
  return static_cast<std::int64_t>(high * c + (first >> 32) + (second >> 32));
}

/// The random numbers of one batch, or of one step.
struct Draws {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  Purpose purpose = Purpose::batches;

  WEFT_ANYWHERE constexpr FourWords words(std::int64_t item, std::uint32_t turn) const {
    // The first bit tells these from dropout's, whose last word is a step.
    const auto high = 1u << 31 | static_cast<std::uint32_t>(step >> 32) << 4 | static_cast<std::uint32_t>(purpose);
    return philox({{static_cast<std::uint32_t>(item), turn, static_cast<std::uint32_t>(step), high}}, seed);
  }
  WEFT_ANYWHERE constexpr std::int64_t below(std::int64_t item, std::uint32_t turn, std::int64_t bound) const {
    const FourWords w = words(item, turn);
    return weft::below(w.at[0], w.at[1], bound);
  }
};

/// Where item `i` of `count` stands in a random order: each place is taken once. A network of Feistel's over the least
/// even number of bits that holds the count, walked until it ends within; so every item is found on its own.
WEFT_ANYWHERE constexpr std::int64_t shuffled(std::int64_t i, std::int64_t count, const Draws& draws) {
  int half = 1;
  while (half < 31 && (std::int64_t{1} << 2 * half) < count) ++half;
  const std::uint32_t mask = (1u << half) - 1;
  auto at = static_cast<std::uint64_t>(i);
  do {
    auto left = static_cast<std::uint32_t>(at >> half), right = static_cast<std::uint32_t>(at) & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
      const std::uint32_t next = left ^ (draws.words(right, round).at[0] & mask);
      left = right;
      right = next;
    }
    at = static_cast<std::uint64_t>(left) << half | right;
  } while (at >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(at);
}

}  // namespace weft
