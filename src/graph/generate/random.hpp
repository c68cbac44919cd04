// Random numbers that are a function of where they are used: (seed, stream, index) names a sequence,
// and any element of it can be had without the ones before. Only integer arithmetic, so every
// machine, compiler and number of threads sees the same values.
#pragma once

#include <bit>
#include <cstdint>

#include "core/mix.hpp"

namespace weft::generator {

/// One sequence for each thing that is drawn, so that adding one never shifts another.
enum class Stream : std::uint64_t {
  degree = 1,
  sources,
  ids,
  quadrant,
  edge_slot,
  molecule_size,
  molecule,
  bond,
  citation,
  word,
  split,
  rank,
  window
};

/// Names the sequence (seed, stream, index).
constexpr std::uint64_t sequence_key(std::uint64_t seed, Stream stream, std::uint64_t index = 0) {
  const std::uint64_t base = mix(mix(seed + 0x632be59bd9b4e019) + static_cast<std::uint64_t>(stream));
  return mix(base ^ mix(index + 0x9e3779b97f4a7c15));
}

/// Element k of a sequence. The odd step spreads consecutive counters over the whole word.
constexpr std::uint64_t element(std::uint64_t key, std::uint64_t k) { return mix(key + k * 0x9e3779b97f4a7c15); }

/// The upper half of a 128-bit product: scales a random word to [0, limit) with a bias below 2^-32
/// for every limit weft uses, and no loop.
constexpr std::uint64_t scale_below(std::uint64_t word, std::uint64_t limit) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(word) * limit) >> 64);
}

/// A sequence read from its start.
class Random {
 public:
  Random(std::uint64_t seed, Stream stream, std::uint64_t index) : key_(sequence_key(seed, stream, index)) {}
  std::uint64_t next() { return element(key_, counter_++); }
  std::uint64_t below(std::uint64_t limit) { return scale_below(next(), limit); }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

/// A seeded bijection of [0, size): new ids without a table, distinct draws without a memory of the
/// earlier ones. Rounds of odd multiplication and xor-shift permute the next power of two; values
/// that fall outside go round again, at most twice on average.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed, Stream stream)
      : size_(size), bits_(size > 1 ? std::bit_width(size - 1) : 0), shift_(bits_ > 1 ? (bits_ + 1) / 2 : 1) {
    const std::uint64_t key = sequence_key(seed, stream);
    for (int r = 0; r < rounds; ++r) {
      factor_[r] = element(key, 2 * r) | 1;
      offset_[r] = element(key, 2 * r + 1);
    }
  }

  std::uint64_t operator()(std::uint64_t x) const {
    if (bits_ == 0) return x;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits_);
    do {
      for (int r = 0; r < rounds; ++r) {
        x = (x * factor_[r] + offset_[r]) & mask;
        x ^= x >> shift_;
      }
    } while (x >= size_);
    return x;
  }

 private:
  static constexpr int rounds = 5;
  std::uint64_t size_;
  int bits_, shift_;
  std::uint64_t factor_[rounds], offset_[rounds];
};

}  // namespace weft::generator
