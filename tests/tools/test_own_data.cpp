// Somebody's own files, from edges and labels to a trained model.
#include <fmt/format.h>

#include <set>

#include "command_runner.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

/// Two groups of people who mostly know their own: edges once, with a header, and names for ids.
std::string friends_csv() {
  std::string text = "source,target\n";
  for (int i = 0; i < 40; ++i)
    for (const int step : {1, 3, 7})
      text += fmt::format("{0}{1},{0}{2}\n", i % 2 == 0 ? "red-" : "blue-", i, (i + 2 * step) % 40);
  return text + "red-0,blue-1\n";
}
std::string teams_csv() {
  std::string text = "who,team\n";
  for (int i = 0; i < 40; ++i)
    text += fmt::format("{}{},{}\n", i % 2 == 0 ? "red-" : "blue-", i, i % 2 == 0 ? "Reds" : "Blues");
  return text;
}

class own_data : public ::testing::Test {
 protected:
  own_data() {
    write_text(edges_, friends_csv());
    write_text(labels_, teams_csv());
  }
  Folder folder_;
  std::string edges_ = folder_ / "edges.csv", labels_ = folder_ / "labels.csv", data_ = folder_ / "mine.weft",
              model_ = folder_ / "mine.safetensors";
};

TEST_F(own_data, becomes_a_trained_model_and_named_predictions_in_three_commands) {
  const Outcome converted = run_weft({"convert", edges_, data_, "--undirected", "--labels", labels_, "--features",
                                      "identity", "--split", "stratified:5,10,20"});
  ASSERT_EQ(converted.status, 0) << converted.err;
  EXPECT_NE(converted.out.find("0 = Blues, 1 = Reds"), std::string::npos) << converted.out;
  const Dataset data = read_dataset(data_);
  EXPECT_EQ(data.num_nodes(), 40);
  EXPECT_EQ(data.graph.num_edges(), 2 * 121);
  EXPECT_EQ(data.num_features(), 40);
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.class_names.at(0), "Blues");
  EXPECT_EQ(data.train.shape().rows, 10);
  for (std::int64_t node = 0; node < 40; ++node)
    EXPECT_EQ(data.labels.span<std::int32_t>()[static_cast<std::size_t>(node)],
              data.node_names.at(node).starts_with("red-") ? 1 : 0);

  const Outcome trained = run_weft({"train", "--data", data_, "--model", "gcn", "--epochs", "100", "--device", "cpu",
                                    "--save", model_, "--json", folder_ / "run.json"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_GE(nlohmann::json::parse(text_of(folder_ / "run.json"))["result"]["test_accuracy"], 0.9);

  const Outcome inferred =
      run_weft({"infer", "--data", data_, "--load", model_, "--device", "cpu", "--out", folder_ / "teams.csv"});
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  std::istringstream lines(text_of(folder_ / "teams.csv"));
  std::string line;
  int right = 0, rows = 0;
  std::getline(lines, line);
  EXPECT_EQ(line.rfind("node,class", 0), 0u);
  for (; std::getline(lines, line); ++rows)
    right += line.rfind("red-", 0) == 0 ? line.find(",Reds,") != line.npos : line.find(",Blues,") != line.npos;
  EXPECT_EQ(rows, 40);
  EXPECT_GE(right, 36);
}

/// The lines of a page that start with `weft `, in the first block of shell commands that mentions edges.csv.
std::vector<std::string> commands_on(const std::string& page) {
  std::vector<std::string> found;
  std::istringstream lines(text_of(page));
  bool shell = false, right = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      if (right) return found;
      shell = line == "```sh";
      found.clear();
    } else if (shell && line.rfind("weft ", 0) == 0) {
      found.push_back(line.substr(5, line.find("  #") - 5));
      right = right || line.find("edges.csv") != line.npos;
    }
  }
  return right ? found : std::vector<std::string>{};
}

TEST_F(own_data, goes_the_way_that_the_pages_print) {
  for (const char* page : {WEFT_README, WEFT_OWN_DATA_PAGE}) {
    const std::vector<std::string> commands = commands_on(page);
    ASSERT_EQ(commands.size(), 3u) << page;
    std::string line = fmt::format("(cd '{}'", folder_ / "");
    for (const std::string& command : commands) line += fmt::format(" && '{}' {}", WEFT_COMMAND, command);
    ASSERT_EQ(std::system((line + fmt::format(") > '{}' 2>&1", folder_ / "said.txt")).c_str()), 0)
        << page << ": " << text_of(folder_ / "said.txt");
    const std::string predictions = text_of(folder_ / "predictions.csv");
    EXPECT_EQ(std::ranges::count(predictions, '\n'), 41) << page;
    EXPECT_NE(predictions.find("\nred-0,"), predictions.npos) << page;
    std::filesystem::remove(folder_ / "predictions.csv");
  }
}

