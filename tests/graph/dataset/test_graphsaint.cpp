#include "graph/dataset/folders.hpp"
#include "graph/io/archives.hpp"
#include "graph/io/gzip.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

constexpr const char* class_map = R"({"0": 2, "3": 0, "1": 0})";
constexpr const char* roles = R"({"tr": [3, 0], "va": [1], "te": [2]})";

class graphsaint_folders : public ::testing::Test {
 protected:
  graphsaint_folders() { write_all(path_); }

  /// Edges 0 -> 1, 0 -> 2, 1 -> 2 and 3 -> 0, in this order.
  static Members adjacency() {
    return {{"indptr", npy<std::int32_t>("<i4", {0, 2, 3, 3, 4})},
            {"indices", npy<std::int32_t>("<i4", {1, 2, 2, 0})},
            {"data", npy<float>("<f4", {5, 6, 7, 8})},
            {"shape", npy<std::int64_t>("<i8", {4, 4})}};
  }
  static std::string features() {
    return io::make_npy_header("<f4", {4, 2}) + raw<float>({0, 1, 10, 11, 20, 21, 30, -31.5f});
  }
  static void write_all(const std::string& path) {
    put_npz(path + "/adj_full.npz", adjacency());
    put(path + "/feats.npy", features());
    put(path + "/class_map.json", class_map);
    put(path + "/role.json", roles);
  }
  void expect_the_graph(const Graph& graph) {
    EXPECT_EQ(graph.num_cols(), 4);
    EXPECT_EQ(list(graph.offsets()), (std::vector<EdgeId>{0, 1, 2, 4, 4}));
    EXPECT_EQ(list(graph.cols()), (std::vector<NodeId>{3, 0, 0, 1}));
    EXPECT_EQ(list(graph.edge_ids()), (std::vector<EdgeId>{3, 0, 1, 2}));
  }
  void expect_features(const std::string& bytes) {
    put(folder_ / "feats.npy", bytes);
    const Dataset data = read_dataset(path_);
    ASSERT_EQ(data.features.shape(), Shape(4, 2));
    EXPECT_EQ(values_of<float>(data.features), (std::vector<float>{0, 1, 10, 11, 20, 21, 30, -31.5f}));
  }
  void expect_refused(const char* name, std::string_view bytes, std::vector<std::string> parts,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    put(folder_ / name, bytes);
    parts.push_back(std::string(name) + ": ");
    expect_unreadable_dataset(path_, parts, ErrorCode::invalid_file, file, line);
  }

  TempFolder folder_;
  std::string path_ = folder_.path();
};

