#include "graph/io/gzip.hpp"

#include "graph/io/files.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

std::string unpack(const std::string& packed) {
  const io::Unpacked content = io::gunzip(std::as_bytes(std::span(packed)), {});
  return {reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size()};
}

void expect_damaged(const std::string& packed, std::string_view part) {
  try {
    unpack(packed);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_file);
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

std::string text_of(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2654435761u) + "\n";
  return text;
}

TEST(gzip, members_of_any_size_come_back) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{3'000'000}}) {
    const std::string text = size == 0 ? "" : text_of(size);
    EXPECT_EQ(unpack(io::gzip_member(text)), text);
  }
}

TEST(gzip, several_members_are_one_text) {
  EXPECT_EQ(unpack(io::gzip_member("ab") + io::gzip_member("") + io::gzip_member("c")), "abc");
}

TEST(gzip, zeros_behind_the_last_member_are_padding_and_anything_else_is_damage) {
  EXPECT_EQ(unpack(io::gzip_member("ab") + std::string(100, '\0')), "ab");
  expect_damaged(io::gzip_member("ab") + "garbage", "another gzip member");
}

TEST(gzip, every_cut_is_found) {
  const std::string packed = io::gzip_member(text_of(300));
  for (std::size_t size = 3; size < packed.size(); ++size) expect_damaged(packed.substr(0, size), "cut off");
}

TEST(gzip, a_flipped_bit_is_found_unless_it_changes_nothing) {
  const std::string text = text_of(300), packed = io::gzip_member(text);
  int unseen = 0;
  for (std::size_t byte = 10; byte < packed.size(); ++byte)  // the first ten hold date and system
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = packed;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      try {
        EXPECT_EQ(unpack(damaged), text) << "byte " << byte << " bit " << bit;
        ++unseen;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_file) << error.what();
      }
    }
  EXPECT_LT(unseen, 8) << "only the bits that fill up deflate's last byte are free";
}

TEST(gzip, a_bomb_is_stopped_at_the_limit) {
  std::string bomb;
  const std::string member = io::gzip_member(std::string(std::size_t{64} << 20, 'x'));
  for (int i = 0; i < 8; ++i) bomb += member;  // half a megabyte for half a gigabyte
  reset_memory_peak();
  expect_damaged(bomb, "unpack it by hand");
  // twice the limit, for the moment of growing
  EXPECT_LE(memory_stats().peak_bytes, std::size_t{513} << 20);
}

}  // namespace
}  // namespace weft::test
