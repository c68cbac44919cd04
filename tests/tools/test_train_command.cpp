// train: what it shows, what it writes, and how it fails.
#include <csignal>
#include <thread>

#include "markup.hpp"
#include "training_command.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

TEST(train, shows_data_model_progress_curves_and_figures) {
  const Outcome outcome = run_weft(training({}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"device: cpu", "240 nodes", "60 features", "3 classes", "note     synthetic",
                                 "\nloss\n", "\nvalidation accuracy\n", "|*", "best epoch", "train accuracy",
                                 "val accuracy", "test accuracy", "epochs/s", "peak memory"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("ended"), std::string::npos) << outcome.out;
  // No terminal: plain lines, none rewritten.
  EXPECT_EQ(count_of(outcome.err, "epoch "), 8u) << outcome.err;
  EXPECT_NE(outcome.err.find("epoch 8/8  loss "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos);
}

TEST(train, quiet_leaves_the_figures_alone) {
  const Outcome outcome = run_weft(training({"--quiet"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.rfind("best epoch", 0), 0u) << outcome.out;
}

TEST(train, json_has_the_options_and_every_epoch) {
  const Outcome outcome =
      run_weft(training({"--json", "-", "--hidden", "5", "--lr", "0.02", "--no-normalise", "--seed", "4"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["command"], "weft train --data " + small +
                                 " --model gcn --hidden 5 --epochs 8 --lr 0.02 --seed 4 --no-normalise --device cpu");
  EXPECT_EQ(json["data"]["nodes"], 240);
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["model"]["architecture"], "gcn");
  EXPECT_EQ(json["model"]["inputs"], 60);
  EXPECT_EQ(json["model"]["classes"], 3);
  EXPECT_EQ(json["model"]["hidden"], 5);
  EXPECT_EQ(json["model"]["normalise_inputs"], false);
  EXPECT_EQ(json["options"]["lr"], 0.02);
  EXPECT_EQ(json["options"]["seed"], 4);
  EXPECT_EQ(json["result"]["interrupted"], false);
  ASSERT_EQ(json["epochs"].size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const auto& epoch = json["epochs"][i];
    EXPECT_EQ(epoch["epoch"], i + 1);
    for (const std::string key :
         {"loss", "train_accuracy", "val_accuracy", "test_accuracy", "val_loss", "lr", "loss_scale", "seconds"})
      EXPECT_TRUE(epoch.contains(key)) << key;
    EXPECT_TRUE(epoch["loss"].is_number());
  }
}

TEST(train, what_was_not_measured_is_null) {
  const Outcome outcome = run_weft(training({"--json", "-", "--eval-every", "0"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.json()["epochs"][0]["val_accuracy"].is_null());
}

TEST(train, every_model_trains) {
  for (const std::string model : {"gcn", "sage", "gin", "gat", "gatv2"}) {
    SCOPED_TRACE(model);
    const Outcome outcome = run_weft({"train", "--data", small, "--model", model, "--epochs", "3", "--hidden", "4",
                                      "--device", "cpu", "--json", "-", "--quiet"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["model"]["architecture"], model);
    EXPECT_EQ(outcome.json()["epochs"].size(), 3u);
  }
}

TEST(train, batches_are_drawn_by_every_sampler) {
  const Folder folder;
  for (const char* sampler : {"node", "edge", "walk", "neighbour"}) {
    const Outcome outcome = run_weft(training({"--sampler", sampler, "--batch", "8", "--json", folder / "run.json"}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(std::string("an epoch, by ") + sampler), std::string::npos) << outcome.out;
    const nlohmann::json run = json_of(folder / "run.json");
    EXPECT_EQ(run["options"]["sample"]["method"], sampler);
    EXPECT_GE(run["result"]["batches_an_epoch"], 2);
  }
  expect_complaint(run_weft(training({"--sampler", "neighbour", "--fanout", "5,5,5"})), 2,
                   "fanouts has 3 numbers and the model 2 layers");
}

TEST(train, report_is_a_whole_page_with_a_line_for_every_series) {
  const Folder folder;
  const Outcome outcome = run_weft(training({"--report", folder / "run.html"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("wrote    " + folder / "run.html"), std::string::npos) << outcome.out;
  const std::string page = text_of(folder / "run.html");
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_EQ(count_of(page, "<polyline"), 5u);
  EXPECT_NE(page.find("weft train --data " + small), std::string::npos);
  EXPECT_NE(page.find("test accuracy"), std::string::npos);
}

TEST(train, a_saved_model_infers_what_training_measured) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  const Outcome trained = run_weft(training({"--save", model, "--json", folder / "train.json"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Outcome inferred = run_weft(inferring(small, model, {"--json", folder / "infer.json"}));
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  for (const std::string part : {"all accuracy", "forward pass", "predicted classes", "#"})
    EXPECT_NE(inferred.out.find(part), std::string::npos) << part << " in\n" << inferred.out;
  const auto before = json_of(folder / "train.json"), after = json_of(folder / "infer.json");
  EXPECT_EQ(after["model"], before["model"]);
  for (const std::string key : {"train_accuracy", "val_accuracy", "test_accuracy"})
    EXPECT_DOUBLE_EQ(after["result"][key].get<double>(), before["result"][key].get<double>()) << key;
  std::int64_t nodes = 0;
  for (const auto& count : after["result"]["nodes_a_class"]) nodes += count.get<std::int64_t>();
  EXPECT_EQ(nodes, 240);
}

TEST(train, goes_on_from_a_checkpoint) {
  const Folder folder;
  const std::string checkpoint = folder / "run.checkpoint";
  const Outcome first = run_weft(training({"--checkpoint", checkpoint, "--checkpoint-every", "4"}));
  ASSERT_EQ(first.status, 0) << first.err;
  ASSERT_TRUE(std::filesystem::exists(checkpoint));
  const Outcome second = run_weft({"train", "--data", small, "--model", "gcn", "--epochs", "12", "--device", "cpu",
                                   "--checkpoint", checkpoint, "--resume", "--json", "-"});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.json()["epochs"].back()["epoch"], 12);
  EXPECT_EQ(second.err.find("epoch 1/12 "), std::string::npos) << second.err;
}

TEST(train, wrong_values_are_wrong_usage) {
  struct Case {
    std::vector<std::string> more;
    std::string part;
  };
  const std::vector<Case> cases{
      {{"--layers", "0"}, "--layers is '0'"},
      {{"--hidden", "many"}, "'many'"},
      {{"--lr", "-1"}, "--lr is '-1': expected a number above 0"},
      {{"--lr", "0"}, "--lr is '0'"},
      {{"--lr", "nan"}, "'nan'"},
      {{"--lr", "0.1x"}, "'0.1x'"},
      {{"--dropout", "1"}, "expected a number from 0 to below 1"},
      {{"--heads", "2"}, "--heads: gcn has no use for it, only gat and gatv2"},
      {{"--aggregate", "max"}, "only sage"},
      {{"--gin-lambda", "1"}, "only gin"},
      {{"--no-learn-eps"}, "--no-learn-eps: gcn has no use for it, only gin"},
      {{"--recompute"}, "--recompute: gcn has no use for it, only gin"},
      {{"--momentum", "0.5"}, "only sgd"},
      {{"--optimiser", "frob"}, "frob"},
      {{"--schedule", "frob"}, "frob"},
      {{"--activation", "frob"}, "frob"},
      {{"--norm", "frob"}, "frob"},
      {{"--degree-norm", "frob"}, "frob"},
      {{"--best-by", "frob"}, "frob"},
      {{"--dtype", "i32"}, "expected one of f32, f16, bf16, f64"},
      {{"--dtype", "f32,f16"}, "one type"},
      {{"--seed", "-1"}, "--seed is '-1'"},
      {{"--threads", "x"}, "--threads is 'x'"},
      {{"--sampler", "frob"}, "frob"},
      {{"--batch", "10"}, "--batch: --sampler none has no use for it"},
      {{"--sampler", "node", "--fanout", "5"}, "--sampler node has no use for it, only neighbour"},
      {{"--sampler", "node", "--walk-length", "2"}, "only walk"},
      {{"--sampler", "neighbour", "--coverage", "2"}, "only node and edge and walk"},
      {{"--sampler", "neighbour", "--fanout", "5,0"}, "'0'"},
      {{"--resume"}, "--checkpoint"},
      {{"--checkpoint-every", "5"}, "--checkpoint"},
      {{"--save", "a", "--json", "a"}, "the same file as"},
      {{"--save", "-"}, "--save is '-': expected the name of a file"},
      {{"--save", "-", "--json", "-"}, "--save is '-': expected the name of a file"},
      {{"--checkpoint", "-"}, "--checkpoint is '-': expected the name of a file"},
      {{"--epohcs", "5"}, "did you mean --epochs?"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.more.front());
    const Outcome outcome = run_weft(training(each.more));
    expect_complaint(outcome, 2, each.part);
    EXPECT_EQ(outcome.out, "");
  }
  expect_complaint(run_weft({"train", "--data", small, "--model", "gat", "--fuse"}), 2,
                   "--fuse: gat has no use for it");
  expect_complaint(run_weft({"train", "--data", small}), 2, "--model is missing");
  expect_complaint(run_weft({"train", "--model", "gcn"}), 2, "--data is missing");
  expect_complaint(run_weft({"train", "--data", small, "--model", "mlp"}), 2, "'mlp'");
  expect_complaint(run_weft(inferring(small, "m", {"--out", "x.txt"})), 2, ".npy or .csv");
  expect_complaint(run_weft(inferring(small, "m", {"--scores", "x.csv"})), 2, ".npy");
  for (const std::string option : {"--probabilities", "--embeddings"})
    expect_complaint(run_weft(inferring(small, "m", {option, "x.csv"})), 2, option + " is 'x.csv'");
  expect_complaint(run_weft(inferring(small, "m", {"--dtype", "i64"})), 2, "i64");
}

TEST(train, failures_are_one_line) {
  const Folder folder;
  expect_complaint(run_weft(training({}, folder / "nothing.weft")), 1, "nothing.weft");
  expect_complaint(run_weft(training({}, "karate")), 1, "features");
  expect_complaint(run_weft(training({"--report", folder / "no/such.html"})), 1, "such.html");
  expect_complaint(run_weft(inferring(small, folder / "nothing", {})), 1, "nothing");
  write_text(folder / "text", "no model at all");
  expect_complaint(run_weft(inferring(small, folder / "text", {})), 1, "text");
}

TEST(train, an_old_file_stays_where_training_fails) {
  const Folder folder;
  Dataset dataset = open_dataset(small);
  dataset.train = Tensor();
  write_dataset(folder / "untaught.weft", dataset);
  for (const std::string name : {"model", "json", "html"}) write_text(folder / name, "old");
  const Outcome outcome = run_weft(training(
      {"--save", folder / "model", "--json", folder / "json", "--report", folder / "html"}, folder / "untaught.weft"));
  expect_complaint(outcome, 1, "train");
  for (const std::string name : {"model", "json", "html"}) EXPECT_EQ(text_of(folder / name), "old");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "."))
    files += entry.path().filename().string().starts_with(".") ? 1 : 0;
  EXPECT_EQ(files, 0u) << "a temporary file is left";
}

/// The command, started with the signal at its default and sent it once the first epoch was told of; `second`, if not
/// 0, follows 100 ms later.
int status_after(int signal, std::vector<std::string> arguments, const std::string& err, int second = 0) {
  skip_leak_search_in_children();
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const pid_t child = start_weft(std::move(arguments), "/dev/null", err, environ, &attributes);
  posix_spawnattr_destroy(&attributes);
  for (int i = 0; i < 6'000 && text_of(err).find("epoch ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, signal);
  if (second != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(child, second);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(train, a_second_signal_of_either_kind_ends_it_at_once) {
  for (const auto& [first, second] :
       {std::pair(SIGINT, SIGTERM), std::pair(SIGTERM, SIGINT), std::pair(SIGTERM, SIGTERM)}) {
    const Folder folder;
    // An epoch takes long enough that the first signal alone has not ended it by then.
    const std::vector<std::string> arguments{"train",    "--data",   "citations:nodes=10000",
                                             "--model",  "gcn",      "--hidden",
                                             "512",      "--epochs", "1000",
                                             "--device", "cpu",      "--threads",
                                             "1"};
    EXPECT_EQ(status_after(first, arguments, folder / "err", second), -second) << text_of(folder / "err");
  }
}

TEST(train, a_signal_ends_it_with_what_there_is) {
  for (const int signal : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(signal);
    const Folder folder;
    const std::vector<std::string> arguments{"train",
                                             "--data",
                                             small,
                                             "--model",
                                             "gcn",
                                             "--epochs",
                                             "1000000",
                                             "--device",
                                             "cpu",
                                             "--json",
                                             folder / "run.json",
                                             "--save",
                                             folder / "model",
                                             "--report",
                                             folder / "run.html"};
    EXPECT_EQ(status_after(signal, arguments, folder / "err"), 128 + signal) << text_of(folder / "err");
    const auto json = json_of(folder / "run.json");
    EXPECT_EQ(json["result"]["interrupted"], true);
    EXPECT_GE(json["epochs"].size(), 1u);
    EXPECT_TRUE(std::filesystem::exists(folder / "model"));
    EXPECT_EQ(unbalanced(text_of(folder / "run.html")), "");
  }
}

}  // namespace
}  // namespace weft::test