TEST_F(graphsaint_folders, are_read_whole) {
  const Dataset data = read_dataset(path_ + "/");
  EXPECT_EQ(data.format, "graphsaint");
  EXPECT_EQ(data.name, std::filesystem::path(path_).filename());
  expect_the_graph(data.graph);
  EXPECT_FALSE(data.values);
  EXPECT_EQ(values_of<float>(data.features), (std::vector<float>{0, 1, 10, 11, 20, 21, 30, -31.5f}));
  EXPECT_EQ(values_of<std::int32_t>(data.labels), (std::vector<std::int32_t>{2, 0, -1, 0}));
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(values_of<std::int32_t>(data.train), (std::vector<std::int32_t>{3, 0}));
  EXPECT_EQ(values_of<std::int32_t>(data.val), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(values_of<std::int32_t>(data.test), (std::vector<std::int32_t>{2}));
}

TEST_F(graphsaint_folders, may_stand_below_as_raw_and_be_packed) {
  const TempFolder outer;
  std::filesystem::create_directory(outer / "raw");
  write_all(outer / "raw");
  std::filesystem::remove(outer / "raw/class_map.json");
  put(outer / "raw/class_map.json.gz", io::gzip_member(class_map));
  const Dataset data = read_dataset(outer.path());
  expect_the_graph(data.graph);
  EXPECT_EQ(data.name, std::filesystem::path(outer.path()).filename());
  EXPECT_EQ(values_of<std::int32_t>(data.labels), (std::vector<std::int32_t>{2, 0, -1, 0}));

  std::string packed = io::gzip_member(class_map);
  packed[packed.size() - 8] ^= 1;  // the checksum
  put(outer / "raw/class_map.json.gz", packed);
  expect_unreadable_dataset(outer.path(), {"class_map.json.gz: "});
}

TEST_F(graphsaint_folders, give_the_graph_alone_without_looking_at_the_rest) {
  for (const char* name : {"feats.npy", "class_map.json", "role.json"}) put(folder_ / name, "broken");
  ReadOptions options;
  options.graph_only = true;
  const Dataset data = read_dataset(path_, options);
  expect_the_graph(data.graph);
  EXPECT_FALSE(data.has_more_than_graph());
  expect_the_graph(read_graph(path_).graph);
}

TEST_F(graphsaint_folders, have_features_of_every_type_and_byte_order) {
  const std::vector<double> wide{0, 1, 10, 11, 20, 21, 30, -31.5};
  const std::vector<float> narrow{0, 1, 10, 11, 20, 21, 30, -31.5f};
  const std::vector<std::uint16_t> halves{0x0000, 0x3c00, 0x4900, 0x4980, 0x4d00, 0x4d40, 0x4f80, 0xcfe0};
  expect_features(io::make_npy_header("<f8", {4, 2}) + raw(wide));
  expect_features(io::make_npy_header("<f2", {4, 2}) + raw(halves));
  expect_features(io::make_npy_header(">f8", {4, 2}) + in_the_other_order(wide));
  expect_features(io::make_npy_header(">f4", {4, 2}) + in_the_other_order(narrow));
  expect_features(io::make_npy_header(">f2", {4, 2}) + in_the_other_order(halves));
}

TEST_F(graphsaint_folders, have_lists_for_nodes_of_several_classes) {
  put(folder_ / "class_map.json", R"({"2": [0, 1, 1], "0": [1, 0, 0], "1": [0, 0.0, 1.0]})");
  const Dataset data = read_dataset(path_);
  EXPECT_TRUE(data.multi_label());
  EXPECT_EQ(data.classes, 3);
  ASSERT_EQ(data.labels.shape(), Shape(4, 3));
  const std::vector<float> labels = values_of<float>(data.labels);
  EXPECT_EQ(std::vector<float>(labels.begin(), labels.begin() + 9), (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 1, 1}));
  EXPECT_TRUE(std::all_of(labels.begin() + 9, labels.end(), [](float label) { return std::isnan(label); }));
}

TEST_F(graphsaint_folders, without_a_single_class_leave_all_unknown) {
  put(folder_ / "class_map.json", "{}");
  const Dataset data = read_dataset(path_);
  EXPECT_EQ(values_of<std::int32_t>(data.labels), (std::vector<std::int32_t>(4, -1)));
  EXPECT_EQ(data.classes, 0);
}

TEST_F(graphsaint_folders, that_lack_a_file_name_it_and_what_is_there) {
  for (const std::string name : {"feats.npy", "class_map.json", "role.json"}) {
    write_all(path_);
    std::filesystem::remove(folder_ / name);
    expect_unreadable_dataset(path_, {"lacks the file " + name, "'adj_full.npz'"});
  }
}

TEST_F(graphsaint_folders, with_a_wrong_matrix_name_its_array) {
  const auto expect_refused_matrix = [&](const char* key, const std::string& bytes, std::vector<std::string> parts) {
    Members members = adjacency();
    members[key] = bytes;
    put_npz(folder_ / "adj_full.npz", members);
    parts.emplace_back("adj_full.npz: ");
    expect_unreadable_dataset(path_, parts);
  };
  expect_refused_matrix("shape", npy<std::int64_t>("<i8", {4, 5}), {"4 x 5", "as many rows as columns"});
  expect_refused_matrix("indptr", npy<std::int32_t>("<i4", {0, 2, 3, 4}), {"'indptr' has 4", "expected 5"});
  expect_refused_matrix("indices", npy<std::int32_t>("<i4", {1, 2, 9, 0}), {"cols[2]", "9"});
  expect_refused_matrix(
      "indices",
      npy_of_dict("{'descr': '<i4', 'fortran_order': False, 'shape': (1099511627776,), }", raw<std::int32_t>({1, 2})),
      {"'indices'", "declares 1099511627776"});
  Members members = adjacency();
  members.erase("indptr");
  put_npz(folder_ / "adj_full.npz", members);
  expect_unreadable_dataset(path_, {"adj_full.npz: it lacks the array 'indptr'"});
  put(folder_ / "adj_full.npz", "PK\x03\x04 and no more");
  expect_unreadable_dataset(path_, {"adj_full.npz: "});
}

