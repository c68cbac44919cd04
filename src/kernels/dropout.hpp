// Which edges attention drops: decided by seed, step, edge id and head alone, so that the backward finds the same ones,
// and any schedule, device and number of threads.
#pragma once

#include <cstdint>

#include "core/philox.hpp"
#include "weft/types.hpp"

namespace weft {

struct Dropout {
  float rate = 0;  // in [0, 1)
  std::uint64_t seed = 0;
  const std::int64_t* step = nullptr;  // where the kernel runs; null: 0

  WEFT_ANYWHERE constexpr bool given() const { return rate > 0; }
  /// One for each of four heads, of which `head` is any.
  WEFT_ANYWHERE constexpr FourWords words(EdgeId edge, std::int64_t head) const {
    const auto id = static_cast<std::uint64_t>(edge);
    return philox({{static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
                    static_cast<std::uint32_t>(head / 4), step != nullptr ? static_cast<std::uint32_t>(*step) : 0}},
                  seed);
  }
  WEFT_ANYWHERE constexpr bool drops(std::uint32_t word) const {
    return word < static_cast<std::uint32_t>(static_cast<double>(rate) * 4294967296.0);
  }
  WEFT_ANYWHERE constexpr bool drops(EdgeId edge, std::int64_t head) const {
    return drops(words(edge, head).at[head % 4]);
  }
  /// What weights that are kept are multiplied by, so that the mean stays the same.
  WEFT_ANYWHERE constexpr float scale() const { return 1 / (1 - rate); }
  /// What an edge's weight is multiplied by: that, or 0.
  WEFT_ANYWHERE constexpr float factor(EdgeId edge, std::int64_t head) const {
    return drops(edge, head) ? 0.0f : scale();
  }
};

}  // namespace weft
