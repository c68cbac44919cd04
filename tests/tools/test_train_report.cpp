// What a training run looks like: the page with its charts, the curve in a terminal, the line that tells of an epoch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "line_chart.hpp"
#include "markup.hpp"
#include "text.hpp"
#include "train_curve.hpp"
#include "train_progress.hpp"
#include "train_report.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

TrainSummary run_of(std::int64_t epochs) {
  TrainSummary summary;
  summary.head.title = "gcn on citations";
  summary.head.command = "weft train --data citations --model gcn";
  summary.head.lines = {{"test accuracy", "0.8000"}};
  summary.best_epoch = (epochs + 1) / 2;
  for (std::int64_t e = 1; e <= epochs; ++e) {
    EpochFigures figures;
    figures.epoch = e;
    figures.loss = 2 / static_cast<double>(e);
    figures.val_loss = figures.loss + 0.5;
    figures.train_accuracy = 1 - 0.7 / static_cast<double>(e);
    figures.val_accuracy = 0.9 * figures.train_accuracy;
    figures.test_accuracy = 0.8 * figures.train_accuracy;
    summary.epochs.push_back(figures);
  }
  return summary;
}

/// The points of every line.
std::vector<std::string> lines_of(const std::string& page) {
  std::vector<std::string> lines;
  const std::string begin = " points=\"";
  for (std::size_t at = page.find("<polyline"); at != page.npos; at = page.find("<polyline", at + 1)) {
    const std::size_t from = page.find(begin, at) + begin.size();
    lines.push_back(page.substr(from, page.find('"', from) - from));
  }
  return lines;
}

