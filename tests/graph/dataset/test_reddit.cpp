#include "graph/dataset/folders.hpp"
#include "graph/io/archives.hpp"

namespace weft::test {
namespace {

class reddit_folders : public ::testing::Test {
 protected:
  reddit_folders() {
    put_npz(folder_ / "reddit_graph.npz", coo());
    put_npz(folder_ / "reddit_data.npz", data());
  }

  /// Edges 2 -> 0, 0 -> 1 and 1 -> 1, in this order.
  static Members coo() {
    return {{"row", npy<std::int32_t>("<i4", {2, 0, 1})},
            {"col", npy<std::int32_t>("<i4", {0, 1, 1})},
            {"data", npy<std::int64_t>("<i8", {1, 1, 1})},
            {"shape", npy<std::int64_t>("<i8", {3, 3})},
            {"format", io::make_npy_header("|S3", {}) + "coo"}};
  }
  static Members csr() {
    return {{"indptr", npy<std::int32_t>("<i4", {0, 1, 2, 3})},
            {"indices", npy<std::int32_t>("<i4", {1, 1, 0})},
            {"data", npy<double>("<f8", {1, 1, 1})},
            {"shape", npy<std::int64_t>("<i8", {3, 3})},
            {"format", io::make_npy_header("|S3", {}) + "csr"}};
  }
  static Members data() {
    return {{"feature", io::make_npy_header("<f8", {3, 2}) + raw<double>({0, 1, 10, 11, 20, 21.5})},
            {"label", npy<std::int32_t>("<i4", {4, 0, 2})},
            {"node_types", npy<std::int64_t>("<i8", {3, 1, 1})},
            {"node_ids", npy<std::int64_t>("<i8", {0, 1, 2})}};
  }
  void expect_the_edges(const Graph& graph) {
    EXPECT_EQ(list(graph.offsets()), (std::vector<EdgeId>{0, 1, 3, 3}));
    EXPECT_EQ(list(graph.cols()), (std::vector<NodeId>{2, 0, 1}));
  }
  void expect_refused(const char* key, const std::string& bytes, std::vector<std::string> parts,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    Members members = data();
    members[key] = bytes;
    put_npz(folder_ / "reddit_data.npz", members);
    parts.emplace_back("reddit_data.npz: ");
    expect_unreadable_dataset(folder_.path(), parts, ErrorCode::invalid_file, file, line);
  }

  TempFolder folder_;
};

TEST_F(reddit_folders, are_read_whole) {
  const Dataset data = read_dataset(folder_.path());
  EXPECT_EQ(data.format, "reddit");
  expect_the_edges(data.graph);
  EXPECT_FALSE(data.values);
  EXPECT_EQ(data.features.shape(), Shape(3, 2));
  EXPECT_EQ(values_of<float>(data.features), (std::vector<float>{0, 1, 10, 11, 20, 21.5f}));
  EXPECT_EQ(values_of<std::int32_t>(data.labels), (std::vector<std::int32_t>{4, 0, 2}));
  EXPECT_EQ(data.classes, 5);
  EXPECT_EQ(values_of<std::int32_t>(data.train), (std::vector<std::int32_t>{1, 2}));
  EXPECT_TRUE(data.val);
  EXPECT_EQ(data.val.shape().rows, 0);
  EXPECT_EQ(values_of<std::int32_t>(data.test), (std::vector<std::int32_t>{0}));
}

TEST_F(reddit_folders, may_have_rows_or_a_name_that_says_self_loops) {
  put_npz(folder_ / "reddit_graph.npz", csr());
  expect_the_edges(read_dataset(folder_.path()).graph);
  std::filesystem::rename(folder_ / "reddit_graph.npz", folder_ / "reddit_self_loop_graph.npz");
  expect_the_edges(read_dataset(folder_.path()).graph);
}

TEST_F(reddit_folders, may_stand_below_as_raw) {
  const TempFolder outer;
  std::filesystem::rename(folder_.path(), outer / "raw");
  const Dataset data = read_dataset(outer.path());
  expect_the_edges(data.graph);
  EXPECT_EQ(data.name, std::filesystem::path(outer.path()).filename());
}

TEST_F(reddit_folders, give_the_graph_alone_without_the_rest) {
  std::filesystem::remove(folder_ / "reddit_data.npz");
  expect_the_edges(read_graph(folder_.path()).graph);
  expect_unreadable_dataset(folder_.path(), {"lacks the file reddit_data.npz", "'reddit_graph.npz'"});
}

TEST_F(reddit_folders, that_lack_the_graph_name_it) {
  std::filesystem::remove(folder_ / "reddit_graph.npz");
  expect_unreadable_dataset(folder_.path(), {"lacks the file reddit_graph.npz"});
}

TEST_F(reddit_folders, with_arrays_of_other_lengths_name_them) {
  expect_refused("label", npy<std::int32_t>("<i4", {4, 0}), {"'label' has 2", "3 nodes"});
  expect_refused("node_types", npy<std::int32_t>("<i4", {1, 1, 2, 3}), {"'node_types' has 4", "3 nodes"});
  expect_refused("feature", io::make_npy_header("<f4", {2, 2}) + raw<float>({1, 2, 3, 4}), {"'feature' has 2 rows"});
  expect_refused("feature", io::make_npy_header("<f4", {3, 2}) + raw<float>({1, 2, 3, 4}),
                 {"'feature'", "declares 6 elements"});
  expect_refused("feature", io::make_npy_header("<f4", {1, 3, 1}) + raw<float>({1, 2, 3}), {"3 dimensions"});
}

TEST_F(reddit_folders, with_numbers_out_of_range_say_where) {
  expect_refused("node_types", npy<std::int32_t>("<i4", {1, 4, 2}), {"'node_types' has 4 at 1", "1, 2 or 3"});
  expect_refused("node_types", npy<std::int32_t>("<i4", {0, 1, 2}), {"'node_types' has 0 at 0"});
  expect_refused("label", npy<std::int64_t>("<i8", {1, std::int64_t{1} << 40, 2}), {"'label'", "1099511627776"});
  expect_refused("label", npy<float>("<f4", {1, 2, 3}), {"'label'", "integers"});
  Members members = data();
  members["label"] = npy<std::int32_t>("<i4", {1, -7, 2});
  put_npz(folder_ / "reddit_data.npz", members);
  expect_unreadable_dataset(folder_.path(), {"label of node 1 is -7"});
}

TEST_F(reddit_folders, with_a_wrong_matrix_name_its_array) {
  Members members = coo();
  members["shape"] = npy<std::int64_t>("<i8", {3, 4});
  put_npz(folder_ / "reddit_graph.npz", members);
  expect_unreadable_dataset(folder_.path(), {"reddit_graph.npz: ", "3 x 4"});
  members = coo();
  members["col"] = npy<std::int32_t>("<i4", {0, 1, 3});
  put_npz(folder_ / "reddit_graph.npz", members);
  expect_unreadable_dataset(folder_.path(), {"reddit_graph.npz: ", "3"});
  put(folder_ / "reddit_graph.npz", "not an archive");
  expect_unreadable_dataset(folder_.path(), {"reddit_graph.npz: "});
}

}  // namespace
}  // namespace weft::test