TEST_F(graphsaint_folders, with_wrong_features_say_what_the_header_has) {
  const std::string good = features();
  expect_refused("feats.npy", "", {"starts with ''", ".npy"});
  expect_refused("feats.npy", good.substr(0, 40), {"ends after 40 bytes", "header of 128"});
  expect_refused("feats.npy", good.substr(0, good.size() - 1), {"8 elements of 4 bytes", "31 bytes follow", "32"});
  expect_refused("feats.npy", good + "x", {"33 bytes follow"});
  expect_refused("feats.npy", io::make_npy_header("<f4", {3, 2}) + raw<float>({0, 1, 2, 3, 4, 5}),
                 {"3 rows", "4 nodes"});
  expect_refused("feats.npy", io::make_npy_header("<f4", {8}) + raw<float>({0, 1, 2, 3, 4, 5, 6, 7}),
                 {"1 dimensions: expected 2"});
  expect_refused("feats.npy", npy_of_dict("{'descr': '|O', 'fortran_order': False, 'shape': (4, 2), }", "...."),
                 {"Python objects"});
  expect_refused("feats.npy", npy_of_dict("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 2, 1), }", good),
                 {"Fortran"});
  expect_refused("feats.npy", io::make_npy_header("|S4", {4, 2}) + std::string(32, 'x'), {"'|S4'", "numbers"});
}

