// PyG's arrays in one .npz, edges as a .npy, and splits as masks.
#include "graph/dataset/npz_case.hpp"
#include "graph/io/archives.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

template <class T>
std::string matrix(std::string_view descr, std::int64_t rows, std::int64_t cols, const std::vector<T>& values) {
  return io::make_npy_header(descr, {rows, cols}) + raw(values);
}

class npz_edges : public NpzCase {
 protected:
  // 0 -> 1, 0 -> 2, 2 -> 1, and node 3 has no edge.
  npz_edges() {
    members_ = {{"edge_index", matrix<std::int64_t>("<i8", 2, 3, {0, 0, 2, 1, 2, 1})},
                {"x", matrix<float>("<f4", 4, 2, {1, 2, 3, 4, 5, 6, 7, 8})},
                {"y", npy<std::int64_t>("<i8", {1, 0, 2, 1})},
                {"train_mask", npy<std::uint8_t>("|b1", {1, 0, 0, 1})},
                {"val_mask", npy<std::uint8_t>("|b1", {0, 1, 0, 0})},
                {"test_mask", npy<std::int64_t>("<i8", {0, 0, 1, 0})}};
  }
  static std::vector<std::int32_t> nodes(const Tensor& split) { return list(split.span<std::int32_t>()); }
};

