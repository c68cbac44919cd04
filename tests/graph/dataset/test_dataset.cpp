// Datasets in memory and in .weft files.
#include "graph/dataset/ring.hpp"
#include "graph/io/files.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

/// The ring, two graphs of two nodes by their ids.
Dataset everything() {
  Dataset data = ring();
  data.note = "made by a test";
  data.node_ids = tensor<std::int64_t>({10, 20, 30, std::int64_t{1} << 40});
  data.graph_ids = tensor<std::int32_t>({0, 0, 1, 1});
  data.graph_labels = tensor<std::int32_t>({1, 0});
  data.graph_classes = 2;
  return data;
}

template <class T>
void expect_same(const Tensor& found, const Tensor& wanted) {
  ASSERT_EQ(static_cast<bool>(found), static_cast<bool>(wanted));
  if (!wanted) return;
  EXPECT_EQ(found.shape(), wanted.shape());
  EXPECT_EQ(list(found.span<T>()), list(wanted.span<T>()));
}

TEST(datasets, come_back_whole_from_a_weft_file) {
  const TempFolder folder;
  const Dataset wanted = everything();
  write_dataset(folder / "other-name.weft", wanted);
  const Dataset found = read_dataset(folder / "other-name.weft");
  expect_same_arrays(found.graph, wanted.graph);
  expect_same<float>(found.values, wanted.values);
  EXPECT_EQ(found.name, "ring") << "the dataset's, not the file's";
  EXPECT_EQ(found.note, wanted.note);
  EXPECT_EQ(found.sparse_features.cols, 10);
  expect_same<std::int64_t>(found.sparse_features.offsets, wanted.sparse_features.offsets);
  expect_same<std::int32_t>(found.sparse_features.columns, wanted.sparse_features.columns);
  expect_same<float>(found.sparse_features.values, wanted.sparse_features.values);
  expect_same<std::int32_t>(found.labels, wanted.labels);
  EXPECT_EQ(found.classes, 3);
  expect_same<std::int32_t>(found.train, wanted.train);
  expect_same<std::int32_t>(found.val, wanted.val);
  expect_same<std::int32_t>(found.test, wanted.test);
  expect_same<std::int64_t>(found.node_ids, wanted.node_ids);
  expect_same<std::int32_t>(found.graph_ids, wanted.graph_ids);
  expect_same<std::int32_t>(found.graph_labels, wanted.graph_labels);
  EXPECT_EQ(found.graph_classes, 2);
}

TEST(datasets, with_dense_features_and_several_labels_come_back_too) {
  const TempFolder folder;
  Dataset wanted = everything();
  wanted.sparse_features = {};
  wanted.features = tensor<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Shape(4, 3));
  wanted.labels = tensor<float>({0, 1, 1, 1, 0, 0, 1, 0}, Shape(4, 2));
  wanted.classes = 2;
  write_dataset(folder / "g.weft", wanted);
  const Dataset found = read_dataset(folder / "g.weft");
  expect_same<float>(found.features, wanted.features);
  expect_same<float>(found.labels, wanted.labels);
  EXPECT_TRUE(found.multi_label());
  EXPECT_FALSE(found.sparse_features);
}

NodeNames names(std::vector<std::int64_t> offsets, std::string text) {
  return {tensor<std::int64_t>(offsets), std::move(text)};
}

TEST(datasets, whose_nodes_have_names_come_back_with_them) {
  const TempFolder folder;
  Dataset wanted;
  wanted.graph = everything().graph;
  wanted.node_names = names({0, 3, 3, 11, 13}, "annSt. \xc3\x89me\n,");
  EXPECT_TRUE(wanted.has_more_than_graph());
  write_dataset(folder / "g.weft", wanted);
  const Dataset found = read_dataset(folder / "g.weft");
  ASSERT_EQ(found.node_names.count(), 4);
  EXPECT_EQ(found.node_names.at(0), "ann");
  EXPECT_EQ(found.node_names.at(1), "");
  EXPECT_EQ(found.node_names.at(2), "St. \xc3\x89me");
  EXPECT_EQ(found.node_names.at(3), "\n,");
  EXPECT_FALSE(read_dataset(folder / "g.weft", {.graph_only = true}).node_names);
}

TEST(datasets, of_a_graph_alone_write_the_bytes_that_write_graph_writes) {
  const TempFolder folder;
  Dataset data;
  data.graph = everything().graph;
  data.name = "unsaid";
  write_dataset(folder / "data.weft", data);
  write_graph(folder / "graph.weft", data.graph);
  EXPECT_EQ(get(folder / "data.weft"), get(folder / "graph.weft"));
}