TEST_F(own_data, trains_without_a_file_between) {
  const Outcome trained = run_weft({"train", "--data", edges_, "--labels", labels_, "--features", "degree", "--split",
                                    "random:0.5,0.25,0.25", "--split-seed", "3", "--model", "sage", "--epochs", "2",
                                    "--device", "cpu", "--json", folder_ / "r.json"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto json = nlohmann::json::parse(text_of(folder_ / "r.json"));
  EXPECT_EQ(json["data"]["train"], 20);
  EXPECT_EQ(json["data"]["features"], 1);
  EXPECT_NE(std::string(json["command"])
                .find("--features degree --labels " + labels_ + " --split random:0.5,0.25,0.25 --split-seed 3"),
            std::string::npos)
      << json["command"];
}

TEST_F(own_data, says_which_option_gives_what_is_missing) {
  const std::vector<std::string> start{"train", "--data", edges_, "--model", "gcn", "--epochs", "1", "--device", "cpu"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = start;
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(all);
  };
  expect_complaint(with({}), 1, "--features identity, degree, constant or a FILE");
  expect_complaint(with({"--features", "identity"}), 1, "--labels FILE");
  expect_complaint(with({"--features", "identity", "--labels", labels_}), 1, "--split random:0.6,0.2,0.2");
  expect_complaint(with({"--features", "identity", "--labels", labels_, "--split", "stratified:21,1,1"}), 1,
                   "class 0 of edges has only 20");
  expect_complaint(with({"--features", folder_ / "none.csv"}), 1, "none.csv");
}

TEST_F(own_data, options_that_contradict_are_refused_before_anything_is_read) {
  const auto convert = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"convert", folder_ / "absent.csv", data_});
    return run_weft(more);
  };
  expect_complaint(convert({"--split", "halves"}), 2, "--split");
  expect_complaint(convert({"--split", "random:0.9,0.9,0.9"}), 2, "at most 1");
  expect_complaint(convert({"--split", "random", "--masks", "m.npz"}), 2, "--masks and --split");
  expect_complaint(convert({"--split-seed", "3"}), 2, "--split-seed");
  expect_complaint(convert({"--split", "random", "--split-seed", "x"}), 2, "--split-seed is 'x'");
  expect_complaint(convert({"--directed", "--undirected"}), 2, "--directed and --undirected");
  expect_complaint(convert({"--directed", "--symmetric"}), 2, "--directed and --undirected");
  expect_complaint(
      run_weft({"train", "--data", "karate", "--model", "gcn", "--synthetic", "8,2", "--features", "identity"}), 2,
      "--synthetic");
  EXPECT_FALSE(std::filesystem::exists(data_));
}

TEST_F(own_data, is_not_written_where_a_part_is_wrong) {
  write_text(labels_, "node,label\nred-0,1\nred-0,2\n");
  expect_complaint(run_weft({"convert", edges_, data_, "--labels", labels_}), 1, "line 3");
  EXPECT_FALSE(std::filesystem::exists(data_));
}

TEST_F(own_data, directed_edges_stay_and_undirected_ones_get_their_reverse) {
  write_text(edges_, "0,1\n1,2\n");
  const Outcome directed = run_weft({"convert", edges_, data_, "--directed"});
  ASSERT_EQ(directed.status, 0) << directed.err;
  EXPECT_NE(directed.out.find("directed"), std::string::npos);
  EXPECT_EQ(read_graph(data_).graph.num_edges(), 2);
  ASSERT_EQ(run_weft({"convert", edges_, data_, "--undirected"}).status, 0);
  EXPECT_EQ(read_graph(data_).graph.num_edges(), 4);
}

