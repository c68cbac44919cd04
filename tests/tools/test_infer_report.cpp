// The page of weft infer: accuracy over time for sampled edges, the time by operator without them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "infer_report.hpp"
#include "line_chart.hpp"
#include "markup.hpp"
#include "training_command.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Of `width` edges per row (0: all), in milliseconds of the edges' part; other work takes 5 more.
SampledRun run_of(std::int64_t width, double accuracy, double milliseconds) {
  SampledRun run;
  run.width = width;
  run.predictions.test_accuracy = run.predictions.accuracy = accuracy;
  run.predictions.seconds = (milliseconds + 5) / 1e3;
  run.predictions.operators = {{"spmm", 2, milliseconds / 1e3}, {"dense products", 2, 5e-3}};
  return run;
}

std::vector<SampledRun> three_runs() {
  std::vector<SampledRun> runs;
  runs.push_back(run_of(0, 0.9, 40));
  runs.push_back(run_of(8, 0.8, 20));  // not in their order, as a user may give them
  runs.push_back(run_of(4, 0.5, 10));
  return runs;
}

std::string page_of(const std::vector<SampledRun>& runs) {
  return infer_report({"weft infer", "gcn on <b>", "weft infer --data <b>", {{"model", "gcn"}}}, Dataset(),
                      EdgeSampling::strata, runs);
}

/// What stands between `begin` and `end`, each time.
std::vector<std::string> between(const std::string& text, const std::string& begin, const std::string& end) {
  std::vector<std::string> all;
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    all.push_back(text.substr(from, text.find(end, from) - from));
  }
  return all;
}

using Texts = std::vector<std::string>;

TEST(infer_report, has_the_table_and_a_labelled_point_for_every_width_and_for_all_edges) {
  const std::string page = page_of(three_runs());
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_NE(page.find("<title>weft infer: gcn on &lt;b&gt;</title>"), page.npos);
  EXPECT_EQ(page.find("<b>"), page.npos);
  EXPECT_NE(page.find("<h2>edges kept by strata</h2>"), page.npos);
  EXPECT_NE(page.find("<tr><td>8</td><td>100.0%</td><td>0.8000</td><td>-10.00</td><td>20.0 ms</td><td>2.00x</td>"
                      "<td>25.0 ms</td><td>1.80x</td></tr>"),
            page.npos)
      << page;
  EXPECT_EQ(between(page, "<section>\n<h2>", "</h2>"), (Texts{"test accuracy over the time of the edges' part",
                                                              "test accuracy over the time of the forward pass"}));
  for (const std::string label : {"4", "8", "all"})
    EXPECT_EQ(count_of(page, "text-anchor=\"middle\">" + label + "</text>"), 2u) << label;
  EXPECT_EQ(count_of(page, "class=\"ring s0\""), 4u);
  EXPECT_EQ(count_of(page, "class=\"ring s1\""), 2u);
}

TEST(infer_report, places_points_by_time_from_zero_on_and_joins_fewer_edges_with_more) {
  const std::string page = page_of(three_runs());
  const auto across = [](double share) { return fmt::format("{:.1f}", 58 + share * (640 - 58 - 26)); };
  const Texts rings = between(page, "cx=\"", "\"");
  // The edges' part takes 10, 20 and 40 ms on an axis that ends at 42; the whole pass 15, 25 and 45 of 47.25.
  EXPECT_EQ(rings, (Texts{across(10 / 42.0), across(20 / 42.0), across(40 / 42.0), across(15 / 47.25),
                          across(25 / 47.25), across(45 / 47.25)}));
  const Texts lines = between(page, "class=\"line s0\" points=\"", "\"");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with(rings[0] + ",")) << lines[0];
  EXPECT_NE(lines[0].find(" " + rings[1] + ","), std::string::npos) << lines[0];
}

TEST(infer_report, without_samples_says_where_the_time_goes) {
  std::vector<SampledRun> runs;
  runs.push_back(run_of(0, 0.9, 15));
  const std::string page = page_of(runs);
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_EQ(count_of(page, "<svg"), 0u);
  EXPECT_NE(page.find("<tr><td>spmm</td><td>15.0 ms</td><td>75%</td><td>2 calls</td></tr>\n"
                      "<tr><td>dense products</td><td>5.0 ms</td><td>25%</td>"),
            page.npos)
      << page;
}

TEST(infer_report, stands_without_labels_and_without_time) {
  std::vector<SampledRun> runs = three_runs();
  for (SampledRun& run : runs) run.predictions.test_accuracy = run.predictions.accuracy = none;
  const std::string unknown = page_of(runs);
  EXPECT_EQ(unbalanced(unknown), "");
  EXPECT_EQ(count_of(unknown, "nothing was measured"), 2u);
  runs = three_runs();
  for (SampledRun& run : runs) run.predictions.operators.clear();  // a graph without edges
  const std::string still = page_of(runs);
  EXPECT_EQ(count_of(still, "class=\"ring"), 6u);
  for (const std::string part : {"nan", "inf"}) EXPECT_EQ(count_of(still, "\"" + part), 0u) << part;
}

