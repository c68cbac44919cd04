// infer: what it writes, and how it fails.
#include <cstring>
#include <sstream>

#include "markup.hpp"
#include "training_command.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

TEST(infer, writes_predictions_that_other_programs_read) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  const Outcome arrays =
      run_weft(inferring(small, model, {"--out", folder / "classes.npy", "--scores", folder / "scores.npy"}));
  ASSERT_EQ(arrays.status, 0) << arrays.err;
  const std::string classes = text_of(folder / "classes.npy"), scores = text_of(folder / "scores.npy");
  for (const std::string* array : {&classes, &scores}) EXPECT_EQ(array->rfind("\x93NUMPY", 0), 0u);
  EXPECT_NE(classes.find("'<i4'"), std::string::npos);
  EXPECT_NE(classes.find("(240,)"), std::string::npos);
  EXPECT_EQ(classes.size() % 64, 240u * 4 % 64);
  EXPECT_NE(scores.find("'<f4'"), std::string::npos);
  EXPECT_NE(scores.find("(240, 3)"), std::string::npos);
  const Outcome table = run_weft(inferring(small, model, {"--out", folder / "classes.csv"}));
  ASSERT_EQ(table.status, 0) << table.err;
  const std::string text = text_of(folder / "classes.csv");
  EXPECT_EQ(text.rfind("node,class,score,probability\n0,", 0), 0u) << text.substr(0, 60);
  EXPECT_EQ(count_of(text, "\n"), 241u);
}

TEST(infer, shows_what_sampled_edges_cost_and_save_beside_all_of_them) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model, "--sample-width", "3"})).status, 0);
  const Outcome several = run_weft(
      inferring(small, model, {"--sample", "strata", "--sample-width", "1,2,4096", "--json", folder / "sampled.json"}));
  ASSERT_EQ(several.status, 0) << several.err;
  EXPECT_NE(several.out.find("edges kept by strata"), std::string::npos) << several.out;
  const nlohmann::json json = nlohmann::json::parse(text_of(folder / "sampled.json"));
  EXPECT_EQ(json["sample"]["method"], "strata");
  const auto& runs = json["sample"]["runs"];
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_TRUE(runs[0]["width"].is_null());
  EXPECT_LT(runs[1]["sampling_rate"].get<double>(), runs[2]["sampling_rate"].get<double>());
  EXPECT_EQ(runs[3]["sampling_rate"], 1.0);
  EXPECT_EQ(runs[3]["test_accuracy"], runs[0]["test_accuracy"]);
  // One width: its predictions are written.
  ASSERT_EQ(run_weft(inferring(small, model, {"--out", folder / "all.npy"})).status, 0);
  ASSERT_EQ(run_weft(inferring(small, model, {"--sample-width", "4096", "--out", folder / "kept.npy"})).status, 0);
  EXPECT_EQ(text_of(folder / "all.npy"), text_of(folder / "kept.npy"));
}

TEST(infer, and_training_show_where_the_time_goes) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  const Outcome trained = run_weft(training({"--save", model, "--time-by-operator", "--json", folder / "train.json"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto names_of = [](const nlohmann::json& operators) {
    std::vector<std::string> names;
    for (const auto& each : operators) {
      names.push_back(each["operator"]);
      EXPECT_GT(each["calls"].get<int>(), 0);
      EXPECT_GT(each["seconds"].get<double>(), 0);
    }
    std::ranges::sort(names);
    return names;
  };
  const nlohmann::json train_json = nlohmann::json::parse(text_of(folder / "train.json"));
  const std::vector<std::string> all{"dense products", "passes", "sparse features", "spmm", "spmm backward"};
  EXPECT_EQ(names_of(train_json["result"]["operators"]), all);
  EXPECT_NE(trained.out.find("spmm backward"), std::string::npos) << trained.out;
  const Outcome inferred = run_weft(inferring(small, model, {"--time-by-operator", "--json", folder / "infer.json"}));
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  const nlohmann::json json = nlohmann::json::parse(text_of(folder / "infer.json"));
  const std::vector<std::string> forward{"dense products", "passes", "sparse features", "spmm"};
  EXPECT_EQ(names_of(json["result"]["operators"]), forward);
  double spent = 0;
  for (const auto& each : json["result"]["operators"]) spent += each["seconds"].get<double>();
  EXPECT_LE(spent, json["result"]["seconds"].get<double>() * 1.01);
}

TEST(infer, refuses_samples_that_make_no_sense) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
    const Outcome outcome = run_weft(inferring(small, model, more));
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
    EXPECT_EQ(count_of(outcome.err, "\n"), 1u) << outcome.err;
  };
  refused({"--sample-width", "0"}, "--sample-width is '0'");
  refused({"--sample-width", "-4"}, "--sample-width is '-4'");
  refused({"--sample", "bukket", "--sample-width", "4"}, "did you mean bucket?");
  refused({"--sample", "bucket"}, "give --sample-width as well");
  refused({"--sample-width", "4,8", "--out", folder / "x.npy"}, "give one width");
}

