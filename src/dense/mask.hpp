// Which elements of an activation are dropped: decided by seed, place in the network, step and element alone, so that
// the backward finds them again without anything being kept.
#pragma once

#include <cstdint>

#include "core/philox.hpp"

namespace weft::dense {

struct DropMask {
  float rate = 0;  // in [0, 1)
  std::uint64_t seed = 0;
  std::uint32_t place = 0;             // in the network
  const std::int64_t* step = nullptr;  // where the pass runs

  WEFT_ANYWHERE bool given() const { return rate > 0; }
  WEFT_ANYWHERE float scale() const { return 1 / (1 - rate); }
  WEFT_ANYWHERE FourWords words(std::uint64_t four) const {
    return philox({{static_cast<std::uint32_t>(four), static_cast<std::uint32_t>(four >> 32), place,
                    static_cast<std::uint32_t>(*step)}},
                  seed);
  }
  WEFT_ANYWHERE bool drops(std::uint32_t word) const {
    return word < static_cast<std::uint32_t>(static_cast<double>(rate) * 4294967296.0);
  }
  WEFT_ANYWHERE bool drops_element(std::int64_t i) const {
    const FourWords four = words(static_cast<std::uint64_t>(i) / 4);
    // Not by index, which would take them out of a GPU's registers.
    return drops(i % 4 < 2 ? (i % 4 == 0 ? four.at[0] : four.at[1]) : (i % 4 == 2 ? four.at[2] : four.at[3]));
  }
};

}  // namespace weft::dense