TEST(line_chart, labels_of_points_that_lie_close_together_keep_apart) {
  LineChart chart;
  chart.whole = false;
  chart.last = 1;
  chart.series = {{"s", 0, {{0.50, 0.5, "128"}, {0.51, 0.5, "256"}, {0.52, 0.5, "512"}, {0.9, 0.6, "all"}}}};
  const std::string svg = to_svg(chart);
  std::vector<std::pair<double, double>> places;
  for (const std::string label : {"128", "256", "512"}) {
    const std::size_t end = svg.find(">" + label + "</text>");
    ASSERT_NE(end, svg.npos) << label;
    const std::string text = svg.substr(svg.rfind("<text", end));
    places.emplace_back(std::stod(between(text, "x=\"", "\"").front()), std::stod(between(text, "y=\"", "\"").front()));
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(std::fabs(places[i].second - places[j].second) >= 8 ||
                  std::fabs(places[i].first - places[j].first) >= 22)
          << i << " and " << j;
}

TEST(line_chart, ticks_of_x_are_whole_numbers_only_where_x_is) {
  LineChart chart;
  chart.last = 2;
  chart.series = {{"s", 0, {{0, 10}, {2, 20}}}};
  EXPECT_EQ(to_svg(chart).find(">0.5<"), std::string::npos);
  chart.whole = false;
  EXPECT_NE(to_svg(chart).find(">0.5<"), std::string::npos) << to_svg(chart);
}

TEST(infer_report, of_the_command_shows_what_its_json_says_and_leaves_that_as_it_is) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors", page = folder / "r.html", json = folder / "r.json";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  const std::vector<std::string> sampled{"--sample", "bucket", "--sample-width", "2,1", "--json", json};
  ASSERT_EQ(run_weft(inferring(small, model, sampled)).status, 0);
  const nlohmann::json before = json_of(json);
  std::vector<std::string> with_page = sampled;
  with_page.insert(with_page.end(), {"--report", page});
  const Outcome outcome = run_weft(inferring(small, model, with_page));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("wrote    " + page), std::string::npos) << outcome.out;
  const nlohmann::json after = json_of(json);
  EXPECT_EQ(after["command"], before["command"]);
  EXPECT_EQ(after["result"].size(), before["result"].size());
  const std::string text = text_of(page);
  EXPECT_EQ(unbalanced(text), "");
  EXPECT_EQ(count_of(text, "<svg"), 2u);
  EXPECT_EQ(text.find("http"), text.npos);
  for (const auto& run : after["sample"]["runs"])
    EXPECT_NE(text.find(fmt::format("<td>{}</td><td>{:.1f}%</td><td>{:.4f}</td>",
                                    run["width"].is_null() ? "all" : run["width"].dump(),
                                    100 * run["sampling_rate"].get<double>(), run["test_accuracy"].get<double>())),
              text.npos)
        << run;
  for (const std::string label : {"data", "note", "model", "machine", "weft", "date"})
    EXPECT_EQ(count_of(text, "<tr><th>" + label + "</th>"), 1u) << label;
}

TEST(infer_report, of_a_plain_run_goes_to_standard_output_too_with_accuracy_and_operators) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  const Outcome outcome = run_weft(inferring(small, model, {"--report", "-", "--json", folder / "r.json"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("<!doctype html>")) << outcome.out;
  EXPECT_EQ(unbalanced(outcome.out), "");
  const nlohmann::json json = json_of(folder / "r.json");
  EXPECT_NE(outcome.out.find(fmt::format("<tr><th>test accuracy</th><td>{:.4f}</td></tr>",
                                         json["result"]["test_accuracy"].get<double>())),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(count_of(outcome.out, "<td>spmm</td>"), 1u) << outcome.out;
  EXPECT_FALSE(json["result"].contains("operators"));  // nobody asked for them there
  EXPECT_NE(outcome.err.find("predicted classes"), std::string::npos) << outcome.err;
}

TEST(infer_report, is_refused_before_any_work_where_it_cannot_go) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  expect_complaint(run_weft(inferring(small, model, {"--report", "-", "--json", "-"})), 2,
                   "--json and --report are both '-'");
  expect_complaint(run_weft(inferring(small, model, {"--report", model})), 2, "the same file as --load");
  const Outcome outcome = run_weft(inferring(small, model, {"--report", folder / "none/r.html"}));
  expect_complaint(outcome, 1, folder / "none");
  EXPECT_EQ(outcome.out.find("data "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace weft::test
