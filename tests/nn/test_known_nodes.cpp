// Models that were trained on identity features, and nodes that are not those they know.
#include "nn/known_nodes.hpp"

#include <gtest/gtest.h>

#include "graph/dataset/tensor_of.hpp"
#include "graph/io/files.hpp"
#include "nn/safetensors.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class known_nodes : public ::testing::Test {
 protected:
  known_nodes() {
    data_ = open_dataset("karate");
    attach(data_, {.features = "identity"});
  }
  Model trained() {
    ModelSpec spec;
    spec.inputs = data_.num_features();
    spec.classes = data_.classes;
    TrainOptions options;
    options.epochs = 2;
    return train(context_, data_, make_model(spec, 1), options).model;
  }
  void name_nodes(const std::string& first) {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < data_.num_nodes(); ++i) names.push_back(i == 0 ? first : "n" + std::to_string(i));
    data_.node_names = io::names_of(names);
  }
  /// All edges in the other order, and `loops` of the first node to itself.
  void list_edges_backwards(int loops) {
    std::vector<NodeId> rows(static_cast<std::size_t>(loops)), cols(rows);
    const GraphView view = data_.graph.host_view();
    for (std::int64_t v = view.num_rows - 1; v >= 0; --v)
      for (std::int64_t k = view.offsets[v + 1] - 1; k >= view.offsets[v]; --k) {
        rows.push_back(static_cast<NodeId>(v));
        cols.push_back(view.cols[k]);
      }
    data_.graph = Graph::from_edges({.num_sources = view.num_cols, .num_destinations = view.num_rows},
                                    {.sources = cols, .destinations = rows});
  }

  TempFolder folder_;
  Context context_ = Context::cpu(1);
  Dataset data_;
};

TEST_F(known_nodes, are_those_of_identity_features_alone) {
  EXPECT_TRUE(nn::known_nodes_of(data_).has_value());
  attach(data_, {.features = "degree"});
  EXPECT_FALSE(nn::known_nodes_of(data_).has_value());
  EXPECT_FALSE(trained().known_nodes.has_value());
  attach(data_, {.features = "identity"});
  std::swap(data_.sparse_features.columns.span<std::int32_t>()[0],
            data_.sparse_features.columns.span<std::int32_t>()[1]);
  EXPECT_FALSE(nn::known_nodes_of(data_).has_value());
}

TEST_F(known_nodes, come_back_with_the_model) {
  const Model model = trained();
  ASSERT_TRUE(model.known_nodes.has_value());
  EXPECT_EQ(model.clone().known_nodes, model.known_nodes);
  save_model(folder_ / "m", model);
  EXPECT_EQ(load_model(folder_ / "m").known_nodes, model.known_nodes);
  nn::TensorFile file = nn::read_tensors(folder_ / "m");
  file.metadata["weft.known_nodes"] = "names=\x1b";
  nn::write_tensors(folder_ / "m", file);
  expect_file_error([&] { load_model(folder_ / "m"); }, folder_ / "m", ErrorCode::invalid_file,
                    {"fingerprint of nodes", "'names=\\x1b'"});
}

TEST_F(known_nodes, of_another_graph_without_names_get_a_note) {
  const Model model = trained();
  EXPECT_EQ(nn::check_known_nodes(data_, model), "");
  list_edges_backwards(0);
  EXPECT_EQ(nn::check_known_nodes(data_, model), "") << "the same edges in another order";
  list_edges_backwards(1);
  EXPECT_NE(nn::check_known_nodes(data_, model).find("this graph has other edges"), std::string::npos);
  EXPECT_NO_THROW(infer(context_, data_, model));
}

TEST_F(known_nodes, of_the_same_names_may_have_other_edges) {
  name_nodes("ann");
  const Model model = trained();
  list_edges_backwards(1);
  EXPECT_EQ(nn::check_known_nodes(data_, model), "");
  data_.node_names = {};
  EXPECT_NE(nn::check_known_nodes(data_, model), "") << "nothing tells whether they are the same";
}

TEST_F(known_nodes, of_other_names_or_ids_are_refused) {
  name_nodes("ann");
  const Model model = trained();
  name_nodes("bob");
  expect_refused([&] { infer(context_, data_, model); }, "knows its nodes one by one");
  data_.node_names = {};
  data_.node_ids = Tensor::zeros(Shape(data_.num_nodes()), Dtype::i64, "ids");
  expect_refused([&] { infer(context_, data_, model); }, "other names or ids");
}

TEST_F(known_nodes, of_ids_get_a_note_where_the_others_have_none) {
  const Model model = trained();  // nodes 0, 1, 2, ...
  data_.node_ids = Tensor::zeros(Shape(data_.num_nodes()), Dtype::i64, "ids");
  for (std::int64_t i = 0; i < data_.num_nodes(); ++i)
    data_.node_ids.span<std::int64_t>()[static_cast<std::size_t>(i)] = i + 1;
  EXPECT_NE(nn::check_known_nodes(data_, model).find("only one of the model's and the data's nodes have names or ids"),
            std::string::npos);
}

TEST_F(known_nodes, of_other_names_do_not_go_on_from_a_checkpoint) {
  ModelSpec spec;
  spec.inputs = data_.num_features();
  spec.classes = data_.classes;
  TrainOptions options;
  options.epochs = 2;
  options.checkpoint = folder_ / "checkpoint";
  options.checkpoint_every = 2;
  name_nodes("ann");
  train(context_, data_, make_model(spec, 1), options);
  options.resume = true;
  options.epochs = 4;
  EXPECT_NO_THROW(train(context_, data_, make_model(spec, 1), options));
  name_nodes("bob");
  expect_refused([&] { train(context_, data_, make_model(spec, 1), options); }, "other names or ids");
}

TEST_F(known_nodes, with_other_features_get_a_note) {
  const Model model = trained();
  data_.features = data_.sparse_features.dense();
  data_.features.span<float>()[0] = 0.5f;
  data_.sparse_features = {};
  EXPECT_NE(nn::check_known_nodes(data_, model).find("the data has other features"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
