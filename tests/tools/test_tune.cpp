// weft tune: the windows it times, the fit, and the command.
#include <algorithm>
#include <cmath>
#include <set>

#include "command_runner.hpp"
#include "cuda/gpu.hpp"
#include "tune/fit.hpp"
#include "tune/synthetic_windows.hpp"
#include "window_facts.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

TEST(synthetic_windows, are_those_of_the_paper_for_16_rows) {
  const auto windows = synthetic_windows(16, 2000, 1);
  std::int64_t most_columns = 0, fewest_columns = 1000;
  double thinnest = 1, fullest = 0;
  for (const SyntheticWindow& w : windows) {
    EXPECT_EQ(w.rows, 16);
    EXPECT_GE(w.nonzeros, w.columns);
    EXPECT_LE(w.nonzeros, 15 * w.columns);
    most_columns = std::max(most_columns, w.columns);
    fewest_columns = std::min(fewest_columns, w.columns);
    const double density = static_cast<double>(w.nonzeros) / static_cast<double>(16 * w.columns);
    thinnest = std::min(thinnest, density);
    fullest = std::max(fullest, density);
  }
  EXPECT_EQ(fewest_columns, 1);
  EXPECT_EQ(most_columns, 130);
  EXPECT_LT(thinnest, 0.07);  // 1/16 to 15/16
  EXPECT_GT(fullest, 0.93);
}

TEST(synthetic_windows, of_more_rows_have_more_columns_and_fit_their_windows) {
  for (const int rows : {64, 128})
    for (const SyntheticWindow& w : synthetic_windows(rows, 500, 1)) {
      EXPECT_GE(w.columns, 1);
      EXPECT_LE(w.columns, 512);
      EXPECT_GE(w.nonzeros, w.columns);
      EXPECT_LE(w.nonzeros, 32 * w.columns);
    }
}

TEST(synthetic_windows, are_the_same_for_a_seed_and_others_for_another) {
  EXPECT_EQ(synthetic_windows(64, 20, 3), synthetic_windows(64, 20, 3));
  EXPECT_NE(synthetic_windows(64, 20, 3), synthetic_windows(64, 20, 4));
}

TEST(synthetic_windows, have_their_columns_and_non_zeros_in_every_window_of_a_graph) {
  for (const SyntheticWindow& kind : {SyntheticWindow{16, 37, 200, 5}, SyntheticWindow{16, 1, 1, 6},
                                      SyntheticWindow{16, 130, 130 * 15, 7}, SyntheticWindow{64, 500, 4000, 8}}) {
    constexpr std::int64_t windows = 21;
    const Graph graph = graph_of_windows(kind, windows);
    ASSERT_EQ(graph.num_rows(), windows * kind.rows);
    ASSERT_TRUE(graph.is_square());
    ASSERT_EQ(graph.num_edges(), windows * kind.nonzeros);
    for (std::int64_t w = 0; w < windows; ++w) {
      std::set<NodeId> columns;
      for (std::int64_t r = w * kind.rows; r < (w + 1) * kind.rows; ++r) {
        const auto begin = graph.cols().begin() + graph.offsets()[static_cast<std::size_t>(r)];
        const auto end = graph.cols().begin() + graph.offsets()[static_cast<std::size_t>(r) + 1];
        EXPECT_TRUE(std::adjacent_find(begin, end, std::greater_equal<>()) == end) << "ascending, each once";
        columns.insert(begin, end);
      }
      EXPECT_EQ(std::ssize(columns), kind.columns) << "window " << w;
      EXPECT_LT(*columns.rbegin(), graph.num_cols());
      EXPECT_EQ(graph.offsets()[static_cast<std::size_t>((w + 1) * kind.rows)], (w + 1) * kind.nonzeros);
    }
  }
}

