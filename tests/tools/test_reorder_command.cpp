// weft reorder, and --reorder of train and infer.
#include <sstream>

#include "training_command.hpp"
#include "weft/reorder.hpp"

namespace weft::test {
namespace {

TEST(reorder, writes_the_same_graph_with_its_communities_side_by_side) {
  const Folder folder;
  const std::string out = folder / "karate.weft";
  const Outcome outcome = run_weft({"reorder", "karate", "-o", out, "--device", "cpu", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json json = outcome.json();
  const nlohmann::json& order = json["order"];
  EXPECT_EQ(order["method"], "louvain");
  EXPECT_EQ(order["device"], "cpu");
  EXPECT_EQ(order["communities"], 4);
  EXPECT_NEAR(order["modularity"].get<double>(), 0.4198, 1e-4);
  EXPECT_EQ(order["levels"].back()["communities"], 4);
  const Dataset before = open_dataset("karate"), after = read_dataset(out);
  EXPECT_EQ(after.graph.num_edges(), before.graph.num_edges());
  ASSERT_TRUE(after.original);
  const auto old_of = after.original.span<std::int32_t>();
  for (std::size_t v = 0; v < old_of.size(); ++v)
    EXPECT_EQ(after.labels.span<std::int32_t>()[v],
              before.labels.span<std::int32_t>()[static_cast<std::size_t>(old_of[v])]);
  EXPECT_DOUBLE_EQ(json["intensity_before"].get<double>(), window_intensity(before.graph));
  EXPECT_DOUBLE_EQ(json["intensity_after"].get<double>(), window_intensity(after.graph));
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
    EXPECT_EQ(outcome.json()["order"]["method"], method);
    EXPECT_TRUE(outcome.json()["order"]["modularity"].is_null());
  }
}

TEST(reorder, takes_windows_of_any_size) {
  const Folder folder;
  for (const std::string method : {"louvain", "loa"}) {
    const Outcome outcome = run_weft({"reorder", "karate", "-o", folder / "k.weft", "--method", method, "--window",
                                      "10", "--device", "cpu", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["window"], 10);
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
  refused({"karate", "-o", folder / "x.weft", "--look-ahead", "20"}, 2, "--look-ahead is of --method loa");
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

TEST(reorder, of_infer_keeps_the_scores_of_nodes_in_a_collection) {
  // Two rings of unequal size, told apart by their features; the order by degree would mix them.
  const Folder folder;
  Dataset data;
  std::vector<NodeId> from, to;
  const auto ring = [&](NodeId first, NodeId size) {
    for (NodeId i = 0; i < size; ++i) {
      from.push_back(first + i);
      to.push_back(first + (i + 1) % size);
    }
  };
  ring(0, 20);
  ring(20, 12);
  for (NodeId i = 21; i < 30; ++i) {  // spokes, so that degrees differ
    from.push_back(i);
    to.push_back(20);
  }
  data.graph = Graph::from_edges(32, {.sources = from, .destinations = to});
  data.features = Tensor::empty(Shape(32, 4), Dtype::f32);
  for (std::size_t i = 0; i < 128; ++i) data.features.span<float>()[i] = static_cast<float>((i * 37) % 23) / 23;
  data.labels = Tensor::empty(Shape(32), Dtype::i32);
  data.train = Tensor::empty(Shape(32), Dtype::i32);
  data.graph_ids = Tensor::empty(Shape(32), Dtype::i32);
  for (std::size_t i = 0; i < 32; ++i) {
    data.labels.span<std::int32_t>()[i] = static_cast<std::int32_t>(i % 2);
    data.train.span<std::int32_t>()[i] = static_cast<std::int32_t>(i);
    data.graph_ids.span<std::int32_t>()[i] = i < 20 ? 0 : 1;
  }
  data.classes = 2;
  const std::string path = folder / "rings.weft", model = folder / "gcn.safetensors";
  write_dataset(path, data);
  ASSERT_EQ(run_weft(training({"--save", model}, path)).status, 0);
  const auto rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"--out", folder / "x.csv"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(run_weft(inferring(path, model, all)).status, 0);
    std::istringstream text(text_of(folder / "x.csv"));
    std::vector<std::pair<std::string, double>> scores;  // node and class, score
    std::string line;
    std::getline(text, line);
    while (std::getline(text, line)) {
      const std::size_t second = line.find(',', line.find(',') + 1);
      scores.emplace_back(line.substr(0, second), std::stod(line.substr(second + 1)));
    }
    return scores;
  };
  const auto plain = rows({});
  ASSERT_EQ(plain.size(), 32u);
  for (const std::string method : {"degree", "louvain"}) {
    const auto ordered = rows({"--reorder", method});
    ASSERT_EQ(ordered.size(), plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(ordered[i].first, plain[i].first) << method;
      EXPECT_NEAR(ordered[i].second, plain[i].second, 1e-5) << method;
    }
  }
}

TEST(reorder, of_train_goes_on_from_a_checkpoint_of_the_same_order_alone) {
  const Folder folder;
  const std::string checkpoint = folder / "c.safetensors";
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--checkpoint", checkpoint, "--checkpoint-every", "2", "--resume"});
    return run_weft(training(more));
  };
  ASSERT_EQ(run({"--reorder", "louvain"}).status, 0);
  const Outcome other = run({});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("nodes in another order"), std::string::npos) << other.err;
  EXPECT_EQ(run({"--reorder", "louvain"}).status, 0);
}

TEST(reorder, leaves_data_that_files_of_nodes_can_still_be_given_to) {
  const Folder folder;
  write_text(folder / "e.txt", "0 1\n1 2\n2 3\n");
  ASSERT_EQ(run_weft({"reorder", folder / "e.txt", "-o", folder / "x.weft", "--device", "cpu"}).status, 0);
  std::string features = "node,a,b\n", labels = "node,label\n";
  for (int i = 0; i < 300; ++i) {
    features += std::to_string(i) + ",1,2\n";
    labels += std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  }
  write_text(folder / "f.csv", features);
  write_text(folder / "l.csv", labels);
  const Outcome outcome = run_weft(training(
      {"--features", folder / "f.csv", "--labels", folder / "l.csv", "--split", "random", "--reorder", "louvain"},
      folder / "x.weft"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(reorder, of_train_makes_a_model_for_the_data_as_it_is) {
  const Folder folder;
  const std::string model = folder / "gcn.safetensors";
  const Outcome trained =
      run_weft(training({"--save", model, "--reorder", "louvain", "--json", folder / "train.json"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.out.find("order    louvain: "), std::string::npos) << trained.out;
  const nlohmann::json json = nlohmann::json::parse(text_of(folder / "train.json"));
  EXPECT_EQ(json["order"]["method"], "louvain");
  EXPECT_GT(json["order"]["communities"].get<int>(), 1);
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
