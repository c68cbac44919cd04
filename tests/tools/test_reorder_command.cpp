// weft reorder, and --reorder of train and infer.
#include "training_command.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

TEST(reorder, writes_the_same_graph_with_its_communities_side_by_side) {
  const Folder folder;
  const std::string out = folder / "karate.weft";
  const Outcome outcome = run_weft({"reorder", "karate", "-o", out, "--device", "cpu", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["method"], "louvain");
  EXPECT_EQ(json["communities"], 4);
  EXPECT_NEAR(json["modularity"].get<double>(), 0.4198, 1e-4);
  EXPECT_EQ(json["levels"].back()["communities"], 4);
  const Dataset before = open_dataset("karate"), after = read_dataset(out);
  EXPECT_EQ(after.graph.num_edges(), before.graph.num_edges());
  ASSERT_TRUE(after.original);
  const auto old_of = after.original.span<std::int32_t>();
  for (std::size_t v = 0; v < old_of.size(); ++v)
    EXPECT_EQ(after.labels.span<std::int32_t>()[v],
              before.labels.span<std::int32_t>()[static_cast<std::size_t>(old_of[v])]);
  EXPECT_GT(json["intensity_after"].get<double>(), 0);
}

TEST(reorder, says_what_it_did) {
  const Folder folder;
  const Outcome outcome = run_weft({"reorder", "karate", "-o", folder / "k.mtx", "--device", "cpu"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"read     karate", "level 1", "order    louvain: 4 communities, modularity 0.4198",
                                 "windows  of 16 rows", "left out", "original numbers", "wrote"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
}

TEST(reorder, knows_all_methods) {
  const Folder folder;
  for (const std::string method : {"loa", "degree"}) {
    const Outcome outcome =
        run_weft({"reorder", "karate", "-o", folder / "k.weft", "--method", method, "--device", "cpu", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["method"], method);
    EXPECT_TRUE(outcome.json()["modularity"].is_null());
  }
}

TEST(reorder, refuses_with_one_line) {
  const Folder folder;
  const auto refused = [&](std::vector<std::string> arguments, int status, const std::string& word) {
    arguments.insert(arguments.begin(), "reorder");
    const Outcome outcome = run_weft(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "x.weft"));
  };
  refused({"karate", "-o", folder / "x.weft", "--method", "louvian"}, 2, "did you mean louvain");
  refused({"karate", "-o", folder / "x.weft", "--method", "loa", "--range", "100"}, 2, "--range");
  refused({"karate", "-o", folder / "x.weft", "--window", "0"}, 2, "--window");
  refused({"karate", "-o", folder / "x.png"}, 2, ".png");
  refused({"karate"}, 2, "--out");
  write_text(folder / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n");
  refused({folder / "wide.mtx", "-o", folder / "x.weft"}, 1, "2 x 3");
}

TEST(reorder, of_infer_writes_predictions_by_the_numbers_of_the_data) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  ASSERT_EQ(run_weft(training({"--save", model})).status, 0);
  const std::vector<std::string> plain{"--out", folder / "plain.npy"};
  ASSERT_EQ(run_weft(inferring(small, model, plain)).status, 0);
  for (const std::string method : {"louvain", "loa", "degree"}) {
    const Outcome outcome = run_weft(inferring(small, model, {"--out", folder / "ordered.npy", "--reorder", method}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("order    " + method), std::string::npos) << outcome.out;
    EXPECT_EQ(text_of(folder / "ordered.npy"), text_of(folder / "plain.npy")) << method;
  }
  ASSERT_EQ(run_weft(inferring(small, model, {"--out", folder / "ordered.csv", "--reorder", "louvain"})).status, 0);
  EXPECT_NE(text_of(folder / "ordered.csv").find("\n0,"), std::string::npos);
  EXPECT_LT(text_of(folder / "ordered.csv").find("\n0,"), text_of(folder / "ordered.csv").find("\n1,"));
}

TEST(reorder, of_train_makes_a_model_for_the_data_as_it_is) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  const Outcome trained =
      run_weft(training({"--save", model, "--reorder", "louvain", "--json", folder / "train.json"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.out.find("order    louvain: "), std::string::npos) << trained.out;
  const nlohmann::json json = nlohmann::json::parse(text_of(folder / "train.json"));
  const Outcome inferred = run_weft(inferring(small, model, {"--json", folder / "infer.json"}));
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  EXPECT_NEAR(nlohmann::json::parse(text_of(folder / "infer.json"))["result"]["test_accuracy"].get<double>(),
              json["result"]["test_accuracy"].get<double>(), 0.02);
  EXPECT_EQ(run_weft(training({"--reorder", "nothing"})).status, 2);
}

TEST(reorder, of_train_still_knows_nodes_with_identity_features) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  const std::vector<std::string> identity{"--features", "identity"};
  ASSERT_EQ(run_weft(training({"--save", model, "--reorder", "louvain", "--features", "identity"})).status, 0);
  const Outcome inferred = run_weft(inferring(small, model, identity));
  ASSERT_EQ(inferred.status, 0) << inferred.err;
  EXPECT_EQ(inferred.out.find("predictions mean nothing"), std::string::npos) << inferred.out;
}

}  // namespace
}  // namespace weft::test