/// Times by a rule: CUDA cores take what edges gather, tensor cores what tiles hold, both as wide as the features.
std::vector<TimedWindow> timed_by_rule(int rows, double us_an_edge, double us_a_tile) {
  std::vector<TimedWindow> timed;
  int kind = 0;
  for (const SyntheticWindow& window : synthetic_windows(rows, 150, 1)) {
    const bool held_out = kind++ % 5 == 4;
    for (const std::int64_t width : {32, 64, 128}) {
      const auto scale = static_cast<double>(width);
      const auto tiles = static_cast<double>((window.columns + 63) / 64);
      timed.push_back({window, Dtype::f16, width, tiles * us_a_tile * scale,
                       static_cast<double>(window.nonzeros) * us_an_edge * scale, held_out});
    }
  }
  return timed;
}

TEST(fit_selector, tells_which_cores_are_faster_where_edges_and_tiles_decide) {
  for (const int rows : {16, 128}) {
    const FittedSelector fitted = fit_selector(timed_by_rule(rows, 1, 300), Dtype::f16, rows);
    EXPECT_EQ(fitted.row.samples, 450);
    EXPECT_EQ(fitted.confusion.total(), 90);
    EXPECT_GT(fitted.tensor_faster, 100);
    EXPECT_LT(fitted.tensor_faster, 350);
    EXPECT_GE(fitted.row.accuracy, 0.95) << rows << " rows";
    EXPECT_EQ(fitted.row.accuracy, fitted.confusion.accuracy());
    EXPECT_LT(fitted.lost_by_model, 0.01);
    EXPECT_LT(fitted.lost_by_model, 0.1 * std::min(fitted.lost_by_all, fitted.lost_by_none));
    EXPECT_GT(fitted.row.density, 0) << "dense windows are for tensor cores";
    EXPECT_NEAR(fitted.row.width, 0, 0.05 * fitted.row.density) << "the width is in both times";
  }
}

TEST(fit_selector, fits_each_storage_type_to_its_own_times) {
  // Tensor cores take three products per tile of f32, and CUDA cores twice the bytes of an edge.
  std::vector<TimedWindow> timed = timed_by_rule(128, 1, 300);
  for (TimedWindow window : timed_by_rule(128, 2, 900)) {
    window.dtype = Dtype::f32;
    timed.push_back(window);
  }
  const FittedSelector halves = fit_selector(timed, Dtype::f16, 128), f32 = fit_selector(timed, Dtype::f32, 128);
  EXPECT_EQ(f32.row.dtype, Dtype::f32);
  EXPECT_EQ(f32.row.samples, 450);
  EXPECT_GE(f32.row.accuracy, 0.95);
  EXPECT_LT(f32.tensor_faster, halves.tensor_faster);
  SelectorTable table{"some GPU", "", "", {halves.row, f32.row}};
  const SelectorTable read = parse_selector_table(to_json(table), "table.json");
  ASSERT_NE(read.find(Dtype::f32, 128), nullptr);
  EXPECT_EQ(*read.find(Dtype::f32, 128), f32.row);
}

TEST(fit_selector, does_not_look_at_what_is_held_out_but_to_test) {
  std::vector<TimedWindow> timed = timed_by_rule(16, 1, 300);
  const FittedSelector before = fit_selector(timed, Dtype::f16, 16);
  for (TimedWindow& each : timed)
    if (each.held_out) std::swap(each.tensor_us, each.cuda_us);
  const FittedSelector after = fit_selector(timed, Dtype::f16, 16);
  EXPECT_EQ(after.row.bias, before.row.bias);
  EXPECT_EQ(after.row.density, before.row.density);
  EXPECT_NEAR(after.row.accuracy, 1 - before.row.accuracy, 1e-12);
  EXPECT_EQ(after.confusion.wrong_no, before.confusion.right_no);
}

TEST(fit_selector, takes_the_windows_of_its_rows_and_type_alone) {
  std::vector<TimedWindow> timed = timed_by_rule(16, 1, 300);
  const FittedSelector alone = fit_selector(timed, Dtype::f16, 16);
  for (TimedWindow other : timed_by_rule(64, 1, 1)) timed.push_back(other);
  for (TimedWindow other : timed_by_rule(16, 1, 1)) {
    other.dtype = Dtype::bf16;
    timed.push_back(other);
  }
  EXPECT_EQ(fit_selector(timed, Dtype::f16, 16).row, alone.row);
}

