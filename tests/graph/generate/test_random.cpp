#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "graph/generate/power.hpp"
#include "graph/generate/random.hpp"

namespace weft::generator {
namespace {

TEST(generate_random, gives_the_committed_values) {
  const std::uint64_t key = sequence_key(1, Stream::degree);
  EXPECT_EQ(key, 0xc2fae63ca32f9ee5u);
  EXPECT_EQ(element(key, 0), 0x27c1d51100929787u);
  EXPECT_EQ(element(key, 1'000'000'007), 0x9721ce37b6b09300u);
}

TEST(generate_random, a_sequence_read_from_its_start_is_its_elements_in_order) {
  Random random(9, Stream::sources, 4);
  const std::uint64_t key = sequence_key(9, Stream::sources, 4);
  for (std::uint64_t k = 0; k < 100; ++k) EXPECT_EQ(random.next(), element(key, k));
}

TEST(generate_random, seeds_streams_and_indices_name_different_sequences) {
  const std::uint64_t key = sequence_key(1, Stream::degree, 0);
  EXPECT_NE(key, sequence_key(2, Stream::degree, 0));
  EXPECT_NE(key, sequence_key(1, Stream::sources, 0));
  EXPECT_NE(key, sequence_key(1, Stream::degree, 1));
}

TEST(generate_random, every_bit_is_set_half_of_the_time) {
  const std::uint64_t key = sequence_key(3, Stream::ids);
  std::array<int, 64> set{};
  constexpr int draws = 20'000;
  for (int k = 0; k < draws; ++k)
    for (int bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>(element(key, k) >> bit & 1);
  for (int bit = 0; bit < 64; ++bit) EXPECT_NEAR(set[bit], draws / 2, 400) << "bit " << bit;  // 5.6 sigma
}

TEST(generate_random, below_is_even_over_its_range) {
  Random random(5, Stream::molecule, 0);
  std::array<int, 7> seen{};
  for (int k = 0; k < 70'000; ++k) ++seen[random.below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 500);
}

TEST(generate_permutation, is_a_bijection_for_every_small_size) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    const Permutation permute(size, size * 7 + 1, Stream::ids);
    std::vector<int> hits(size);
    for (std::uint64_t x = 0; x < size; ++x) {
      ASSERT_LT(permute(x), size);
      ++hits[permute(x)];
    }
    for (std::uint64_t x = 0; x < size; ++x) EXPECT_EQ(hits[x], 1) << x << " of " << size;
  }
}

TEST(generate_permutation, moves_neighbours_apart) {
  constexpr std::uint64_t size = 100'000;
  const Permutation permute(size, 1, Stream::ids);
  double distance = 0;
  for (std::uint64_t x = 0; x + 1 < size; ++x)
    distance += std::abs(static_cast<double>(permute(x)) - static_cast<double>(permute(x + 1)));
  EXPECT_NEAR(distance / size / size, 1.0 / 3, 0.01);  // what independent ids would give
}

TEST(generate_permutation, stays_in_range_for_sizes_beyond_32_bits) {
  constexpr std::uint64_t size = (std::uint64_t{1} << 61) + 12'345;
  const Permutation permute(size, 1, Stream::edge_slot);
  for (std::uint64_t x = 0; x < 1'000; ++x) {
    EXPECT_LT(permute(x), size);
    EXPECT_LT(permute(size - 1 - x), size);
  }
}

TEST(generate_power, agrees_with_the_c_library_to_a_few_last_bits) {
  for (int k = 1; k <= 2'000; ++k) {
    const double x = k * 0.00050003;
    EXPECT_NEAR(portable_log2(x), std::log2(x), 4e-15 * std::max(1.0, std::abs(std::log2(x)))) << x;
    const double y = (k - 1'000) * 0.9;
    EXPECT_NEAR(portable_exp2(y) / std::exp2(y), 1, 4e-15) << y;
  }
  EXPECT_EQ(portable_log2(1), 0);
  EXPECT_EQ(portable_log2(0x1p-53), -53);
  EXPECT_EQ(portable_exp2(0), 1);
  EXPECT_EQ(portable_exp2(40), 0x1p40);
}

TEST(generate_power, gives_the_committed_bits) {
  EXPECT_EQ(portable_log2(0.3), -0x1.bca9c6f53897bp+0);
  EXPECT_EQ(portable_exp2(7.3), 0x1.3b2c47bff8328p+7);
  std::uint64_t bits = 0;  // over many arguments: a fused multiply-add anywhere shows
  for (int k = 1; k <= 1'000; ++k) {
    const double log = portable_log2(k * 0x1.0p-10);
    bits = mix(bits ^ std::bit_cast<std::uint64_t>(log));
    bits = mix(bits ^ std::bit_cast<std::uint64_t>(portable_exp2(-log)));
  }
  EXPECT_EQ(bits, 0x3207a3d81f85542du) << std::hex << bits;
}

}  // namespace
}  // namespace weft::generator
