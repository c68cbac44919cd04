// Files that cannot be written: the others are, each failure is a line, and the status is 1.
#include <filesystem>

#include "command_runner.hpp"
#include "support/full_disk.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

constexpr rlim_t little = 60'000;  // bytes: room for figures and reports, and for no model of 400 KB
const std::string data = "citations:nodes=240,classes=3,words=1500,seed=2";

std::vector<std::string> training(const std::vector<std::string>& more, const std::string& hidden = "64") {
  std::vector<std::string> all{"train", "--data",   data, "--model",  "gcn", "--hidden",
                               hidden,  "--epochs", "8",  "--device", "cpu", "--quiet"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(outputs, a_model_that_finds_no_room_costs_neither_the_figures_nor_the_report) {
  const Folder folder;
  const std::string save = folder / "m.safetensors", json = folder / "r.json", report = folder / "r.html";
  Outcome outcome;
  {
    const FullDisk disk(little);
    outcome = run_weft(training({"--save", save, "--json", json, "--report", report}));
  }
  expect_complaint(outcome, 1, "--save: " + save + ": cannot write byte");
  EXPECT_FALSE(std::filesystem::exists(save));
  EXPECT_EQ(nlohmann::json::parse(text_of(json))["epochs"].size(), 8u);
  EXPECT_NE(text_of(report).find("</html>"), std::string::npos);
  for (const std::string& path : {json, report})
    EXPECT_NE(outcome.out.find("wrote    " + path), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("wrote    " + save), std::string::npos) << outcome.out;
}

TEST(outputs, every_one_that_fails_has_its_line) {
  const Folder folder;
  const std::string save = folder / "m.safetensors", json = folder / "r.json", report = folder / "r.html";
  Outcome outcome;
  {
    const FullDisk disk(2'000);
    outcome = run_weft(training({"--save", save, "--json", json, "--report", report}));
  }
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(lines_of(outcome.err), 3u) << outcome.err;
  for (const std::string line :
       {"weft: --save: " + save, "weft: --json: cannot write '" + json, "weft: --report: cannot write '" + report})
    EXPECT_NE(outcome.err.find(line), std::string::npos) << line << " in\n" << outcome.err;
}

TEST(outputs, a_checkpoint_that_finds_no_room_does_not_end_training_and_the_old_one_stays) {
  const Folder folder;
  const std::string checkpoint = folder / "c", json = folder / "r.json";
  ASSERT_EQ(run_weft(training({"--checkpoint", checkpoint, "--checkpoint-every", "2"})).status, 0);
  const std::string before = text_of(checkpoint);
  Outcome outcome;
  {
    const FullDisk disk(little);
    outcome = run_weft(training({"--checkpoint", checkpoint, "--checkpoint-every", "2", "--json", json}));
  }
  expect_complaint(outcome, 1, "--checkpoint: 4 of this run's checkpoints could not be written: " + checkpoint);
  EXPECT_EQ(text_of(checkpoint), before);
  EXPECT_EQ(nlohmann::json::parse(text_of(json))["epochs"].size(), 8u);
}

TEST(outputs, of_infer_are_each_tried) {
  const Folder folder;
  const std::string model = folder / "m", predictions = folder / "p.csv", scores = folder / "s.npy";
  ASSERT_EQ(run_weft(training({"--save", model}, "4")).status, 0);
  Outcome outcome;
  {
    const FullDisk disk(4'000);
    outcome = run_weft(
        {"infer", "--data", data, "--load", model, "--device", "cpu", "--out", predictions, "--scores", scores});
  }
  // 240 lines of more than 16 bytes do not fit in; 240 x 3 scores of 4 bytes do.
  expect_complaint(outcome, 1, "--out: cannot write '" + predictions);
  EXPECT_FALSE(std::filesystem::exists(predictions));
  EXPECT_EQ(std::filesystem::file_size(scores), 128u + 240 * 3 * 4);
}

TEST(outputs, to_standard_output_by_its_path_leave_the_log_it_goes_to_in_place) {
  const Folder folder;
  const std::string log = folder / "log";
  write_text(log, "");
  std::filesystem::create_hard_link(log, folder / "same");
  const Outcome outcome = run_weft(training({"--json", "/dev/stdout"}), log);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = text_of(log);
  EXPECT_EQ(text.rfind("best epoch", 0), 0u) << text;
  EXPECT_NE(text.find("\"val_accuracy\""), std::string::npos) << text;
  EXPECT_NE(text.find("wrote    /dev/stdout"), std::string::npos) << text;
  EXPECT_EQ(text_of(folder / "same"), text) << "another file has taken the log's name";
}

std::string hostile(const std::string& name) { return std::string(WEFT_SHARED_DATA "/hostile/") + name; }

TEST(hostile_files, are_refused_in_one_short_printable_line) {
  const Folder folder;
  if (!std::filesystem::exists(hostile("best-epoch.ck"))) GTEST_SKIP() << "no hostile files here";
  std::filesystem::copy_file(hostile("best-epoch.ck"), folder / "c");
  std::vector<std::vector<std::string>> calls{{"train", "--data", "karate", "--synthetic", "8,2", "--model", "gcn",
                                               "--epochs", "3", "--checkpoint", folder / "c", "--resume", "--quiet"}};
  for (const std::string name : {"nested-spec.safetensors", "escape.safetensors"})
    for (const bool ignored : {false, true}) {
      calls.push_back({"infer", "--data", "karate", "--load", hostile(name)});
      if (ignored) calls.back().push_back("--no-checksum");
    }
  for (const auto& call : calls) {
    const Outcome outcome = run_weft(call);
    SCOPED_TRACE(outcome.err);
    expect_complaint(outcome, 1, "");
    EXPECT_LT(outcome.err.size(), 600u);
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
  }
}

TEST(outputs, that_would_overwrite_what_is_read_are_refused_before_anything_runs) {
  const Folder folder;
  const std::string data = folder / "data.weft", labels = folder / "labels.csv";
  write_dataset(data, open_dataset("citations:nodes=120"));
  write_text(labels, "node,label\n0,1\n");
  const std::string before = text_of(data);
  const std::vector<std::string> train{"train", "--data", data, "--model", "gcn", "--epochs", "1", "--device", "cpu"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = train;
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(all);
  };
  expect_complaint(with({"--save", data}), 2, "the same file as --data: it would overwrite");
  expect_complaint(with({"--checkpoint", folder / "./data.weft"}), 2, "the same file as --data");
  expect_complaint(with({"--labels", labels, "--log", labels}), 2, "the same file as --labels");
  expect_complaint(run_weft({"bench", "spmm", data, "--width", "4", "--device", "cpu", "--json", data}), 2, "GRAPH");
  EXPECT_EQ(text_of(data), before);
}

TEST(outputs, that_are_one_file_in_two_spellings_are_refused_and_devices_are_not) {
  const Folder folder;
  std::filesystem::create_symlink("real.st", folder / "link.st");
  const std::vector<std::string> train{
      "train", "--data", "citations:nodes=120", "--model", "gcn", "--epochs", "1", "--device", "cpu", "--quiet"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = train;
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(all);
  };
  expect_complaint(with({"--save", folder / "./a", "--json", folder / "a"}), 2, "the same file as --save: name two");
  write_text(folder / "real.st", "");
  expect_complaint(with({"--save", folder / "link.st", "--json", folder / "real.st"}), 2, "the same file as --save");
  EXPECT_EQ(with({"--json", "/dev/null", "--report", "/dev/null"}).status, 0);
}

}  // namespace
}  // namespace weft::test