TEST(train_report, has_a_line_for_every_series_at_any_length) {
  for (const std::int64_t epochs : {1, 2, 3, 200, 10'000}) {
    SCOPED_TRACE(epochs);
    const std::string page = train_report(run_of(epochs));
    EXPECT_EQ(unbalanced(page), "");
    EXPECT_EQ(count_of(page, "<svg"), 2u);
    const auto lines = lines_of(page);
    ASSERT_EQ(lines.size(), 5u);  // loss of two splits, accuracy of three
    for (const std::string& points : lines) {
      EXPECT_LE(std::ranges::count(points, ' '), 600);
      EXPECT_GE(std::ranges::count(points, ' '), 1);
      EXPECT_EQ(points.find_first_not_of("0123456789., "), std::string::npos) << points;
    }
    EXPECT_EQ(count_of(page, "class=\"mark\""), 2u);
    EXPECT_NE(page.find("best: epoch " + grouped((epochs + 1) / 2)), std::string::npos);
  }
}

TEST(train_report, needs_nothing_from_elsewhere_and_knows_dark_rooms) {
  const std::string page = train_report(run_of(20));
  for (const std::string part : {"http", "src=", "url(", "@import", "<link", "<script"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(train_report, escapes_what_others_have_named) {
  TrainSummary summary = run_of(3);
  summary.head.title = "<gcn> & \"co\"";
  summary.head.command = "weft train --data <b>";
  summary.head.lines = {{"note", "</table>"}};
  const std::string page = train_report(summary);
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_EQ(count_of(page, "&lt;gcn&gt; &amp; &quot;co&quot;"), 2u);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(count_of(page, "</table>"), 1u);
}

TEST(train_report, figures_that_are_not_numbers_leave_gaps) {
  TrainSummary summary = run_of(30);
  for (std::size_t i = 10; i < 15; ++i) summary.epochs[i].loss = i % 2 == 0 ? none : HUGE_VAL;
  const std::string page = train_report(summary);
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_EQ(lines_of(page).size(), 6u);
  EXPECT_EQ(count_of(page, "nan"), 0u);
  EXPECT_EQ(count_of(page, "inf"), 0u);
}

TEST(train_report, epochs_nobody_looked_at_are_no_gaps) {
  TrainSummary summary = run_of(30);
  for (EpochFigures& figures : summary.epochs)
    if (figures.epoch % 10 != 0)
      figures.val_accuracy = figures.test_accuracy = figures.val_loss = none;  // training's is with dropout then
  const auto lines = lines_of(train_report(summary));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(std::ranges::count(lines[0], ' '), 29);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(std::ranges::count(lines[i], ' '), 2) << i;
}

TEST(train_report, leaves_out_a_split_that_is_not_there) {
  TrainSummary summary = run_of(30);
  for (EpochFigures& figures : summary.epochs) figures.val_accuracy = figures.val_loss = none;
  const std::string page = train_report(summary);
  EXPECT_EQ(lines_of(page).size(), 3u);
  EXPECT_EQ(count_of(page, ">val<"), 0u);
}

TEST(train_report, stands_without_any_epoch_and_with_level_ones) {
  EXPECT_EQ(unbalanced(train_report(run_of(0))), "");
  EXPECT_EQ(count_of(train_report(run_of(0)), "nothing was measured"), 2u);
  for (const double level : {0.0, 1.0, 0.5}) {
    TrainSummary summary = run_of(4);
    for (EpochFigures& figures : summary.epochs)
      figures.loss = figures.val_loss = figures.train_accuracy = figures.val_accuracy = figures.test_accuracy = level;
    const std::string page = train_report(summary);
    EXPECT_EQ(lines_of(page).size(), 5u);
    EXPECT_EQ(count_of(page, "nan"), 0u);
  }
}

TEST(line_chart, thinning_keeps_ends_order_and_gaps) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 10'000; ++i) points.push_back({static_cast<double>(i), i < 5'000 ? 1.0 : none});
  const auto few = thinned(points, 600);
  EXPECT_LE(few.size(), 600u);
  EXPECT_GE(few.size(), 500u);
  EXPECT_TRUE(std::ranges::is_sorted(few, {}, &ChartPoint::x));
  EXPECT_LT(few.front().x, 20);
  EXPECT_GT(few.back().x, 9'970);
  EXPECT_EQ(few.front().y, 1.0);
  EXPECT_TRUE(std::isnan(few.back().y));
  EXPECT_EQ(thinned(points, 10'000).size(), points.size());
}

std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> rows;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
    rows.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  EXPECT_EQ(begin, text.size()) << "the last line has no end";
  return rows;
}

TEST(train_curve, falls_from_the_highest_to_the_lowest) {
  const auto rows = rows_of(curve_text({5, 4, 3, 2, 1}));
  ASSERT_EQ(rows.size(), 12u);  // ten, the axis, its numbers
  EXPECT_EQ(rows[0].substr(0, 4), "5 |*");
  EXPECT_EQ(rows[9].substr(0, 3), "1 |");
  EXPECT_EQ(rows[9].back(), '*');
  EXPECT_EQ(rows[10], "  +" + std::string(60, '-'));
  EXPECT_EQ(rows[11].substr(0, 4), "   1");
  EXPECT_EQ(rows[11].back(), '5');
  EXPECT_EQ(rows[11].size(), rows[10].size());
}

TEST(train_curve, a_level_series_is_one_level_line) {
  const std::string text = curve_text(std::vector<double>(300, 2.5));
  EXPECT_EQ(count_of(text, std::string(60, '*')), 1u) << text;
  EXPECT_EQ(count_of(text, "*"), 60u);
  EXPECT_EQ(count_of(text, "2.5"), 1u);
}

TEST(train_curve, what_is_no_number_leaves_a_gap) {
  std::vector<double> values(60, 1.0);
  for (std::size_t i = 20; i < 30; ++i) values[i] = i % 2 == 0 ? none : HUGE_VAL;
  const std::string text = curve_text(values);
  EXPECT_NE(text.find(std::string(20, '*') + std::string(10, ' ') + std::string(30, '*')), std::string::npos) << text;
  EXPECT_EQ(curve_text({none, none}), "");
  EXPECT_EQ(curve_text({}), "");
}

TEST(train_curve, one_point_is_one_mark) {
  const std::string text = curve_text({0.25}, 7);
  EXPECT_EQ(count_of(text, "*"), 1u) << text;
  EXPECT_NE(text.find("0.25 |*"), std::string::npos) << text;
  EXPECT_EQ(rows_of(text).back(), "      7");
}

TEST(train_curve, is_plain_text_of_the_size_asked_for) {
  std::vector<double> values;
  for (int i = 0; i < 12'345; ++i) values.push_back(std::sin(i * 0.01) * 1e30);
  const auto rows = rows_of(curve_text(values, 1, {40, 6}));
  EXPECT_EQ(rows.size(), 8u);
  for (const std::string& row : rows) {
    EXPECT_LE(row.size(), 40u + 12u);
    EXPECT_TRUE(std::ranges::all_of(row, [](char c) { return c >= ' ' && c <= '~'; })) << row;
  }
}

TEST(train_curve, no_line_is_longer_than_asked_for) {
  std::vector<double> values;
  for (int i = 0; i < 500; ++i) values.push_back(-std::exp(0.1 * i));
  for (const int line : {20, 40, 59, 79, 200}) {
    const auto rows = rows_of(curve_text(values, 1, {.columns = 100, .line = line}));
    for (const std::string& row : rows) EXPECT_LE(row.size(), static_cast<std::size_t>(line)) << row;
    EXPECT_GE(rows[10].size(), static_cast<std::size_t>(std::min(line, 100)) - 8) << "the room is used";
  }
}

TEST(train_progress, line_leaves_out_what_is_not_known) {
  EpochFigures figures;
  figures.epoch = 20;
  figures.loss = 1.25;
  figures.train_accuracy = 0.5;
  figures.val_accuracy = none;
  EXPECT_EQ(epoch_line(figures, 200, 41.25, 2048),
            "epoch 20/200  loss 1.2500  train 0.5000  41.2 epochs/s  4.4 s left  2.0 KiB");
  figures.val_accuracy = 0.25;
  EXPECT_EQ(epoch_line(figures, 200, 0, 0), "epoch 20/200  loss 1.2500  train 0.5000  val 0.2500  0 B");
}

TEST(train_progress, a_run_is_told_of_in_ten_parts) {
  for (const std::int64_t epochs : {1, 7, 10, 99, 200, 10'001}) {
    std::int64_t told = 0;
    for (std::int64_t e = 1; e <= epochs; ++e) told += is_tenth(e, epochs) ? 1 : 0;
    EXPECT_EQ(told, std::min<std::int64_t>(epochs, 10));
    EXPECT_TRUE(is_tenth(epochs, epochs));
  }
}

}  // namespace
}  // namespace weft::test