TEST(fit_selector, takes_all_or_none_where_one_kind_of_core_always_wins) {
  const FittedSelector tensor = fit_selector(timed_by_rule(64, 1, 1e-6), Dtype::f16, 64);
  const FittedSelector cuda = fit_selector(timed_by_rule(64, 1, 1e9), Dtype::f16, 64);
  for (const SyntheticWindow& w : synthetic_windows(64, 100, 9)) {
    const WindowCounts counts{static_cast<std::int32_t>(w.columns), static_cast<std::int32_t>(w.nonzeros)};
    EXPECT_TRUE(tensor.row.at(64).keeps(counts, 64));
    EXPECT_FALSE(cuda.row.at(64).keeps(counts, 64));
  }
}

TEST(selector_text, shows_the_formula_and_where_it_turns) {
  const SelectorRow row{Dtype::f16, 16, 4, 0.5, 2, 0, -0.25, 0.9, 10};
  EXPECT_EQ(formula_text(row),
            "4.000 + 0.500 log2(columns) + 2.000 log2(density) + 0.000 log2(fill) - 0.250 log2(width)");
  // At width 16 and 64 columns 4 + 3 + 2 log2(d) - 1 = 0 where d is 1/8.
  EXPECT_NE(break_even_text(row, 16).find("64 columns: from 0.125"), std::string::npos) << break_even_text(row, 16);
  EXPECT_NE(break_even_text({Dtype::f16, 16, 1}, 16).find("8 columns: always"), std::string::npos);
  EXPECT_NE(break_even_text({Dtype::f16, 16, -1}, 16).find("8 columns: never"), std::string::npos);
}

WindowFacts some_facts() {
  WindowFacts facts;
  facts.rows = 16;
  facts.threshold = 2;
  facts.windows = 1000;
  facts.candidates = 800;
  facts.selected = 300;
  facts.columns = 9600;
  facts.edges = 50000;
  facts.tiles = 310;
  facts.edge_share = 0.25;
  facts.intensity = 4.5;
  facts.select = WindowSelect::model;
  facts.median = {32, 128};
  facts.features = 64;
  facts.log_odds = -0.75;
  facts.selector = SelectorChoice{{Dtype::f16, 16, 4, 0.5, 2, 0, -0.25, 0.9, 10}, "mine.json", ""};
  return facts;
}

