// Names of classes and nodes, from somebody's labels through a model to what infer, info and the report show.
#include <fmt/format.h>

#include "class_titles.hpp"
#include "command_runner.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "markup.hpp"

namespace weft::test {
namespace {

/// Two groups of people who mostly know their own; person i is of the first where i is even.
std::string person(int i) { return fmt::format("p{}", i); }
std::string team(int i) { return i % 2 == 0 ? "Reds" : "Blues"; }

class class_names : public ::testing::Test {
 protected:
  class_names() {
    std::string edges = "source,target\n", labels = "node,label\n";
    for (int i = 0; i < people; ++i) {
      for (const int step : {2, 6, 14}) edges += fmt::format("{},{}\n", person(i), person((i + step) % people));
      labels += fmt::format("{},{}\n", person(i), team(i));
    }
    write_text(edges_, edges);
    write_text(folder_ / "labels.csv", labels);
    std::vector<std::string> train = {"train",
                                      "--data",
                                      edges_,
                                      "--labels",
                                      folder_ / "labels.csv",
                                      "--split",
                                      "random",
                                      "--model",
                                      "gcn",
                                      "--epochs",
                                      "60",
                                      "--quiet",
                                      "--device",
                                      "cpu",
                                      "--report",
                                      folder_ / "run.html",
                                      "--save",
                                      model_};
    train.insert(train.end(), {"--features", "identity"});
    trained_ = run_weft(train);
  }
  Outcome infer(const std::vector<std::string>& more) {
    std::vector<std::string> all{"infer",  "--data", edges_,     "--features", "identity",
                                 "--load", model_,   "--device", "cpu"};
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(all);
  }
  /// Predictions of the right name.
  int right_in(const std::string& path) {
    const std::string text = text_of(path);
    int right = 0;
    for (int i = 0; i < people; ++i) right += text.find(fmt::format("\n{},{},", person(i), team(i))) != text.npos;
    return right;
  }

  static constexpr int people = 40;
  Folder folder_;
  std::string edges_ = folder_ / "edges.csv", model_ = folder_ / "m.safetensors";
  Outcome trained_;
};

TEST_F(class_names, of_the_model_are_written_where_the_data_has_no_labels) {
  ASSERT_EQ(trained_.status, 0) << trained_.err;
  const Outcome outcome = infer({"--out", folder_ / "p.csv", "--json", folder_ / "p.json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GE(right_in(folder_ / "p.csv"), 36);
  EXPECT_NE(outcome.out.find("\n  Blues "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n   Reds "), std::string::npos) << outcome.out;
  const auto json = nlohmann::json::parse(text_of(folder_ / "p.json"));
  EXPECT_EQ(json["result"]["class_names"], (std::vector<std::string>{"Blues", "Reds"}));
}

TEST_F(class_names, match_labels_that_number_them_otherwise) {
  ASSERT_EQ(trained_.status, 0) << trained_.err;
  std::string reds = "node,label\n";  // of these alone, Reds are class 0
  for (int i = 0; i < people; i += 2) reds += fmt::format("{},Reds\n", person(i));
  write_text(folder_ / "reds.csv", reds);
  const Outcome outcome =
      infer({"--labels", folder_ / "reds.csv", "--out", folder_ / "p.csv", "--json", folder_ / "p.json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("note     the data's classes are matched with the model's by name"), std::string::npos)
      << outcome.out;
  EXPECT_GE(nlohmann::json::parse(text_of(folder_ / "p.json"))["result"]["accuracy"], 0.9);
  EXPECT_GE(right_in(folder_ / "p.csv"), 36);
}

TEST_F(class_names, that_the_model_does_not_know_are_refused_before_anything_is_written) {
  ASSERT_EQ(trained_.status, 0) << trained_.err;
  write_text(folder_ / "other.csv", "node,label\np0,Reds\np1,Greens\np2,Yellows\n");
  expect_complaint(infer({"--labels", folder_ / "other.csv", "--out", folder_ / "p.csv"}), 1,
                   "class 'Greens' is none of the model's 2 ('Blues', 'Reds')");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p.csv"));
}

TEST_F(class_names, head_the_confusion_matrix_of_the_report) {
  ASSERT_EQ(trained_.status, 0) << trained_.err;
  const std::string page = text_of(folder_ / "run.html");
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_NE(page.find("<th>label</th><th>Blues</th><th>Reds</th>"), std::string::npos);
  EXPECT_NE(page.find("<tr><th>Reds</th>"), std::string::npos);
}

TEST_F(class_names, stand_in_what_info_says_of_a_dataset) {
  ASSERT_EQ(run_weft({"convert", edges_, folder_ / "g.weft", "--labels", folder_ / "labels.csv"}).status, 0);
  const Outcome text = run_weft({"info", folder_ / "g.weft"}), json = run_weft({"info", folder_ / "g.weft", "--json"});
  EXPECT_NE(text.out.find("classes         2 (0 = Blues, 1 = Reds)\n"), std::string::npos) << text.out;
  EXPECT_EQ(json.json()["dataset"]["class_names"], (std::vector<std::string>{"Blues", "Reds"}));
  EXPECT_TRUE(run_weft({"info", "karate", "--json"}).json()["dataset"]["class_names"].empty());
}

TEST(class_titles, are_short_and_tell_a_terminal_nothing) {
  const NodeNames names = io::names_of(std::vector<std::string>{"a\x1b[2J", std::string(500, 'x'), "c"});
  EXPECT_EQ(tool::class_title(names, 0), "a?[2J");
  EXPECT_EQ(tool::class_title(names, 1), std::string(29, 'x') + "...");
  EXPECT_EQ(tool::class_title({}, 7), "7");
  EXPECT_EQ(tool::class_list(names), "0 = a?[2J, 1 = " + std::string(29, 'x') + "..., 2 = c");
  EXPECT_EQ(tool::class_list({}), "");
}

TEST_F(class_names, of_nodes_in_another_order_are_refused_by_a_model_of_identity_features) {
  ASSERT_EQ(trained_.status, 0) << trained_.err;
  const std::string edges = text_of(edges_);
  write_text(edges_, edges + "p0,p1\n");  // an edge more, and the same nodes
  const Outcome grown = infer({});
  EXPECT_EQ(grown.status, 0) << grown.err;
  EXPECT_EQ(grown.out.find("one by one"), std::string::npos) << grown.out;
  write_text(edges_, "source,target\np39,p0\n" + edges.substr(edges.find('\n') + 1));
  expect_complaint(infer({}), 1, "knows its nodes one by one; the data's nodes have other names or ids");
}

TEST(identity_features, of_a_graph_of_as_many_nodes_without_names_get_a_note) {
  const Folder folder;
  ASSERT_EQ(run_weft({"train", "--data", "karate", "--features", "identity", "--model", "gcn", "--epochs", "3",
                      "--device", "cpu", "--save", folder / "m", "--quiet"})
                .status,
            0);
  const std::string note = "note     the model was trained on identity features";
  std::string ring = "source,target\n";
  for (int i = 0; i < 34; ++i) ring += fmt::format("{},{}\n", i, (i + 1) % 34);
  write_text(folder / "ring.csv", ring);
  for (const std::string& data : {std::string("karate"), folder / "ring.csv"}) {
    const Outcome outcome =
        run_weft({"infer", "--data", data, "--features", "identity", "--load", folder / "m", "--device", "cpu"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find(note) != std::string::npos, data != "karate") << outcome.out;
  }
}

}  // namespace
}  // namespace weft::test
