// train --runs, --log and --report -: what several seeds give, and what can be watched while they do.
#include <cmath>
#include <sstream>

#include "command_runner.hpp"
#include "markup.hpp"
#include "support/full_disk.hpp"
#include "train_log.hpp"
#include "train_run.hpp"

namespace weft::test {
namespace {

const std::string small = "citations:nodes=240,classes=3,words=60,seed=2";

std::vector<std::string> training(const std::vector<std::string>& more, const std::string& epochs = "8") {
  std::vector<std::string> all{"train",    "--data", small,      "--model", "gcn",
                               "--epochs", epochs,   "--device", "cpu",     "--quiet"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

nlohmann::json json_of(const std::string& path) { return nlohmann::json::parse(text_of(path)); }

std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

TEST(train_runs, are_those_of_their_seeds_with_mean_and_deviation) {
  const Folder folder;
  const Outcome outcome =
      run_weft(training({"--runs", "3", "--seed", "5", "--json", folder / "all.json", "--save", folder / "best"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"run 1 of 3: seed 5, ", "run 3 of 3: seed 7, ", "3 of 3 (seeds 5 to 7)", " +- ",
                                 "best run        ", "(lowest validation loss)"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  const auto all = json_of(folder / "all.json");
  ASSERT_EQ(all["runs"].size(), 3u);
  double sum = 0, squares = 0, lowest = 1e30;
  std::size_t best = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& run = all["runs"][i];
    EXPECT_EQ(run["seed"], 5 + i);
    ASSERT_EQ(run["epochs"].size(), 8u);
    const Outcome alone = run_weft(training({"--seed", std::to_string(5 + i), "--json", "-"}));
    ASSERT_EQ(alone.status, 0) << alone.err;
    for (std::size_t e = 0; e < 8; ++e) EXPECT_EQ(run["epochs"][e]["loss"], alone.json()["epochs"][e]["loss"]);
    const double accuracy = run["result"]["test_accuracy"];
    sum += accuracy;
    squares += accuracy * accuracy;
    const double loss = run["epochs"][run["result"]["best_epoch"].get<std::size_t>() - 1]["val_loss"];
    if (loss < lowest) best = i;
    lowest = std::min(lowest, loss);
  }
  EXPECT_NEAR(all["over_runs"]["test_accuracy"]["mean"].get<double>(), sum / 3, 1e-12);
  EXPECT_NEAR(all["over_runs"]["test_accuracy"]["deviation"].get<double>(), std::sqrt((squares - sum * sum / 3) / 2),
              1e-9);
  EXPECT_EQ(all["over_runs"]["best_run"], best + 1);
  EXPECT_EQ(all["result"], all["runs"][best]["result"]);
  // The model is the best run's.
  const Outcome inferred =
      run_weft({"infer", "--data", small, "--load", folder / "best", "--device", "cpu", "--json", "-"});
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  EXPECT_EQ(inferred.json()["result"]["val_accuracy"], all["result"]["val_accuracy"]);
  EXPECT_EQ(inferred.json()["result"]["test_accuracy"], all["result"]["test_accuracy"]);
}

TEST(train_runs, refuse_a_checkpoint_and_counts_that_are_none) {
  expect_complaint(run_weft(training({"--runs", "2", "--checkpoint", "c"})), 2, "leave out --runs");
  expect_complaint(run_weft(training({"--runs", "0"})), 2, "--runs is '0'");
  expect_complaint(run_weft(training({"--log", "-"})), 2, "--log is '-'");
  expect_complaint(run_weft(training({"--log", "a", "--json", "a"})), 2, "the same file as");
  expect_complaint(run_weft(training({"--report", "-", "--json", "-"})), 2, "both '-'");
}

TEST(train_runs, spread_leaves_out_what_is_no_number) {
  const double none = std::nan("");
  EXPECT_DOUBLE_EQ(tool::spread_of({1, 2, none, 3}).mean, 2);
  EXPECT_DOUBLE_EQ(tool::spread_of({1, 2, none, 3}).deviation, 1);
  EXPECT_DOUBLE_EQ(tool::spread_of({4}).mean, 4);
  EXPECT_TRUE(std::isnan(tool::spread_of({4}).deviation));
  EXPECT_TRUE(std::isnan(tool::spread_of({none}).mean));
}

TEST(train_runs, an_interrupted_run_counts_only_where_there_is_no_other) {
  const Dataset dataset;
  Context context = Context::cpu(1);
  tool::TrainRequest request;
  request.runs = 5;
  tool::Trained trained{request, dataset, context};
  const auto add = [&](double val_loss, double accuracy, bool interrupted) {
    tool::TrainRun run;
    run.seed = trained.runs.size();
    run.result.best_epoch = 1;
    run.result.epochs.push_back({.epoch = 1, .val_loss = val_loss});
    run.result.val_accuracy = run.result.test_accuracy = accuracy;
    run.result.interrupted = interrupted;
    trained.runs.push_back(std::move(run));
  };
  add(0.5, 0.6, false);
  add(0.4, 0.5, false);
  add(0.1, 0.9, true);
  EXPECT_EQ(trained.finished(), 2u);
  EXPECT_EQ(trained.best_index(), 1u);
  EXPECT_DOUBLE_EQ(trained.spread(&TrainResult::val_accuracy).mean, 0.55);
  request.options.best_by = BestBy::accuracy;
  EXPECT_EQ(trained.best_index(), 0u);
  EXPECT_EQ(trained.best_by(), "highest validation accuracy");
  trained.runs.erase(trained.runs.begin(), trained.runs.begin() + 2);
  EXPECT_EQ(trained.best_index(), 0u);
  EXPECT_EQ(trained.finished(), 0u);
}

TEST(train_log, has_a_line_for_every_epoch_as_json_has_it) {
  const Folder folder;
  const Outcome outcome =
      run_weft(training({"--log", folder / "log.csv", "--json", folder / "run.json", "--eval-every", "4"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto rows = cells_of(text_of(folder / "log.csv"));
  const auto epochs = json_of(folder / "run.json")["epochs"];
  ASSERT_EQ(rows.size(), 9u);
  for (std::size_t e = 0; e < 8; ++e)
    for (std::size_t c = 0; c < rows[0].size(); ++c) {
      const auto& value = epochs[e][rows[0][c]];
      if (value.is_null())
        EXPECT_EQ(rows[e + 1][c], "");
      else
        EXPECT_EQ(std::stod(rows[e + 1][c]), value.get<double>()) << rows[0][c];
    }
  EXPECT_EQ(rows[1][3], "") << "an epoch that was not looked at has no validation accuracy";
}

TEST(train_log, of_several_runs_says_which) {
  const Folder folder;
  ASSERT_EQ(run_weft(training({"--log", folder / "log.csv", "--runs", "2", "--seed", "9"})).status, 0);
  const auto rows = cells_of(text_of(folder / "log.csv"));
  ASSERT_EQ(rows.size(), 17u);
  EXPECT_EQ(rows[0][0] + rows[0][1] + rows[0][2], "runseedepoch");
  EXPECT_EQ(rows[8][0] + " " + rows[8][1] + " " + rows[8][2], "1 9 8");
  EXPECT_EQ(rows[9][0] + " " + rows[9][1] + " " + rows[9][2], "2 10 1");
}

TEST(train_log, goes_on_where_training_does_without_an_epoch_twice) {
  const Folder folder;
  const std::string log = folder / "log.csv";
  const auto more = [&](const std::string& file) {
    return std::vector<std::string>{"--log", log, "--checkpoint", folder / file, "--checkpoint-every", "4", "--resume"};
  };
  ASSERT_EQ(run_weft(training(more("checkpoint"), "8")).status, 0);
  // As a kill would leave it: epochs after the checkpoint, the last one cut off.
  write_text(log, text_of(log) + "9,1,1,1,1,1,1,1,1\n10,0.3");
  ASSERT_EQ(run_weft(training(more("checkpoint"), "12")).status, 0);
  auto rows = cells_of(text_of(log));
  ASSERT_EQ(rows.size(), 13u) << text_of(log);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i][0], std::to_string(i));
  EXPECT_NE(rows[9][1], "1");
  for (std::size_t i = 2; i < rows.size(); ++i)
    EXPECT_GE(std::stod(rows[i].back()), std::stod(rows[i - 1].back())) << "seconds of both runs, at epoch " << i;
  // Nothing is left to train: the log stays, and one that is not there gets its header.
  const std::string whole = text_of(log);
  ASSERT_EQ(run_weft(training(more("checkpoint"), "12")).status, 0);
  EXPECT_EQ(text_of(log), whole);
  std::filesystem::remove(log);
  ASSERT_EQ(run_weft(training(more("checkpoint"), "12")).status, 0);
  EXPECT_EQ(cells_of(text_of(log)).size(), 1u);
  // Without a checkpoint training begins anew, and so does its log.
  ASSERT_EQ(run_weft(training(more("another"), "8")).status, 0);
  EXPECT_EQ(cells_of(text_of(log)).size(), 9u);
  write_text(log, "some other file\n");
  expect_complaint(run_weft(training(more("checkpoint"), "16")), 1, "name another file");
  EXPECT_EQ(text_of(log), "some other file\n");
}

TEST(train_log, stays_as_it_was_where_training_cannot_begin) {
  const Folder folder;
  write_text(folder / "log.csv", "old");
  expect_complaint(run_weft({"train", "--data", "karate", "--model", "gcn", "--log", folder / "log.csv"}), 1,
                   "features");
  EXPECT_EQ(text_of(folder / "log.csv"), "old");
  expect_complaint(run_weft(training({"--log", folder / "no/such.csv"})), 1, "such.csv");
}

TEST(train_log, to_what_is_no_file_is_written_in_place) {
  const Folder folder;
  write_text(folder / "said", "before\n");
  const std::string command = std::string("'") + WEFT_COMMAND + "' train --data " + small +
                              " --model gcn --epochs 3 --device cpu --quiet --log /dev/stdout >> '" +
                              (folder / "said") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string said = text_of(folder / "said");
  EXPECT_EQ(said.rfind("before\nepoch,loss,", 0), 0u) << said;
  EXPECT_NE(said.find("\n3,"), std::string::npos) << said;
  EXPECT_EQ(run_weft(training({"--log", "/dev/null"})).status, 0);
}

TEST(train_log, that_finds_no_room_costs_neither_training_nor_other_files) {
  const Folder folder;
  Outcome outcome;
  {
    const FullDisk disk(300);
    outcome = run_weft(training({"--log", folder / "log.csv"}));
  }
  expect_complaint(outcome, 1, "--log: cannot write");
  EXPECT_NE(outcome.out.find("test accuracy"), std::string::npos) << outcome.out;
}

TEST(train, report_on_standard_output_leaves_people_their_lines_on_stderr) {
  const Outcome outcome = run_weft(training({"--report", "-"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("<!doctype html>", 0), 0u);
  EXPECT_EQ(outcome.out.substr(outcome.out.size() - 8), "</html>\n");
  EXPECT_EQ(unbalanced(outcome.out), "");
  EXPECT_EQ(outcome.err.rfind("best epoch", 0), 0u) << outcome.err;
}

TEST(train, says_what_the_best_epoch_is_best_by) {
  const Folder folder;
  for (const auto& [by, text] : std::vector<std::pair<std::string, std::string>>{
           {"loss", "lowest validation loss"}, {"accuracy", "highest validation accuracy"}}) {
    const Outcome outcome =
        run_weft(training({"--best-by", by, "--json", folder / "run.json", "--report", folder / "run.html"}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(" of 8 (" + text + ")\n"), std::string::npos) << outcome.out;
    EXPECT_EQ(json_of(folder / "run.json")["result"]["best_by"], text);
    EXPECT_NE(text_of(folder / "run.html").find(" of 8 (" + text + ")"), std::string::npos);
  }
}

TEST(train, report_says_where_and_when_and_which_classes_are_confused) {
  const Folder folder;
  const Outcome outcome = run_weft(training({"--report", folder / "run.html", "--runs", "2"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string page = text_of(folder / "run.html");
  EXPECT_EQ(unbalanced(page), "");
  for (const std::string part :
       {"<th>date</th><td>20", "<th>weft</th><td>", "<th>machine</th><td>", " thread",
        "<th>edge weights</th><td>none</td>", "<h2>runs</h2>", "class=\"confusion\"", "<th>best run</th>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(count_of(page, "class=\"confusion\""), 1u);
}

}  // namespace
}  // namespace weft::test
