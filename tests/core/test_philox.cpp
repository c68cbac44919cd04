#include "core/philox.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

void expect_words(const FourWords& got, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  EXPECT_EQ(got.at[0], a);
  EXPECT_EQ(got.at[1], b);
  EXPECT_EQ(got.at[2], c);
  EXPECT_EQ(got.at[3], d);
}

TEST(philox, gives_the_numbers_its_authors_published) {
  expect_words(philox({{0, 0, 0, 0}}, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  expect_words(philox({{~0u, ~0u, ~0u, ~0u}}, ~std::uint64_t{0}), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  expect_words(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822), 0xd16cfe09, 0x94fdcceb,
               0x5001e420, 0x24126ea1);
}

TEST(philox, can_be_asked_while_compiling) { static_assert(philox({{0, 0, 0, 0}}, 0).at[0] == 0x6627e8d5); }

}  // namespace
}  // namespace weft::test
