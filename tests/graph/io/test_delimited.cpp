// Delimited text: dialects, records and tables.
#include <gtest/gtest.h>

#include <cmath>

#include "core/parallel.hpp"
#include "graph/io/delimited.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

using Lines = std::vector<std::vector<std::string>>;

Lines records(std::string_view text, char delimiter = ',') {
  io::Records reader(text, delimiter, "#");
  Lines lines;
  while (reader.next()) lines.emplace_back(reader.fields().begin(), reader.fields().end());
  return lines;
}

io::DelimitedTable table_of(std::string_view text, const io::DelimitedOptions& options = {}) {
  return io::DelimitedTable({"table", std::as_bytes(std::span(text)), nullptr}, options);
}

void expect_refusal(const std::function<void()>& call, const std::vector<std::string>& parts) {
  const auto look = [&](const std::string& message) {
    for (const std::string& part : parts) EXPECT_NE(message.find(part), message.npos) << message << " lacks " << part;
  };
  expect_error(call, ErrorCode::invalid_file, look, "a table", __FILE__, __LINE__);
}

TEST(records, are_lines_with_fields_between_delimiters_without_the_blanks_around_them) {
  EXPECT_EQ(records("a, b ,c\r\n\n# none\n,, \n1"), (Lines{{"a", "b", "c"}, {"", "", ""}, {"1"}}));
  EXPECT_EQ(records("New York\tRome\n\tx\t\n", '\t'), (Lines{{"New York", "Rome"}, {"", "x", ""}}));
  EXPECT_EQ(records("  0  1\t2 \r\n3 4", ' '), (Lines{{"0", "1", "2"}, {"3", "4"}}));
  EXPECT_TRUE(records("").empty());
  EXPECT_TRUE(records("\n \r\n# a comment").empty());
}

TEST(records, may_have_quoted_fields_with_delimiters_quotes_and_line_ends_in_them) {
  EXPECT_EQ(records("\"a,b\" , \"say \"\"hi\"\"\",\"\"\n\"two\nlines\",x,\"\"\"\"\n"),
            (Lines{{"a,b", "say \"hi\"", ""}, {"two\nlines", "x", "\""}}));
  EXPECT_EQ(records("\"a b\" c\n", ' '), (Lines{{"a b", "c"}}));
  EXPECT_EQ(records("5\" pipe,\"#1\"\n"), (Lines{{"5\" pipe", "#1"}})) << "a quote within a field is a character";
}

TEST(records, know_the_line_they_start_in) {
  io::Records reader("# one\na,\"x\n\ny\"\n\nb,c", ',', "#");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 2);
  EXPECT_EQ(reader.raw(), "a,\"x\n\ny\"");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 6);
  EXPECT_EQ(reader.raw(), "b,c");
  EXPECT_FALSE(reader.next());
}

TEST(records, whose_quotes_are_wrong_name_the_line) {
  expect_refusal([] { records("a,b\nc,\"open\nand on\n"); }, {"line 2", "'\"open'", "closes"});
  expect_refusal([] { records("a,\"b\"c\n"); }, {"line 1", "'c'", "behind a closing quote"});
  expect_refusal([] { records("a \"b\"c\n", ' '); }, {"line 1", "'c'", "behind a closing quote"});
}

TEST(records, cut_off_at_any_byte_end_in_an_answer) {
  const std::string text = "\"a,\"\"b\",c\n1,\"2\n3\"\r\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    try {
      EXPECT_LE(records(text.substr(0, size)).size(), 2u);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_file) << error.what();
    }
  }
}

TEST(dialects, are_found_from_the_first_lines) {
  const auto delimiter = [](std::string_view text) { return io::dialect_of(text, {}).delimiter; };
  EXPECT_EQ(delimiter("a\tb c\nd\te f\n"), '\t');
  EXPECT_EQ(delimiter("1;2;0,5\n3;4;1,5\n"), ';');
  EXPECT_EQ(delimiter("1, 2\n3, 4\n"), ',');
  EXPECT_EQ(delimiter("a|b\n"), '|');
  EXPECT_EQ(delimiter("0\t2\n2 1\n"), ' ') << "blanks and tabs mixed";
  EXPECT_EQ(delimiter("\"a;b\",c\n"), ',');
  EXPECT_EQ(delimiter("a,b\nc\n"), ',') << "the second line is the one that is wrong";
  EXPECT_EQ(io::dialect_of("a,b\nc\n", {}).columns, 2u);
  EXPECT_EQ(io::dialect_of("", {}).columns, 0u);
}

