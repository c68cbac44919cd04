// Lines of numbers.
#include <cmath>

#include "graph/io/text_table.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

io::TableLayout commas(int columns) {
  io::TableLayout layout;
  layout.columns = columns;
  layout.separator = ',';
  layout.expected = "two numbers";
  return layout;
}

std::vector<float> reals(std::string_view text, int columns = 0) {
  const Tensor table = io::read_reals(io::TextBlocks(text), commas(columns), {});
  return {table.span<float>().begin(), table.span<float>().end()};
}

TEST(text_table, reads_integers_into_the_narrower_type_where_they_fit) {
  const auto table = io::read_integers<std::int32_t>(std::string_view("1,2\n# none\n\n-3 , 4"), commas(2), {});
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(std::vector(table.values.begin(), table.values.end()), (std::vector<std::int32_t>{1, 2, -3, 4}));
  try {
    io::read_integers<std::int32_t>(std::string_view("1,2147483648\n"), commas(2), {});
    FAIL() << "2^31 fits no 32 bits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
  EXPECT_EQ(io::read_integers<std::int64_t>(std::string_view("1,2147483648\n"), commas(2), {}).values[1], 2147483648);
}

TEST(text_table, names_the_line_that_is_too_short_whatever_memory_it_would_take) {
  try {
    io::read_integers<std::int64_t>(std::string_view("1,2\n3\n"), commas(2), {});
    FAIL() << "a line of one number";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2: found '3': expected two numbers"), std::string::npos)
        << error.what();
  }
}

TEST(text_table, takes_the_width_of_reals_from_the_first_line) {
  EXPECT_EQ(reals("1,2.5,-3e2\n4,5,6\n"), (std::vector<float>{1, 2.5, -300, 4, 5, 6}));
  try {
    reals("1,2\n3,4,5\n");
    FAIL() << "lines of two widths";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
  }
}

TEST(text_table, has_nan_where_nothing_stands_between_separators) {
  for (const char* const text : {",,\n,,\n,,\n", "nan,nan,nan\n,\"\",\nnan,,nan"}) {
    const std::vector<float> values = reals(text);
    ASSERT_EQ(values.size(), 9) << text;
    for (const float value : values) EXPECT_TRUE(std::isnan(value)) << text;
  }
  EXPECT_EQ(reals("1,2,\n").size(), 3);
}

}  // namespace
}  // namespace weft::test
