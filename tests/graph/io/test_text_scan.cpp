#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "graph/io/text_scan.hpp"

namespace weft::io {
namespace {

TEST(text_scan, reads_integers_up_to_both_ends_of_64_bits) {
  std::int64_t value = 0;
  TextCursor cursor(" 9223372036854775807\t-9223372036854775808 +7 007\n");
  ASSERT_TRUE(cursor.read_integer(value));
  EXPECT_EQ(value, std::numeric_limits<std::int64_t>::max());
  ASSERT_TRUE(cursor.read_integer(value));
  EXPECT_EQ(value, std::numeric_limits<std::int64_t>::min());
  ASSERT_TRUE(cursor.read_integer(value));
  EXPECT_EQ(value, 7);
  ASSERT_TRUE(cursor.read_integer(value));
  EXPECT_EQ(value, 7);
  EXPECT_FALSE(cursor.read_integer(value));
  EXPECT_TRUE(cursor.at_line_end());
}

TEST(text_scan, refuses_what_is_no_whole_integer_and_stays_there) {
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "18446744073709551617", "1x", "-", "+", "",
                           "1.0", "0x10", "99999999999999999999999999"}) {
    SCOPED_TRACE(text);
    std::int64_t value = 0;
    TextCursor cursor(text);
    EXPECT_FALSE(cursor.read_integer(value));
    EXPECT_EQ(cursor.token(), text);
  }
}

TEST(text_scan, tells_numbers_too_large_from_numbers_too_small) {
  const auto read = [](std::string_view text, double& value) { return TextCursor(text).read_real(value); };
  double value = 1;
  EXPECT_FALSE(read("1e309", value));
  EXPECT_FALSE(read("-1e309", value));
  EXPECT_FALSE(read(std::string(400, '9'), value));
  ASSERT_TRUE(read("1e-999", value));
  EXPECT_EQ(value, 0.0);
  ASSERT_TRUE(read("-1D-999", value));
  EXPECT_TRUE(std::signbit(value));
  ASSERT_TRUE(read("0." + std::string(400, '0') + "1", value));
  EXPECT_EQ(value, 0.0);
  EXPECT_FALSE(read("1e-", value));
  EXPECT_FALSE(read("", value));
  EXPECT_FALSE(read("+-1", value));
}

TEST(text_scan, skips_comments_and_blank_lines) {
  TextCursor cursor("% a\n\n  \t\r\n %b\nword next\n%c");
  ASSERT_TRUE(cursor.to_content("%"));
  EXPECT_EQ(cursor.token(), "word");
  cursor.next_line();
  EXPECT_FALSE(cursor.to_content("%"));
  EXPECT_TRUE(cursor.done());
}

}  // namespace
}  // namespace weft::io
