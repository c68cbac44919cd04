// Datasets in one .npz.
#include "graph/dataset/npz_case.hpp"
#include "graph/io/archives.hpp"
#include "weft/context.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

class npz_datasets : public NpzCase {
 protected:
  // 0 -> 1, 0 -> 2, 2 -> 1; words {0: 0 and 3, 1: none, 2: 1}.
  npz_datasets() {
    members_ = {{"adj_indptr", npy<std::int32_t>("<i4", {0, 2, 2, 3})},
                {"adj_indices", npy<std::int32_t>("<i4", {1, 2, 1})},
                {"adj_data", npy<float>("<f4", {1, 1, 1})},
                {"adj_shape", npy<std::int64_t>("<i8", {3, 3})},
                {"attr_indptr", npy<std::int32_t>("<i4", {0, 2, 2, 3})},
                {"attr_indices", npy<std::int32_t>("<i4", {3, 0, 1})},
                {"attr_data", npy<float>("<f4", {1, 1, 1})},
                {"attr_shape", npy<std::int64_t>("<i8", {3, 5})},
                {"labels", npy<std::int8_t>("|i1", {1, 0, 2})},
                {"train_idx", npy<std::int32_t>("<i4", {2})},
                {"val_idx", npy<std::int32_t>("<i4", {0})},
                {"test_idx", npy<std::int32_t>("<i4", {1})}};
  }
};

