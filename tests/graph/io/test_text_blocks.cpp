// Text that comes in blocks of whole lines, unpacked on the way.
#include "graph/io/text_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "graph/io/files.hpp"
#include "graph/io/gzip.hpp"
#include "graph/io/mtx_format.hpp"
#include "graph/io/text_table.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

/// A file's bytes as if they were mapped.
struct Packed {
  std::string bytes;
  explicit Packed(std::string_view text) : bytes(io::gzip_member(text)) {}
  io::Source source() const { return {"packed.gz", std::as_bytes(std::span(bytes)), nullptr}; }
};

std::string lines_of(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (random() % 7 == 0) text += "# a comment\n";
    text +=
        std::to_string(random() % 100'000) + " " + std::to_string(random() % 90) + (random() % 3 == 0 ? "\r\n" : "\n");
  }
  return text;
}

io::TableLayout two_columns() {
  io::TableLayout layout;
  layout.columns = 2;
  layout.expected = "two numbers";
  return layout;
}

TEST(text_blocks, plain_text_is_one_block) {
  io::TextBlocks blocks(std::string_view("1\n2\n3"));
  ASSERT_TRUE(blocks.next());
  EXPECT_EQ(blocks.text(), "1\n2\n3");
  EXPECT_TRUE(blocks.last());
  EXPECT_FALSE(blocks.next());
  io::TextBlocks nothing(std::string_view{});
  EXPECT_FALSE(nothing.next());
}

TEST(text_blocks, of_gzip_hold_whole_lines_and_all_of_them_whatever_their_size) {
  for (const std::string& text :
       {lines_of(200, 1), std::string("no end of line"), std::string("\n\n\n"),
        std::string(5000, 'x') + "\nshort\n" + std::string(3000, 'y'), lines_of(3, 2) + "\n"}) {
    const Packed packed(text);
    for (const std::size_t size : {1, 2, 7, 16, 64, 1000, 1 << 20}) {
      io::TextBlocks blocks(packed.source(), size);
      std::string all;
      int count = 0;
      while (blocks.next()) {
        EXPECT_EQ(blocks.lines_before(), std::count(all.begin(), all.end(), '\n')) << "blocks of " << size;
        all += blocks.text();
        if (!blocks.last()) {
          EXPECT_EQ(all.back(), '\n') << "blocks of " << size;
          EXPECT_GE(blocks.text().size() + 5000, size);
        }
        ++count;
      }
      EXPECT_EQ(all, text) << "blocks of " << size;
      if (size == 1 << 20) {
        EXPECT_EQ(count, 1);
      }
      EXPECT_FALSE(blocks.next());
    }
  }
}

TEST(text_blocks, say_where_gzip_is_damaged_once_they_get_there) {
  Packed packed(lines_of(3000, 3));
  packed.bytes.resize(packed.bytes.size() - 9);
  io::TextBlocks blocks(packed.source(), 256);
  EXPECT_TRUE(blocks.next());
  EXPECT_NE(refusal_of([&] {
              while (blocks.next()) {
              }
            }).find("cut off"),
            std::string::npos);
}

TEST(text_blocks, may_be_left_before_the_last_one) {
  const Packed packed(lines_of(3000, 4));
  for (int read = 0; read < 5; ++read) {
    io::TextBlocks blocks(packed.source(), 64);
    for (int i = 0; i < read; ++i) EXPECT_TRUE(blocks.next());
  }
}

TEST(text_blocks, give_tables_the_numbers_that_plain_text_gives) {
  const std::string text = lines_of(700, 5);
  const Packed packed(text);
  const auto plain = io::read_integers<std::int32_t>(std::string_view(text), two_columns(), {});
  io::TableLayout reals = two_columns();
  reals.columns = 0;
  const Tensor numbers = io::read_reals(std::string_view(text), reals, {});
  for (const std::size_t size : {1, 33, 500, 4096}) {
    const auto table = io::read_integers<std::int32_t>(io::TextBlocks(packed.source(), size), two_columns(), {});
    ASSERT_EQ(table.rows, plain.rows);
    EXPECT_TRUE(std::ranges::equal(table.all(), plain.all())) << "blocks of " << size;
    const Tensor again = io::read_reals(io::TextBlocks(packed.source(), size), reals, {});
    EXPECT_TRUE(bitwise_equal(again, numbers)) << "blocks of " << size;
  }
}

TEST(text_blocks, give_faults_the_line_they_have_in_the_file) {
  std::string text = lines_of(300, 6);
  const auto line = 1 + std::count(text.begin(), text.end(), '\n');
  text += "12 x\n" + lines_of(100, 7);
  const Packed packed(text);
  for (const std::size_t size : {1, 40, 1000, 1 << 20}) {
    const std::string message =
        refusal_of([&] { io::read_integers<std::int64_t>(io::TextBlocks(packed.source(), size), two_columns(), {}); });
    EXPECT_EQ(message, fmt::format("line {}: found '12 x': expected two numbers", line)) << "blocks of " << size;
  }
}