TEST(window_facts, say_what_is_dense_and_what_the_selector_weighed) {
  const std::vector<std::string> lines = window_lines(some_facts());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  for (const std::string part :
       {"windows  1,000 of 16 consecutive rows; 800 with dense columns (threshold 2", "intensity 4.50",
        "tensor   300 windows, 9,600 columns in 310 tiles, 50,000 edges: 25.0 % of all",
        "select   model: kept 300 of 800 windows; the median one has 32 columns, density 0.250, tiles 50 % full, at "
        "width 64 log odds -0.75",
        "model    4.000 + 0.500 log2(columns)", "> 0 (mine.json)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const nlohmann::json json = windows_json(some_facts());
  EXPECT_EQ(json["selected"], 300);
  EXPECT_EQ(json["median"]["density"], 0.25);
  EXPECT_EQ(json["selector"]["source"], "mine.json");
}

TEST(window_facts, say_which_rows_are_in_a_window) {
  const std::pair<WindowLayout, std::string> texts[] = {{WindowLayout::none, "1,000 of 16 consecutive rows;"},
                                                        {WindowLayout::clusters, "1,000 of 16 clustered rows;"},
                                                        {WindowLayout::loa, "1,000 of 16 rows in LOA's order;"}};
  for (const auto& [layout, text] : texts) {
    WindowFacts facts = some_facts();
    facts.layout = layout;
    const std::string line = window_lines(facts).front();
    EXPECT_NE(line.find(text), std::string::npos) << text << " in\n" << line;
    EXPECT_EQ(windows_json(facts)["layout"], name(layout));
  }
}

TEST(window_facts, of_windows_that_no_model_chose_name_none) {
  WindowFacts facts = some_facts();
  facts.select = WindowSelect::none;
  facts.selector.reset();
  facts.candidates = facts.selected = 0;
  for (const std::string& line : window_lines(facts)) {
    EXPECT_EQ(line.find("log odds"), std::string::npos) << line;
    EXPECT_EQ(line.find("median"), std::string::npos) << line;
  }
  EXPECT_FALSE(windows_json(facts).contains("selector"));
}

TEST(tune, has_nothing_to_do_without_a_gpu) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"tune", "--device", "cpu"}, {"tune"}, {"tune", "--quick"}}) {
    const Outcome outcome = run_weft(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out.rfind("nothing to tune: ", 0), 0u) << outcome.out;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(tune, refuses_what_tensor_cores_do_not_sum) {
  expect_complaint(run_weft({"tune", "--dtype", "f32,f64"}), 2, "--dtype is 'f64': expected f16, bf16 or f32");
  expect_complaint(run_weft({"tune", "--width", "64,20"}), 2, "--width is 20: expected a multiple of 8");
  expect_complaint(run_weft({"tune", "--device", "tpu"}), 2, "--device");
  expect_complaint(run_weft({"tune", "-o", "-", "--json", "-"}), 2, "-o and --json are both '-'");
  const Folder folder;
  expect_complaint(run_weft({"tune", "-o", folder / "t", "--json", folder / "t"}), 2, "the same file");
}

class TuneOnGpu : public GpuTest {};

TEST_F(TuneOnGpu, writes_a_table_that_plans_read) {
  const Folder folder;
  const std::string path = folder / "table.json";
  const Outcome outcome = run_weft(
      {"tune", "--device", "cuda", "--quick", "--dtype", "f16,f32", "--width", "64", "-o", path, "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const SelectorTable table = read_selector_table(path);
  EXPECT_EQ(table.device, cuda_devices().front().name);
  for (const Dtype dtype : {Dtype::f16, Dtype::f32})
    for (const int rows : {16, 64, 128}) {
      const SelectorRow* const row = table.find(dtype, rows);
      ASSERT_NE(row, nullptr) << name(dtype) << " " << rows;
      EXPECT_EQ(row->samples, 30);
    }
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["windows"].size(), 180u);
  for (const nlohmann::json& window : json["windows"]) {
    EXPECT_GT(window["tensor_us"].get<double>(), 0);
    EXPECT_GT(window["cuda_us"].get<double>(), 0);
  }
  EXPECT_EQ(json["selector"].size(), 6u);
  const std::size_t files = static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()), {}));
  EXPECT_EQ(files, 1u) << "no temporary file is left";
}

TEST_F(TuneOnGpu, explain_names_the_table_and_refuses_a_bad_one) {
  const Folder folder;
  const std::string path = folder / "table.json";
  SelectorTable table{cuda_devices().front().name, "", "", {}};
  table.rows.push_back({Dtype::f16, 16, -5, 1, 0, 0, 0, 0.5, 7});  // from 33 columns on
  write_text(path, to_json(table));
  const std::vector<std::string> arguments{
      "explain", "spmm",         "powerlaw:nodes=5000,edges=60000,seed=1",
      "--width", "64",           "--dtype",
      "f16",     "--unweighted", "--device",
      "cuda",    "--policy",     "core=tensor,window=16,threshold=1,layout=none,select=model"};
  setenv("WEFT_TUNING", path.c_str(), 1);
  const Outcome good = run_weft(arguments);
  write_text(path, "{\"kind\": ");
  const Outcome bad = run_weft(arguments);
  unsetenv("WEFT_TUNING");
  EXPECT_EQ(good.status, 0) << good.err;
  for (const std::string part : {"windows  313 of 16 consecutive rows", "select   model: kept", path.c_str()})
    EXPECT_NE(good.out.find(part), std::string::npos) << part << " in\n" << good.out;
  expect_complaint(bad, 1, "WEFT_TUNING: " + path);
}

}  // namespace
}  // namespace weft::test