TEST_F(own_data, trains_on_undirected_edges_as_convert_writes_them) {
  write_text(edges_, text_of(edges_) + text_of(edges_).substr(text_of(edges_).find('\n') + 1));  // every edge twice
  ASSERT_EQ(run_weft({"convert", edges_, data_, "--undirected"}).status, 0);
  const auto train = [&](const std::string& data, std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "--data", data, "--labels", labels_, "--features", "degree", "--split",
                               "random", "--model", "gcn", "--epochs", "3", "--device", "cpu", "--json",
                               folder_ / "r.json", "--save", folder_ / "m.safetensors"});
    const Outcome outcome = run_weft(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    auto json = nlohmann::json::parse(text_of(folder_ / "r.json"));
    json["said"] = outcome.out;
    return json;
  };
  const auto losses = [](const nlohmann::json& json) {
    std::vector<double> all;
    for (const auto& epoch : json["epochs"]) all.push_back(epoch["loss"]);
    return all;
  };
  const auto converted = train(data_, {}), undirected = train(edges_, {"--undirected"});
  EXPECT_EQ(undirected["data"]["edges"], converted["data"]["edges"]);
  EXPECT_EQ(losses(undirected), losses(converted));
  const std::string said = undirected["said"];
  EXPECT_NE(said.find("change   duplicates merged: "), said.npos) << said;
  EXPECT_NE(said.find("change   reverse edges added: "), said.npos) << said;
  EXPECT_NE(std::string(undirected["command"]).find(" --undirected --features degree"), std::string::npos);
  const auto infer = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"infer", "--data", edges_, "--labels", labels_, "--features", "degree", "--load",
                               folder_ / "m.safetensors", "--device", "cpu"});
    const Outcome outcome = run_weft(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  const std::string told = infer({"--symmetric"}), untold = infer({}), refused = infer({"--directed"});
  EXPECT_NE(told.find("change   reverse edges added: "), told.npos) << told;
  EXPECT_EQ(told.find("trained with --undirected"), told.npos) << told;
  EXPECT_NE(untold.find("trained with --undirected"), untold.npos) << untold;
  EXPECT_NE(untold.find("change   reverse edges added: "), untold.npos) << untold;
  EXPECT_EQ(refused.find("change   reverse edges added: "), refused.npos) << refused;
  const auto directed = train(edges_, {"--directed"});
  EXPECT_NE(std::string(directed["said"]).find("edges    directed: none gets a reverse"), std::string::npos);
  EXPECT_NE(losses(directed), losses(undirected));
}

TEST(karate_club, trains_on_identity_features_and_a_drawn_split) {
  const Folder folder;
  const Outcome outcome =
      run_weft({"train", "--data", "karate", "--features", "identity", "--split", "stratified:4,6,20", "--model", "gcn",
                "--epochs", "60", "--device", "cpu", "--json", folder / "run.json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = nlohmann::json::parse(text_of(folder / "run.json"));
  EXPECT_EQ(json["data"]["train"], 8);
  EXPECT_GE(json["result"]["test_accuracy"], 0.8);
  EXPECT_NE(outcome.out.find("; then --features identity --split stratified:4,6,20"), std::string::npos) << outcome.out;
}

TEST(karate_club, is_predicted_with_the_features_it_was_trained_on) {
  const Folder folder;
  ASSERT_EQ(run_weft({"train", "--data", "karate", "--features", "identity", "--model", "gcn", "--epochs", "5",
                      "--device", "cpu", "--save", folder / "m.safetensors", "--quiet"})
                .status,
            0);
  const std::vector<std::string> infer{"infer",    "--data", "karate", "--load", folder / "m.safetensors",
                                       "--device", "cpu"};
  expect_complaint(run_weft(infer), 1, "--features");
  std::vector<std::string> with = infer;
  with.insert(with.end(), {"--features", "identity"});
  EXPECT_EQ(run_weft(with).status, 0);
}

TEST(real_data, without_its_splits_trains_with_drawn_ones) {
  const std::string cora = WEFT_SHARED_DATA "/planetoid-cora.npz";
  if (!std::filesystem::exists(cora)) GTEST_SKIP() << "the shared data folder lacks " << cora;
  const Folder folder;
  Dataset data = read_dataset(cora);
  for (Tensor* split : {&data.train, &data.val, &data.test}) *split = Tensor();
  write_dataset(folder / "cora.weft", data);
  const std::vector<std::string> train{"train",    "--data", folder / "cora.weft", "--model", "gcn",
                                       "--epochs", "30",     "--device",           "cpu"};
  expect_complaint(run_weft(train), 1, "--split");
  std::vector<std::string> with = train;
  with.insert(with.end(), {"--split", "stratified:20,500,1000", "--json", folder / "run.json"});
  const Outcome outcome = run_weft(with);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = nlohmann::json::parse(text_of(folder / "run.json"));
  EXPECT_EQ(json["data"]["train"], 140);
  EXPECT_EQ(json["data"]["test"], 1000);
  EXPECT_GE(json["result"]["test_accuracy"], 0.7);
}

}  // namespace
}  // namespace weft::test