TEST(datasets, whose_parts_do_not_fit_are_not_written) {
  const TempFolder folder;
  const auto refused = [&](const std::function<void(Dataset&)>& change, const std::vector<std::string>& parts) {
    Dataset data = everything();
    change(data);
    const std::string path = folder / "g.weft";
    expect_file_error([&] { write_dataset(path, data); }, path, ErrorCode::invalid_argument, parts);
    EXPECT_TRUE(folder.names().empty());
  };
  refused([](Dataset& d) { d.features = Tensor::zeros(Shape(4, 2), Dtype::f32); }, {"features twice"});
  refused([](Dataset& d) { d.sparse_features.cols = 9; }, {"column 9", "0 to 8"});
  refused([](Dataset& d) { d.sparse_features.offsets = tensor<std::int64_t>({0, 2, 1, 3, 4}); }, {"from 2 to 1"});
  refused([](Dataset& d) { d.sparse_features.offsets = tensor<std::int64_t>({0, 2, 4}); }, {"features", "2", "4"});
  refused([](Dataset& d) { d.sparse_features.values = tensor<float>({1}); }, {"values of features", "1", "4"});
  refused([](Dataset& d) { d.train = tensor<std::int32_t>({0, 3}, Shape(2, 1)); }, {"train", "[2, 1]"});
  refused([](Dataset& d) { d.node_ids = Tensor::empty(Shape(4, 0), Dtype::i64); }, {"ids of nodes", "[4, 0]"});
  refused([](Dataset& d) { d.sparse_features.offsets = Tensor::empty(Shape(5, 0), Dtype::i64); },
          {"offsets", "[5, 0]"});
  refused([](Dataset& d) { d.classes = std::numeric_limits<std::int64_t>::min(); }, {"classes of nodes"});
  refused([](Dataset& d) { d.graph_classes = std::numeric_limits<std::int64_t>::min(); }, {"classes of graphs"});
  refused([](Dataset& d) { d.labels = tensor<std::int32_t>({0, 1, 2}); }, {"labels", "3", "4"});
  refused([](Dataset& d) { d.classes = 1; }, {"label of node 1 is 1", "-1 to 0"});
  refused([](Dataset& d) { d.labels = Tensor::zeros(Shape(4), Dtype::f64); }, {"labels", "f64", "i32"});
  refused([](Dataset& d) { d.labels = Tensor::zeros(Shape(4, 2), Dtype::f32); }, {"2 columns", "3 classes"});
  refused([](Dataset& d) { d.val = tensor<std::int32_t>({4}); }, {"val", "is 4", "0 to 3"});
  refused([](Dataset& d) { d.test = tensor<std::int32_t>({2, 1}); }, {"node 1", "twice", "test"});
  refused([](Dataset& d) { d.node_ids = tensor<std::int64_t>({1}); }, {"ids of nodes", "1", "4"});
  refused([](Dataset& d) { d.node_names = names({0, 0, 0, 0, 0}, ""); }, {"ids and names"});
  const auto refused_names = [&](NodeNames wrong, const std::vector<std::string>& parts) {
    refused(
        [&](Dataset& d) {
          d.node_ids = {};
          d.node_names = std::move(wrong);
        },
        parts);
  };
  refused_names(names({0, 1}, "a"), {"names", "1 nodes", "each of 4"});
  refused_names(names({0, 1, 2, 3, 4}, "abc"), {"0 to 4", "0 to 3"});
  refused_names(names({0, 2, 1, 3, 3}, "abc"), {"fall from 2 to 1 at node 1"});
  refused_names({Tensor::zeros(Shape(5), Dtype::i32), ""}, {"offsets of names", "i32", "i64"});
  refused([](Dataset& d) { d.graph_ids = tensor<std::int32_t>({0, 1, 0, 1}); }, {"node 2", "graph 0", "graph 1"});
  refused([](Dataset& d) { d.graph_ids = tensor<std::int32_t>({0, 1, 2, 2}); }, {"graph 2", "2 graphs"});
  refused([](Dataset& d) { d.graph_labels = tensor<std::int32_t>({1, 2}); }, {"label of graph 1 is 2"});
  refused(
      [](Dataset& d) {
        d.graph = Graph::from_edges({.num_sources = 5, .num_destinations = 4},
                                    {.sources = std::vector<NodeId>{0}, .destinations = std::vector<NodeId>{1}});
        d.values = {};
      },
      {"4 destinations", "5 sources"});
}

TEST(sparse_rows, become_dense_in_any_type) {
  const Dataset data = everything();
  const Tensor dense = data.sparse_features.dense();
  EXPECT_EQ(dense.shape(), Shape(4, 10));
  const auto values = dense.span<float>();
  EXPECT_EQ(values[1], 0.25f);
  EXPECT_EQ(values[9], 2);
  EXPECT_EQ(values[20], 3);
  EXPECT_EQ(values[35], 4);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), 36);
  SparseRows ones;
  ones.cols = 2;
  ones.offsets = tensor<std::int64_t>({0, 1});
  ones.columns = tensor<std::int32_t>({1});
  const Tensor wide = ones.dense(Dtype::f64);
  EXPECT_EQ(list(wide.span<double>()), (std::vector<double>{0, 1}));
}

TEST(homophily_of, counts_edges_between_nodes_of_known_classes) {
  Dataset data = everything();  // 0 -> 1 -> 2 -> 3 -> 0 with classes 0, 1, none, 1
  EXPECT_EQ(homophily(data), 0.0);
  data.labels = tensor<std::int32_t>({1, 1, -1, 0});
  EXPECT_EQ(homophily(data), 0.5);
  data.labels = tensor<std::int32_t>({-1, 1, -1, 0});
  EXPECT_EQ(homophily(data), -1);
  data.labels = {};
  EXPECT_EQ(homophily(data), -1);
}

}  // namespace
}  // namespace weft::test