TEST_F(npz_edges, have_graph_features_labels_and_splits) {
  const Dataset data = read();
  EXPECT_EQ(data.num_nodes(), 4);
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 0, 2, 3, 3}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{0, 2, 0}));
  EXPECT_EQ(list(data.features.span<float>()), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(list(data.labels.span<std::int32_t>()), (std::vector<std::int32_t>{1, 0, 2, 1}));
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(nodes(data.train), (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(nodes(data.val), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(nodes(data.test), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(data.note, "");
}

TEST_F(npz_edges, keep_their_weights_in_the_order_of_the_edges) {
  for (const auto& [key, shape] : {std::pair<std::string, std::vector<std::int64_t>>{"edge_weight", {3}},
                                   {"edge_attr", {3, 1}},
                                   {"edge_weight", {3, 1}}}) {
    const Members before = members_;
    members_[key] = io::make_npy_header("<f8", shape) + raw<double>({0.5, 2, 4});
    const Dataset data = read();
    EXPECT_EQ(list(data.values.span<float>()), (std::vector<float>{0.5, 2, 4})) << key;
    members_ = before;
  }
  members_["edge_attr"] = matrix<float>("<f4", 3, 2, {1, 2, 3, 4, 5, 6});
  const Dataset data = read();
  EXPECT_FALSE(data.values);
  EXPECT_EQ(data.note, "edge_attr left out: it has 2 columns, and an edge has one value");
  members_["edge_weight"] = npy<float>("<f4", {1, 2});
  expect_refused({"'edge_weight' has 2 elements", "3 edges"});
}

TEST_F(npz_edges, have_as_many_nodes_as_they_say_or_name) {
  members_["num_nodes"] = io::make_npy_header("<i8", {}) + raw<std::int64_t>({4});
  EXPECT_EQ(read().num_nodes(), 4);
  members_["num_nodes"] = npy<std::int64_t>("<i8", {2});
  expect_refused({"array 'edge_index'", "edge 1 runs from 0 to 2", "0 to 1"});
  members_ = {{"edge_index", members_["edge_index"]}};
  EXPECT_EQ(read().num_nodes(), 3) << "one more than the largest id";
  members_["num_nodes"] = npy<std::int64_t>("<i8", {2'000'000'000});
  expect_refused({"2000000000", "bytes"});
}

TEST_F(npz_edges, may_list_an_edge_a_row) {
  members_["edge_index"] = matrix<std::int32_t>("<i4", 3, 2, {0, 1, 0, 2, 2, 1});
  EXPECT_EQ(columns_of(read()), (std::vector<NodeId>{0, 2, 0}));
  members_["edge_index"] = matrix<std::int32_t>("<i4", 2, 2, {0, 1, 2, 3});
  const Dataset data = read();
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 0, 0, 1, 2})) << "0 -> 2 and 1 -> 3";
  EXPECT_NE(data.note.find("2 x 2"), std::string::npos) << data.note;
  members_["edge_index"] = matrix<std::int32_t>("<i4", 3, 3, {0, 1, 2, 0, 1, 2, 0, 1, 2});
  expect_refused({"edge_index", "(3, 3)", "(2, n) or (n, 2)"});
  members_["edge_index"] = matrix<float>("<f4", 2, 1, {0, 1});
  expect_refused({"edge_index", "'<f4'", "integers"});
  members_["edge_index"] = matrix<std::int32_t>("<i4", 2, 1, {0, -1});
  expect_refused({"edge 0 runs from 0 to -1"});
}

TEST_F(npz_edges, have_labels_in_one_column_or_several) {
  members_["y"] = matrix<std::int64_t>("<i8", 4, 1, {1, 0, -1, 1});
  EXPECT_EQ(nodes(read().labels), (std::vector<std::int32_t>{1, 0, -1, 1}));
  members_["y"] = matrix<float>("<f4", 4, 2, {1, 0, 0, 1, 1, 1, 0, 0});
  EXPECT_TRUE(read().multi_label());
  members_["y"] = npy<std::int64_t>("<i8", {1, 0});
  members_.erase("x");
  members_["num_nodes"] = npy<std::int64_t>("<i8", {4});
  expect_refused({"labels", "2", "4"});
}

TEST_F(npz_edges, of_several_splits_give_the_first_and_say_so) {
  members_["train_mask"] = matrix<std::uint8_t>("|b1", 4, 2, {1, 0, 0, 1, 0, 0, 0, 0});
  const Dataset data = read();
  EXPECT_EQ(nodes(data.train), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(data.note, "its masks hold 2 splits, of which the first is read");
}

TEST_F(npz_edges, with_lists_and_masks_must_say_the_same) {
  members_["train_idx"] = npy<std::int32_t>("<i4", {3, 0});
  EXPECT_EQ(nodes(read().train), (std::vector<std::int32_t>{3, 0})) << "the list's order";
  members_["train_idx"] = npy<std::int32_t>("<i4", {3});
  expect_refused({"'train_idx' (1 nodes)", "'train_mask' (2 nodes)", "different"});
  members_.erase("train_mask");
  members_["valid_idx"] = npy<std::int32_t>("<i4", {1});
  EXPECT_EQ(nodes(read().val), (std::vector<std::int32_t>{1}));
}

TEST_F(npz_edges, whose_masks_are_none_are_refused) {
  const Members right = members_;
  members_["train_mask"] = npy<std::uint8_t>("|b1", {1, 0, 0});
  expect_refused({"'train_mask' has 3 rows", "4 nodes"});
  members_["train_mask"] = npy<std::int64_t>("<i8", {1, 0, 2, 0});
  expect_refused({"'train_mask'", "node 2 is 2", "0 or 1"});
  members_["train_mask"] = npy<std::int64_t>("<i8", {1, 0, -1, 0});
  expect_refused({"'train_mask'", "node 2 is -1", "0 or 1"});
  members_["train_mask"] = npy<float>("<f4", {1, 0, 0.5f, 0});
  expect_refused({"'train_mask'", "node 2 is 0.5", "0 or 1"});
  members_["train_mask"] = npy<double>("<f8", {1, 0, 0, 1e-300});
  expect_refused({"'train_mask'", "node 3 is 1e-300", "0 or 1"});
  members_["train_mask"] = npy<double>("<f8", {1, std::numeric_limits<double>::quiet_NaN(), 0, 0});
  expect_refused({"'train_mask'", "node 1 is nan", "0 or 1"});
  members_["train_mask"] = matrix<float>("<f4", 4, 2, {1, 0, 0, 1, 0, 7, 0, 0});
  expect_refused({"'train_mask'", "node 2 is 7", "0 or 1"});
  members_["train_mask"] = io::make_npy_header("|S1", {4}) + "1001";
  expect_refused({"'train_mask'", "'|S1'", "numbers"});
}

TEST_F(npz_edges, have_masks_of_0_and_1_in_any_type_of_number) {
  for (const std::string& mask :
       {npy<float>("<f4", {1, 0, 0, 1}), npy<double>("<f8", {1, 0, -0.0, 1}),
        npy<std::uint16_t>("<f2", {0x3c00, 0, 0, 0x3c00}), npy<std::uint64_t>("<u8", {1, 0, 0, 1}),
        npy<std::int8_t>("|i1", {1, 0, 0, 1}), matrix<float>("<f4", 4, 2, {1, 0, 0, 1, 0, 0, 1, 1}),
        npy_by_columns<float>("<f4", 4, 2, {1, 0, 0, 1, 0, 0, 1, 1})}) {
    members_["train_mask"] = mask;
    EXPECT_EQ(nodes(read().train), (std::vector<std::int32_t>{0, 3}));
  }
}

TEST_F(npz_edges, with_arrays_in_fortrans_order_are_the_same_dataset) {
  members_["y"] = matrix<float>("<f4", 4, 2, {1, 0, 0, 1, 1, 1, 0, 0});
  const Dataset wanted = read();
  members_["edge_index"] = npy_by_columns<std::int64_t>("<i8", 2, 3, {0, 0, 2, 1, 2, 1});
  members_["x"] = npy_by_columns<float>("<f4", 4, 2, list(std::as_const(wanted.features).span<float>()));
  members_["y"] = npy_by_columns<float>("<f4", 4, 2, {1, 0, 0, 1, 1, 1, 0, 0});
  const Dataset found = read();
  expect_same_arrays(found.graph, wanted.graph);
  EXPECT_EQ(list(std::as_const(found.features).span<float>()), list(std::as_const(wanted.features).span<float>()));
  EXPECT_EQ(list(std::as_const(found.labels).span<float>()), list(std::as_const(wanted.labels).span<float>()));
  members_["edge_index"] = npy_by_columns<std::int64_t>("<i8", 3, 2, {0, 1, 0, 2, 2, 1});
  expect_same_arrays(read().graph, wanted.graph);
  members_["edge_index"] = npy_by_columns<std::int64_t>("<i8", 2, 2, {0, 1, 2, 3});
  const Dataset pairs = read();
  EXPECT_EQ(list(pairs.graph.offsets()), (std::vector<EdgeId>{0, 0, 0, 1, 2})) << "0 -> 2 and 1 -> 3";
  members_["edge_index"] = npy_by_columns<std::int64_t>("<i8", 3, 2, {0, 1, 0, 1ll << 40, 2, 1});
  expect_refused({"array 'edge_index[:, 1]': element 1 is 1099511627776"});
}

TEST_F(npz_edges, beside_a_matrix_are_refused) {
  members_["adj_indptr"] = npy<std::int32_t>("<i4", {0, 0});
  members_["adj_indices"] = npy<std::int32_t>("<i4", {});
  expect_refused({"twice", "adj_indices", "edge_index"});
}

TEST(npy_edges, are_a_graph_in_either_layout) {
  const TempFolder folder;
  const std::string path = folder / "edges.npy";
  for (const std::string& bytes :
       {matrix<std::int64_t>("<i8", 2, 3, {0, 0, 2, 1, 2, 1}), matrix<std::int32_t>("<i4", 3, 2, {0, 1, 0, 2, 2, 1}),
        npy_by_columns<std::int64_t>("<i8", 2, 3, {0, 0, 2, 1, 2, 1}),
        npy_by_columns<std::int32_t>(">i4", 3, 2, {0, 1 << 24, 0, 2 << 24, 2 << 24, 1 << 24})}) {
    put(path, bytes);
    const GraphFile file = read_graph(path);
    EXPECT_EQ(file.format, "npy");
    EXPECT_EQ(list(file.graph.offsets()), (std::vector<EdgeId>{0, 0, 2, 3}));
    EXPECT_EQ(list(file.graph.cols()), (std::vector<NodeId>{0, 2, 0}));
  }
  put(path, npy_by_columns<float>("<f4", 3, 4, std::vector<float>(12)));
  expect_unreadable(path, ErrorCode::invalid_file, {"(3, 4)", "(2, n) or (n, 2)"});
  put(path, matrix<std::int64_t>("<i8", 2, 1, {0, 2'000'000'000}));
  expect_unreadable(path, ErrorCode::invalid_file, {"2000000001", "bytes"});
}

}  // namespace
}  // namespace weft::test
