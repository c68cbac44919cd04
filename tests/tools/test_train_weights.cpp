// train and infer on data whose edges have weights: what they say, and what they refuse.
#include "command_runner.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

const std::string small = "citations:nodes=240,classes=3,words=60,seed=2";

/// The small dataset with edge values first, first + step, ... up to five of them in turns, as a file.
std::string weighted_file(const Folder& folder, const std::string& name, float first, float step) {
  Dataset dataset = open_dataset(small);
  dataset.values = Tensor::empty(Shape(dataset.graph.num_edges()), Dtype::f32);
  float next = 0;
  for (float& value : dataset.values.span<float>()) {
    value = first + next * step;
    next = next < 4 ? next + 1 : 0;
  }
  write_dataset(folder / name, dataset);
  return folder / name;
}

Outcome train_on(const std::string& data, const std::vector<std::string>& more, const std::string& model = "gcn") {
  std::vector<std::string> all{"train", "--data", data, "--model", model, "--epochs", "4", "--device", "cpu"};
  all.insert(all.end(), more.begin(), more.end());
  return run_weft(all);
}

std::vector<double> losses_in(const std::string& path) {
  const nlohmann::json run = nlohmann::json::parse(text_of(path));
  std::vector<double> losses;
  for (const auto& epoch : run["epochs"]) losses.push_back(epoch["loss"]);
  EXPECT_EQ(losses.size(), 4u) << path;
  return losses;
}

void expect_part(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
}

TEST(train_weights, are_used_and_said_to_be) {
  const Folder folder;
  const std::string data = weighted_file(folder, "data.weft", 0.5f, 0.25f);
  const Outcome used = train_on(data, {"--json", folder / "used.json", "--report", folder / "used.html"});
  expect_part(used, "\nweights  edge values are used (f32, 0.5 to 1.5)\n");
  expect_part(used, ", edge weights, self-loops");
  EXPECT_NE(text_of(folder / "used.html").find("edge values are used"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(text_of(folder / "used.json"))["model"]["edge_weights"]);
  const Outcome ignored = train_on(data, {"--ignore-weights", "--json", folder / "ignored.json"});
  expect_part(ignored, "\nweights  edge values are ignored (f32, 0.5 to 1.5)\n");
  const nlohmann::json run = nlohmann::json::parse(text_of(folder / "ignored.json"));
  EXPECT_FALSE(run["model"]["edge_weights"]);
  EXPECT_TRUE(run["options"]["ignore_weights"]);
  EXPECT_NE(run["command"].get<std::string>().find(" --ignore-weights"), std::string::npos);
  const Outcome none = train_on(small, {"--json", folder / "none.json"});
  EXPECT_EQ(none.out.find("weights  "), std::string::npos) << none.out;
  EXPECT_EQ(losses_in(folder / "ignored.json"), losses_in(folder / "none.json"));
  EXPECT_NE(losses_in(folder / "used.json"), losses_in(folder / "none.json"));
}

TEST(train_weights, that_are_all_1_train_as_none_do) {
  const Folder folder;
  const std::string data = weighted_file(folder, "ones.weft", 1, 0);
  expect_part(train_on(data, {"--json", folder / "ones.json"}), "weights  edge values are all 1");
  expect_part(train_on(small, {"--json", folder / "none.json"}), "best epoch");
  EXPECT_EQ(losses_in(folder / "ones.json"), losses_in(folder / "none.json"));
  expect_part(train_on(data, {}, "gat"), "best epoch");
}

TEST(train_weights, are_refused_by_attention_in_one_line) {
  const Folder folder;
  const std::string data = weighted_file(folder, "data.weft", 0.5f, 0.25f);
  for (const std::string model : {"gat", "gatv2"}) {
    expect_complaint(train_on(data, {}, model), 1, model + " has no use for them");
    expect_complaint(train_on(data, {}, model), 1, "--ignore-weights");
    expect_part(train_on(data, {"--ignore-weights"}, model), "edge values are ignored");
  }
}

TEST(infer_weights, follow_what_the_model_was_trained_with) {
  const Folder folder;
  const std::string data = weighted_file(folder, "data.weft", 0.5f, 0.25f);
  const std::string with = folder / "with.safetensors", without = folder / "without.safetensors";
  expect_part(train_on(data, {"--save", with}), "wrote");
  expect_part(train_on(data, {"--save", without, "--ignore-weights"}), "wrote");
  const auto infer_on = [](const std::string& on, const std::string& model, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"infer", "--data", on, "--load", model, "--device", "cpu"};
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(all);
  };
  expect_part(infer_on(data, with), "\nweights  edge values are used (f32, 0.5 to 1.5)\n");
  expect_part(infer_on(small, with), "weights  the model was trained with edge weights, the data has none");
  expect_part(infer_on(data, without),
              "weights  edge values are not used (f32, 0.5 to 1.5): the model was trained without\n");
  EXPECT_EQ(infer_on(small, without).out.find("weights  "), std::string::npos);
  expect_part(infer_on(data, with, {"--ignore-weights", "--scores", folder / "ignored.npy"}),
              "weights  edge values are ignored");
  expect_part(infer_on(small, with, {"--scores", folder / "plain.npy"}), "wrote");
  expect_part(infer_on(data, with, {"--scores", folder / "used.npy"}), "wrote");
  EXPECT_EQ(text_of(folder / "ignored.npy"), text_of(folder / "plain.npy"));
  EXPECT_NE(text_of(folder / "used.npy"), text_of(folder / "plain.npy"));
}

}  // namespace
}  // namespace weft::test