TEST(infer, writes_embeddings_and_probabilities) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors", csv = folder / "classes.csv", p = folder / "p.npy";
  ASSERT_EQ(run_weft(training({"--save", model, "--hidden", "5"})).status, 0);
  const Outcome outcome =
      run_weft(inferring(small, model, {"--embeddings", folder / "h.npy", "--probabilities", p, "--out", csv}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string hidden = text_of(folder / "h.npy"), shares = text_of(p);
  EXPECT_NE(hidden.find("'<f4'"), std::string::npos);
  EXPECT_NE(hidden.find("(240, 5)"), std::string::npos);
  EXPECT_NE(shares.find("(240, 3)"), std::string::npos);
  std::vector<float> values(240 * 3);
  ASSERT_GT(shares.size(), values.size() * 4);
  std::memcpy(values.data(), shares.data() + shares.size() - values.size() * 4, values.size() * 4);
  std::istringstream lines(text_of(csv));
  std::string line;
  std::getline(lines, line);
  for (std::size_t node = 0; node < 240; ++node) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(3 * node);
    EXPECT_NEAR(row[0] + row[1] + row[2], 1, 1e-6);
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(std::stof(line.substr(line.rfind(',') + 1)), *std::max_element(row, row + 3)) << line;
  }
}

TEST(infer, calls_nodes_as_their_file_does_and_needs_no_labels) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  Dataset dataset = open_dataset(small);
  for (Tensor* part : {&dataset.labels, &dataset.train, &dataset.val, &dataset.test}) *part = Tensor();
  dataset.classes = 0;
  dataset.node_ids = Tensor::empty(Shape(240), Dtype::i64, "ids");
  std::int64_t id = 5'000;
  for (std::int64_t& each : dataset.node_ids.span<std::int64_t>()) each = id++;
  write_dataset(folder / "new.weft", dataset);
  const Outcome outcome =
      run_weft(inferring(folder / "new.weft", model, {"--out", folder / "new.csv", "--json", folder / "new.json"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("no labels"), std::string::npos) << outcome.out;
  EXPECT_TRUE(json_of(folder / "new.json")["result"]["accuracy"].is_null());
  EXPECT_EQ(text_of(folder / "new.csv").rfind("node,class,score,probability\n5000,", 0), 0u);
}

TEST(infer, writes_the_names_of_nodes_as_csv_needs_them) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  Dataset dataset = open_dataset(small);
  const std::vector<std::string> first = {"ann", "a,b", "say \"hi\"", "New York", "", " x", "#1"};
  dataset.node_names.offsets = Tensor::zeros(Shape(241), Dtype::i64, "offsets");
  const auto offsets = dataset.node_names.offsets.span<std::int64_t>();
  for (std::size_t node = 0; node < 240; ++node) {
    dataset.node_names.text += node < first.size() ? first[node] : "n" + std::to_string(node);
    offsets[node + 1] = static_cast<std::int64_t>(dataset.node_names.text.size());
  }
  write_dataset(folder / "named.weft", dataset);
  const Outcome outcome = run_weft(inferring(folder / "named.weft", model, {"--out", folder / "named.csv"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(text_of(folder / "named.csv"));
  std::string line;
  std::getline(lines, line);
  for (const char* begin :
       {"ann,", "\"a,b\",", "\"say \"\"hi\"\"\",", "New York,", "\"\",", "\" x\",", "\"#1\",", "n7,"}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line.rfind(begin, 0), 0u) << line;
  }
}

TEST(infer, says_that_a_model_does_not_fit) {
  const Folder folder;
  ASSERT_EQ(run_weft(training({"--save", folder / "model"})).status, 0);
  write_text(folder / "old.csv", "old");
  const Outcome outcome = run_weft(
      inferring("citations:nodes=240,classes=3,words=61,seed=2", folder / "model", {"--out", folder / "old.csv"}));
  expect_complaint(outcome, 1, "61");
  EXPECT_EQ(text_of(folder / "old.csv"), "old");
}

}  // namespace
}  // namespace weft::test