TEST(text_blocks, blame_the_packing_before_the_text_it_spoiled) {
  const Packed whole(lines_of(5000, 10));
  int spoiled = 0;
  for (std::size_t at = whole.bytes.size() / 4; at < whole.bytes.size() - 64; at += whole.bytes.size() / 16) {
    Packed packed = whole;
    packed.bytes[at] = static_cast<char>(packed.bytes[at] ^ 16);
    const std::string message =
        refusal_of([&] { io::read_integers<std::int64_t>(io::TextBlocks(packed.source(), 512), two_columns(), {}); });
    EXPECT_NE(message.find("the gzip data"), std::string::npos) << message;
    ++spoiled;
  }
  EXPECT_GT(spoiled, 8);
}

TEST(text_blocks, ask_for_no_more_memory_than_twice_what_has_come) {
  // A block that packs a hundred times better than the rest, and zeros behind the content.
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "0 0\n";
  text += lines_of(20'000, 11);
  Packed packed(text);
  packed.bytes += std::string(std::size_t{1} << 20, '\0');
  reset_memory_peak();
  const std::size_t before = memory_stats().live_bytes;
  const auto table = io::read_integers<std::int32_t>(io::TextBlocks(packed.source(), 4096), two_columns(), {});
  EXPECT_EQ(table.rows, 70'000);
  EXPECT_LE(memory_stats().peak_bytes - before, 3 * table.all().size_bytes() + 65'536);
}

TEST(text_blocks, may_begin_with_blocks_of_comments) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "# comment\n";
  const Packed packed(text + "1 2 3\n4 5 6\n");
  io::TableLayout reals = two_columns();
  reals.columns = 0;
  EXPECT_EQ(io::read_reals(io::TextBlocks(packed.source(), 64), reals, {}).shape().width, 3);
  EXPECT_EQ(io::read_reals(io::TextBlocks(Packed(text).source(), 64), reals, {}).shape().rows, 0);
}

TEST(text_blocks, tell_how_much_of_the_file_is_read) {
  const Packed packed(lines_of(20'000, 8));
  std::int64_t last = 0, calls = 0;
  io::read_integers<std::int32_t>(io::TextBlocks(packed.source(), 4096), two_columns(),
                                  [&](std::string_view, std::int64_t done, std::int64_t total) {
                                    EXPECT_GE(done, last);
                                    EXPECT_LE(done, total);
                                    last = done;
                                    ++calls;
                                  });
  EXPECT_GT(calls, 10);
  EXPECT_EQ(last, 1 << 20);
}

std::string matrix(std::string_view symmetry, int entries, int promised) {
  std::mt19937_64 random(9);
  std::string text =
      fmt::format("%%MatrixMarket matrix coordinate real {}\n% a comment\n50 50 {}\n", symmetry, promised);
  for (int i = 0; i < entries; ++i) {
    const auto row = 1 + random() % 50, col = 1 + random() % 50;
    text += fmt::format("{} {} {}\n", std::max(row, col), std::min(row, col), i * 0.25);
    if (i % 10 == 0) text += "% between entries\n";
  }
  return text;
}

TEST(text_blocks, give_matrix_market_the_graph_that_plain_text_gives) {
  for (const char* const symmetry : {"general", "symmetric"}) {
    const std::string text = matrix(symmetry, 400, 400);
    const Packed packed(text);
    const Dataset plain = io::read_mtx(std::string_view(text), {});
    for (const std::size_t size : {100, 333, 1 << 20}) {
      const Dataset read = io::read_mtx(io::TextBlocks(packed.source(), size), {});
      SCOPED_TRACE(fmt::format("{} blocks of {}", symmetry, size));
      expect_same_arrays(read.graph, plain.graph);
      EXPECT_TRUE(bitwise_equal(read.values, plain.values));
    }
  }
}

TEST(text_blocks, show_that_matrix_market_promises_the_wrong_number_of_entries) {
  const Packed fewer(matrix("general", 400, 500)), more(matrix("general", 400, 300)),
      many(matrix("general", 400, 1 << 30));
  for (const std::size_t size : {100, 1 << 20}) {
    const auto refused = [&](const Packed& packed) {
      return refusal_of([&] { io::read_mtx(io::TextBlocks(packed.source(), size), {}); });
    };
    EXPECT_EQ(refused(fewer), "line 3: it promises 500 entries, but 400 lines with content follow");
    EXPECT_EQ(refused(more), size == 100 ? "line 3: it promises 300 entries, but more lines with content follow"
                                         : "line 3: it promises 300 entries, but 400 lines with content follow");
    EXPECT_NE(refused(many).find("line 3: it promises 1073741824 entries, but "), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::test