TEST_F(graphsaint_folders, with_a_lying_header_do_not_allocate) {
  const std::size_t before = memory_stats().peak_bytes;
  expect_refused("feats.npy", io::make_npy_header("<f4", {4, std::int64_t{1} << 40}) + raw<float>({1, 2}),
                 {"4398046511104 elements", "8 bytes follow"});
  expect_refused("feats.npy", io::make_npy_header("<f8", {std::int64_t{1} << 61, 4}), {"2^63"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

TEST_F(graphsaint_folders, with_wrong_classes_name_the_byte) {
  expect_refused("class_map.json", R"({"4": 1})", {"byte 4: found the id '4'", "0 to 3"});
  expect_refused("class_map.json", R"({"-1": 1})", {"found the id '-1'"});
  expect_refused("class_map.json", R"({"1x": 1})", {"found the id '1x'"});
  expect_refused("class_map.json", R"({"": 1})", {"found the id ''"});
  expect_refused("class_map.json", R"({"99999999999999999999": 1})", {"found the id '99999999999999999999'"});
  expect_refused("class_map.json", R"({"1": 1, "1": 2})", {"byte 12: found node 1 again"});
  expect_refused("class_map.json", R"({"1": -2})", {"byte 9: found the class -2 for node 1", "0 to 2147483646"});
  expect_refused("class_map.json", R"({"1": 2147483647})", {"found the class 2147483647"});
  expect_refused("class_map.json", R"({"1": 18446744073709551615})", {"found 18446744073709551615"});
  expect_refused("class_map.json", R"({"1": 0.5})", {"found '0.5'", "a list of 0 and 1"});
  expect_refused("class_map.json", R"({"1": 1e999})", {"byte 12", "'1e999'"});
  expect_refused("class_map.json", R"({"1": "2"})", {"byte 9: found a string", "a class for each node"});
  expect_refused("class_map.json", R"({"1": null})", {"found null"});
  expect_refused("class_map.json", R"({"1": true})", {"found true"});
  expect_refused("class_map.json", R"({"1": {"2": 3}})", {"found an object"});
  expect_refused("class_map.json", R"([1, 2])", {"byte 1: found a list"});
  expect_refused("class_map.json", "17", {"found 17"});
}

TEST_F(graphsaint_folders, with_wrong_lists_name_the_node) {
  expect_refused("class_map.json", R"({"0": 1, "1": [0, 1]})", {"byte 15: found a list for node 1 after classes"});
  expect_refused("class_map.json", R"({"0": [0, 1], "1": 1})", {"found the class 1 for node 1 after lists"});
  expect_refused("class_map.json", R"({"0": [0, 1], "1": [0]})", {"found a list of 1 for node 1: expected 2"});
  expect_refused("class_map.json", R"({"0": [0, 2]})", {"found 2 in the list of node 0", "0 or 1"});
  expect_refused("class_map.json", R"({"0": []})", {"found an empty list for node 0"});
  expect_refused("class_map.json", R"({"0": [[0]]})", {"byte 8: found a list"});
  expect_refused("class_map.json", "{\"0\": " + std::string(1'000'000, '['), {"byte 8: found a list"});
}

TEST_F(graphsaint_folders, with_a_list_too_long_for_their_nodes_do_not_allocate) {
  constexpr std::int64_t nodes = 1 << 20;
  put_npz(folder_ / "adj_full.npz", {{"indptr", npy<std::int32_t>("<i4", std::vector<std::int32_t>(nodes + 1))},
                                     {"indices", npy<std::int32_t>("<i4", {})},
                                     {"shape", npy<std::int64_t>("<i8", {nodes, nodes})}});
  put(folder_ / "feats.npy", io::make_npy_header("<f2", {nodes, 0}));
  std::string list = "0";
  for (int i = 1; i < 10'000; ++i) list += ", 0";
  const std::size_t before = memory_stats().peak_bytes;
  expect_refused("class_map.json", "{\"7\": [" + list + "]}", {"a list of 10000 for node 7", "1048576 nodes"});
  EXPECT_LT(memory_stats().peak_bytes, before + (64 << 20));
}

TEST_F(graphsaint_folders, with_broken_json_name_the_byte) {
  expect_refused("class_map.json", "", {"it is empty"});
  expect_refused("class_map.json", R"({"0": 1, "1")", {"byte 12: the file ends"});
  expect_refused("class_map.json", R"({"0": 1, "1)", {"byte 11: the file ends"});
  expect_refused("class_map.json", R"({"0": 1,, "1": 2})", {"byte 9", "is no JSON here"});
  expect_refused("class_map.json", R"({"0": 1}})", {"byte 9", "is no JSON here"});
  expect_refused("class_map.json", R"({"0": 01})", {"byte 9", "is no JSON here"});
  expect_refused("class_map.json", "{\"\xff\": 1}", {"byte 3", "\\xff"});
  expect_refused("class_map.json", std::string("{\"0\": 1}\0{}", 11), {"byte 9", "zero byte"});
  expect_refused("class_map.json", "\x89PNG", {"byte 1", "\\x89"});
}

TEST_F(graphsaint_folders, with_wrong_splits_name_the_byte) {
  expect_refused("role.json", R"({"tr": [0, 4], "va": [], "te": []})", {"found 4 in tr", "0 to 3"});
  expect_refused("role.json", R"({"tr": [0, -1], "va": [], "te": []})", {"found -1 in tr"});
  expect_refused("role.json", R"({"tr": [0, 1, 0], "va": [], "te": []})", {"byte 16: found node 0 again in tr"});
  expect_refused("role.json", R"({"tr": [0, 1], "va": [], "te": [1]})", {"found node 1 again in te"});
  expect_refused("role.json", R"({"tr": [0], "te": [1]})", {"lacks va"});
  expect_refused("role.json", R"({"tr": [0], "va": [], "te": [], "tr": []})", {"found tr again"});
  expect_refused("role.json", R"({"tr": [0], "valid": []})", {"byte 19: found the name 'valid'", "tr, va and te"});
  expect_refused("role.json", R"({"tr": 0})", {"found 0: expected lists of nodes"});
  expect_refused("role.json", R"({"tr": ["0"]})", {"byte 11: found a string"});
  expect_refused("role.json", R"({"tr": [0], "va": [1)", {"byte 20: the file ends"});
}

}  // namespace
}  // namespace weft::test
