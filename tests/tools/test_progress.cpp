// The progress bar's line, its silence for short work, and numbers as people read them.
#include <gtest/gtest.h>

#include <cstdio>

#include "progress.hpp"
#include "text.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

/// What a bar wrote to a file that is no terminal.
class Captured {
 public:
  Captured() : file_(std::tmpfile()) {}
  ~Captured() { std::fclose(file_); }
  std::FILE* file() { return file_; }
  std::string text() {
    std::rewind(file_);
    std::string text;
    for (int c; (c = std::fgetc(file_)) != EOF;) text += static_cast<char>(c);
    return text;
  }

 private:
  std::FILE* file_;
};

TEST(progress, line_has_share_rate_and_time_left) {
  const std::string line = progress_line("reading", 50, 100, 2.0, 80, true);
  EXPECT_NE(line.find("reading ["), std::string::npos) << line;
  EXPECT_NE(line.find("50 %"), std::string::npos) << line;
  EXPECT_NE(line.find("25 /s"), std::string::npos) << line;
  EXPECT_NE(line.find("2.0 s left"), std::string::npos) << line;
  EXPECT_NE(line.find("#."), std::string::npos) << line;
}

TEST(progress, line_never_passes_the_terminals_width) {
  for (int columns = 1; columns < 120; ++columns)
    EXPECT_LT(progress_line("reading something", 123456, 99999999, 7.0, columns, true).size(),
              static_cast<std::size_t>(std::max(columns, 2)))
        << columns;
}

TEST(progress, unknown_totals_show_what_is_done) {
  const std::string line = progress_line("reading", 5000000, 0, 1.0, 80, true);
  EXPECT_EQ(line, "reading: 5,000,000, 5.0 M/s");
}

TEST(progress, short_work_says_nothing_where_there_is_no_terminal) {
  Captured captured;
  {
    ProgressBar bar(captured.file());
    for (int i = 0; i <= 100; ++i) bar.update("quick", i, 100);
  }
  EXPECT_EQ(captured.text(), "");
}

TEST(progress, plain_lines_without_control_characters_elsewhere) {
  Captured captured;
  {
    ProgressBar bar(captured.file(), false, 0, 0);
    bar.update("slow", 1, 2);
  }
  const std::string text = captured.text();
  EXPECT_NE(text.find("slow:  50 %"), std::string::npos) << text;
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(progress, a_terminals_bar_is_taken_away_at_the_end) {
  Captured captured;
  {
    ProgressBar bar(captured.file(), true, 0, 0);
    bar.update("slow", 1, 2);
  }
  const std::string text = captured.text();
  EXPECT_NE(text.find("slow ["), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

TEST(progress, an_announcement_shows_on_a_terminal_alone) {
  Captured terminal, file;
  {
    ProgressBar on_terminal(terminal.file(), true, 0, 0), on_file(file.file(), false, 0, 0);
    on_terminal.announce("generating");
    on_file.announce("generating");
  }
  EXPECT_EQ(terminal.text(), "\rgenerating\x1b[K\r\x1b[K");
  EXPECT_EQ(file.text(), "");
}

TEST(text, numbers_read_easily) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1166243), "1,166,243");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(13.4 * 1024 * 1024), "13.4 MiB");
  EXPECT_EQ(seconds_text(12.4e-6), "12.4 us");
  EXPECT_EQ(seconds_text(0.00321), "3.2 ms");
  EXPECT_EQ(seconds_text(125), "2 min 05 s");
  EXPECT_EQ(shortened("abcdefgh", 5), "abc..");
  EXPECT_EQ(shortened("abc", 5), "abc");
}

TEST(text, table_aligns_and_leaves_no_trailing_blanks) {
  Captured captured;
  TextTable table(captured.file(), {{"name", 6, Align::left}, {"n", 4}, {"last", 8, Align::left}});
  table.print_header();
  table.print_row({"a", "12", "x"});
  EXPECT_EQ(captured.text(), "name       n  last\na         12  x\n");
}

}  // namespace
}  // namespace weft::test
