// Charts and bars fit the terminal they are shown in.
#include "terminal.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "command_runner.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

/// Sets COLUMNS while it lives.
class Columns {
 public:
  explicit Columns(const char* text) { setenv("COLUMNS", text, 1); }
  ~Columns() { unsetenv("COLUMNS"); }
};

TEST(terminal, width_is_that_of_the_environment_where_the_file_is_no_terminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  unsetenv("COLUMNS");
  EXPECT_EQ(columns_of(file), 80);
  for (const auto& [text, wanted] : std::vector<std::pair<const char*, int>>{
           {"60", 60}, {"132", 132}, {"", 80}, {"wide", 80}, {"60x", 80}, {"-5", 80}, {"0", 80}, {"3", 20}}) {
    const Columns columns(text);
    EXPECT_EQ(columns_of(file), wanted) << text;
  }
  std::fclose(file);
}

TEST(terminal, bars_of_a_histogram_share_the_room_there_is) {
  const std::vector<HistogramRow> rows{{"0", 1}, {"1-2", 1'000'000}, {"3", 0}, {"4", 500'000}};
  const auto wide = histogram_lines(rows, 200);
  EXPECT_EQ(wide[0], "    0         1 #");
  EXPECT_EQ(wide[1], "  1-2 1,000,000 " + std::string(40, '#'));
  EXPECT_EQ(wide[2], "    3         0");
  EXPECT_EQ(wide[3], "    4   500,000 " + std::string(20, '#'));
  const auto narrow = histogram_lines(rows, 37);
  EXPECT_EQ(narrow[1], "  1-2 1,000,000 " + std::string(20, '#'));
  EXPECT_EQ(narrow[3], "    4   500,000 " + std::string(10, '#'));
  EXPECT_TRUE(histogram_lines({}, 80).empty());
}

void expect_charts_within(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  std::size_t charts = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_of("*#+|") == std::string::npos || line.find(": ") != std::string::npos) continue;
    EXPECT_LT(line.size(), columns) << line;
    ++charts;
  }
  EXPECT_GT(charts, 0u) << text;
}

TEST(terminal, no_chart_of_train_infer_or_info_wraps_at_60_columns) {
  const Columns columns("60");
  const Folder folder;
  const std::string data = "citations:nodes=2400,classes=3,words=60,seed=2";
  const Outcome trained = run_weft(
      {"train", "--data", data, "--model", "gcn", "--epochs", "30", "--device", "cpu", "--save", folder / "model"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  expect_charts_within(trained.out.substr(trained.out.find("\nloss\n")), 60);
  const Outcome inferred = run_weft({"infer", "--data", data, "--load", folder / "model", "--device", "cpu"});
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  expect_charts_within(inferred.out.substr(inferred.out.find("predicted classes")), 60);
  const Outcome info = run_weft({"info", "powerlaw:nodes=3000,edges=60000,seed=3"});
  ASSERT_EQ(info.status, 0) << info.err;
  expect_charts_within(info.out.substr(info.out.find("degree histogram")), 60);
}

}  // namespace
}  // namespace weft::test