TEST(dialects, have_a_header_where_words_stand_above_numbers_or_a_known_name_stands) {
  const std::vector<std::string_view> known = {"source", "target"};
  const auto names = [&](std::string_view text) { return io::dialect_of(text, {.header_words = known}).names; };
  EXPECT_EQ(names("a,b\n1,2\n"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names("who,whom,times\nann,bob,3\n"), (std::vector<std::string>{"who", "whom", "times"}));
  EXPECT_EQ(names("\"Source\",Target\nann,bob\n"), (std::vector<std::string>{"Source", "Target"}));
  EXPECT_EQ(names("source,target\n"), (std::vector<std::string>{"source", "target"}));
  EXPECT_TRUE(names("ann,bob\nbob,eve\n").empty());
  EXPECT_TRUE(names("ann,1\nbob,2\n").empty()) << "a number stands in the first line";
  EXPECT_TRUE(names("1,2\n3,4\n").empty());
  EXPECT_TRUE(io::dialect_of("a,b\n1,2\n", {.header = false}).names.empty());
  EXPECT_EQ(io::dialect_of("a,b\nc,d\n", {.header = true}).names.size(), 2u);
}

TEST(delimited_tables, give_columns_by_name_as_strings_and_numbers) {
  const auto table = table_of("\xef\xbb\xbfnode;Class Name;x;y\r\nann;\"theory; old\";1.5;-2e3\r\nbob;ml;;NaN\r\n");
  EXPECT_EQ(table.rows(), 2);
  EXPECT_EQ(table.columns(), 4);
  EXPECT_EQ(table.find({"label", "class_name"}), 1);
  EXPECT_EQ(table.find({"weight"}), -1);
  EXPECT_EQ(table.title(1), "column 2 ('Class Name')");
  EXPECT_EQ(table.strings(0), (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(table.strings(1), (std::vector<std::string>{"theory; old", "ml"}));
  const std::vector<int> columns = {3, 2};
  const Tensor numbers = table.numbers(columns);
  EXPECT_EQ(numbers.shape(), Shape(2, 2));
  EXPECT_EQ(numbers.span<float>()[0], -2000);
  EXPECT_EQ(numbers.span<float>()[1], 1.5f);
  EXPECT_TRUE(std::isnan(numbers.span<float>()[2]));
  EXPECT_TRUE(std::isnan(numbers.span<float>()[3]));
}

TEST(delimited_tables, read_whole_numbers_also_from_reals) {
  EXPECT_EQ(table_of("7\n+8\n-9.0\n1.000000000000000000e+01\n9223372036854775807\n").integers(0),
            (std::vector<std::int64_t>{7, 8, -9, 10, std::numeric_limits<std::int64_t>::max()}));
}

TEST(delimited_tables, whose_fields_are_wrong_name_line_and_column) {
  expect_refusal([] { table_of("id,x\n1,2\n\n3,four\n").numbers(std::vector<int>{1}); },
                 {"line 4", "'four'", "column 2 ('x')", "a number"});
  expect_refusal([] { table_of("1,2\n3,4.5\n").integers(1); }, {"line 2", "'4.5'", "column 2", "a whole number"});
  expect_refusal([] { table_of("1,2\n3,4,5\n"); }, {"line 2", "3 fields", "'3,4,5'", "expected 2"});
  const auto utf16 = [] {
    table_of(
        std::string_view("\xff\xfe"
                         "a\0",
                         4));
  };
  expect_error(
      utf16, ErrorCode::unsupported,
      [](const std::string& message) { EXPECT_NE(message.find("save it as UTF-8"), message.npos) << message; },
      "UTF-16", __FILE__, __LINE__);
}

TEST(delimited_tables, name_the_first_of_several_faults_whatever_the_number_of_threads) {
  std::string text = "id,x\n";
  for (int i = 0; i < 30000; ++i) text += i % 9000 == 8999 ? "1,bad\n" : "1,2\n";
  for (const int threads : {1, 2, 7}) {
    set_default_threads(threads);
    expect_refusal([&] { table_of(text).numbers(std::vector<int>{1}); }, {"line 9001:", "'bad'"});
  }
  set_default_threads(0);
}

}  // namespace
}  // namespace weft::test