TEST_F(npz_datasets, have_graph_features_labels_and_splits) {
  const Dataset data = read();
  EXPECT_EQ(data.format, "npz dataset");
  EXPECT_EQ(data.name, "tiny");
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 0, 2, 3}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{0, 2, 0}));
  EXPECT_FALSE(data.values) << "ones are no values";
  EXPECT_EQ(data.num_features(), 5);
  EXPECT_EQ(list(data.sparse_features.offsets.span<std::int64_t>()), (std::vector<std::int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(list(data.sparse_features.columns.span<std::int32_t>()), (std::vector<std::int32_t>{0, 3, 1}));
  EXPECT_FALSE(data.sparse_features.values);
  EXPECT_EQ(list(data.labels.span<std::int32_t>()), (std::vector<std::int32_t>{1, 0, 2}));
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(list(data.train.span<std::int32_t>()), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(list(data.val.span<std::int32_t>()), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(list(data.test.span<std::int32_t>()), (std::vector<std::int32_t>{1}));
}

TEST_F(npz_datasets, are_graphs_alone_for_those_who_want_no_more) {
  put_npz(file_, members_);
  const GraphFile file = read_graph(file_);
  EXPECT_EQ(file.graph.num_edges(), 3);
  ReadOptions options;
  options.graph_only = true;
  EXPECT_FALSE(read_dataset(file_, options).has_more_than_graph());
}

TEST_F(npz_datasets, keep_values_other_than_1_sort_features_and_leave_their_zeros_out) {
  members_["adj_data"] = npy<double>("<f8", {1, 2, 0.5});
  members_["attr_data"] = npy<float>("<f4", {7, 0, 2});
  const Dataset data = read();
  EXPECT_EQ(list(data.values.span<float>()), (std::vector<float>{1, 2, 0.5}));
  EXPECT_EQ(list(data.sparse_features.offsets.span<std::int64_t>()), (std::vector<std::int64_t>{0, 1, 1, 2}));
  EXPECT_EQ(list(data.sparse_features.columns.span<std::int32_t>()), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(list(data.sparse_features.values.span<float>()), (std::vector<float>{7, 2}));
}

TEST_F(npz_datasets, may_have_dense_features_and_several_labels_a_node) {
  for (const char* key : {"attr_indptr", "attr_indices", "attr_data", "attr_shape", "labels"}) members_.erase(key);
  members_["attr_matrix"] = io::make_npy_header("<f8", {3, 2}) + raw<double>({1, 2, 3, 4, 5, 6});
  members_["labels_indptr"] = npy<std::int32_t>("<i4", {0, 2, 2, 3});
  members_["labels_indices"] = npy<std::int32_t>("<i4", {0, 1, 1});
  members_["labels_shape"] = npy<std::int64_t>("<i8", {3, 2});
  const Dataset data = read();
  EXPECT_EQ(data.features.shape(), Shape(3, 2));
  EXPECT_EQ(list(data.features.span<float>()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(data.multi_label());
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(list(data.labels.span<float>()), (std::vector<float>{1, 1, 0, 0, 0, 1}));
}

TEST_F(npz_datasets, whose_lists_of_labels_lie_are_refused_before_memory_is_asked_for) {
  members_.erase("labels");
  members_["labels_indptr"] = npy<std::int32_t>("<i4", {0, 2, 2, 3});
  members_["labels_indices"] = npy<std::int32_t>("<i4", {0, 1, 1});
  members_["labels_shape"] = npy<std::int64_t>("<i8", {3, 2});
  const Members right = members_;
  EXPECT_EQ(read().classes, 2);
  for (const std::int32_t column : {2, -1, 1000000}) {
    members_["labels_indices"] = npy<std::int32_t>("<i4", {0, column, 1});
    expect_refused({"labels_indices", "element 1", std::to_string(column), "0 to 1"});
  }
  members_ = right;
  members_["labels_shape"] = npy<std::int64_t>("<i8", {3, std::int64_t{1} << 30});
  expect_refused({"labels_shape", "1073741824", "3 labels"});
  members_ = right;
  members_["labels_data"] = npy<float>("<f4", {1, 0.5f, 1});
  expect_refused({"labels_data", "0 and 1"});
  members_ = right;
  members_["attr_matrix"] = npy_of_dict("{'descr': '|S0', 'fortran_order': False, 'shape': (3, 1000000000000), }");
  expect_refused({"attr_matrix", "|S0", "numbers"});
}

TEST_F(npz_datasets, that_do_not_fit_together_are_refused) {
  const Members right = members_;
  const auto with = [&](const char* key, std::string bytes) {
    members_ = right;
    members_[key] = std::move(bytes);
  };
  with("labels", npy<std::int32_t>("<i4", {1, 0}));
  expect_refused({"labels", "2", "3"});
  with("labels", npy<std::int32_t>("<i4", {1, -2, 0}));
  expect_refused({"label of node 1", "-2"});
  with("train_idx", npy<std::int32_t>("<i4", {3}));
  expect_refused({"train", "3", "0 to 2"});
  with("val_idx", npy<std::int32_t>("<i4", {2}));
  expect_refused({"node 2", "twice", "val"});
  with("attr_indices", npy<std::int32_t>("<i4", {3, 5, 1}));
  expect_refused({"attr_indices", "element 1", "5", "0 to 4"});
  with("attr_indices", npy<std::int32_t>("<i4", {3, 3, 1}));
  expect_refused({"feature", "3", "ascending"});
  with("attr_indptr", npy<std::int32_t>("<i4", {0, 2, 1, 3}));
  expect_refused({"attr_indptr", "row 1"});
  with("attr_indptr", npy<std::int32_t>("<i4", {0, 2, 2, 4}));
  expect_refused({"attr_indptr", "4", "3"});
  with("attr_shape", npy<std::int64_t>("<i8", {4, 5}));
  expect_refused({"attr_indptr", "4", "5"});
  with("attr_shape", npy<std::int64_t>("<i8", {3, -5}));
  expect_refused({"-5"});
  with("adj_indices", npy<std::int32_t>("<i4", {1, 3, 1}));
  expect_refused({"3"});
  with("adj_indptr", npy<std::int32_t>("<i4", {0, 2, 2}));
  expect_refused({"adj_indptr", "3", "4"});
  with("adj_shape", npy<std::int64_t>("<i8", {3, 4}));
  expect_refused({"3", "4", "sources"});
  with("adj_data", npy<float>("<f4", {1, 1}));
  expect_refused({"adj_data", "2", "3"});
}

TEST_F(npz_datasets, a_few_bytes_cannot_ask_for_gigabytes_of_targets) {
  members_["adj_shape"] = npy<std::int64_t>("<i8", {3, 2'000'000'000});
  reset_memory_peak();
  expect_refused({"3 x 2000000000 nodes", "bytes"});
  EXPECT_LT(memory_stats().peak_bytes, std::size_t{1} << 26);
}

TEST(real_datasets, cora_and_citeseer_have_their_counts) {
  struct Known {
    const char* name;
    std::int64_t nodes, edges, features, classes, train;
  };
  for (const Known& known : {Known{"cora", 2708, 10556, 1433, 7, 140}, {"citeseer", 3327, 9104, 3703, 6, 120}}) {
    const std::string path = std::string(WEFT_SHARED_DATA "/planetoid-") + known.name + ".npz";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "the shared data folder lacks " << path;
    const Dataset data = read_dataset(path);
    EXPECT_EQ(data.num_nodes(), known.nodes);
    EXPECT_EQ(data.graph.num_edges(), known.edges);
    EXPECT_EQ(data.num_features(), known.features);
    EXPECT_EQ(data.classes, known.classes);
    EXPECT_EQ(data.train.shape().rows, known.train);
    EXPECT_EQ(data.val.shape().rows, 500);
    EXPECT_EQ(data.test.shape().rows, 1000);
  }
}

}  // namespace
}  // namespace weft::test
