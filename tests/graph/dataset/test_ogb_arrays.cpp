#include <algorithm>
#include <cmath>

#include "graph/dataset/ogb_folders.hpp"
#include "graph/dataset/zip64.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

Members all_arrays() {
  Members arrays = graph_arrays();
  arrays["node_feat"] = npy_rows<float>("<f4", 4, {0.5f, 1, 2, 3, 4, 5, 6, -7});
  arrays["node_year"] = npy_rows<std::int64_t>("<i8", 4, {2010, 2011, 2012, 2013});
  return arrays;
}

Members labels() { return {{"node_label", npy_rows<float>("<f4", 4, {2, NAN, 0, NAN})}}; }

class ogb_arrays : public OgbFolder {
 protected:
  void expect_all(const Dataset& data) {
    expect_the_dataset(data);
    ASSERT_EQ(data.features.shape(), Shape(4, 2));
    EXPECT_EQ(elements<float>(data.features), (std::vector<float>{0.5f, 1, 2, 3, 4, 5, 6, -7}));
    EXPECT_EQ(elements<std::int32_t>(data.labels), (std::vector<std::int32_t>{2, -1, 0, -1}));
    EXPECT_EQ(data.classes, 3);
  }
  std::vector<float> features_of(const std::string& array) {
    Members arrays = all_arrays();
    arrays["node_feat"] = array;
    return elements<float>(read_dataset(write_arrays(arrays)).features);
  }
  void expect_refused_with(const std::string& key, const std::string& array, const std::vector<std::string>& parts,
                           ErrorCode code = ErrorCode::invalid_file, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    Members arrays = all_arrays();
    arrays[key] = array;
    expect_refused_folder(write_arrays(arrays, labels()), parts, code, file, line);
  }
  void expect_refused_label(const std::string& array, const std::vector<std::string>& parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_refused_folder(write_arrays(all_arrays(), {{"node_label", array}}), parts, ErrorCode::invalid_file, file,
                          line);
  }
};

TEST_F(ogb_arrays, are_read_stored_and_deflated) {
  expect_all(read_dataset(write_arrays(all_arrays(), labels())));
  const std::string path = write_arrays(all_arrays(), labels(), "ogbn_arxiv", ZIP_CM_DEFLATE);
  expect_all(read_dataset(path));
  expect_all(read_dataset(path + "/raw"));
}

TEST_F(ogb_arrays, are_read_with_64_bit_sizes) {
  const std::string path = write_arrays(all_arrays(), labels());
  put(path + "/raw/data.npz", Zip64(all_arrays()).bytes());
  put(path + "/raw/node-label.npz", Zip64(labels()).bytes());
  expect_all(read_dataset(path));
}

TEST_F(ogb_arrays, of_the_other_byte_order_are_read) {
  const auto swapped = [](std::string bytes, std::size_t item) {
    for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(item))
      std::reverse(at, at + static_cast<std::ptrdiff_t>(item));
    return bytes;
  };
  Members arrays;
  arrays["edge_index"] =
      io::make_npy_header(">i8", {2, 5}) + swapped(raw<std::int64_t>({0, 2, 3, 0, 3, 1, 1, 0, 2, 3}), 8);
  arrays["num_nodes_list"] = io::make_npy_header(">i4", {1}) + swapped(raw<std::int32_t>({4}), 4);
  arrays["num_edges_list"] = io::make_npy_header(">i2", {1}) + swapped(raw<std::int16_t>({5}), 2);
  arrays["node_feat"] = io::make_npy_header(">f8", {4, 2}) + swapped(raw<double>({0.5, 1, 2, 3, 4, 5, 6, -7}), 8);
  const Members label = {{"node_label", io::make_npy_header(">f4", {4, 1}) + swapped(raw<float>({2, NAN, 0, NAN}), 4)}};
  expect_all(read_dataset(write_arrays(arrays, label)));
}

TEST_F(ogb_arrays, of_features_become_floats) {
  const std::vector<float> wanted{1, 2, 3, 4};
  EXPECT_EQ(features_of(npy_rows<std::uint16_t>("<f2", 4, {0x3c00, 0x4000, 0x4200, 0x4400})), wanted);
  EXPECT_EQ(features_of(npy_rows<std::int64_t>("<i8", 4, {1, 2, 3, 4})), wanted);
  EXPECT_EQ(features_of(npy_rows<std::uint8_t>("|u1", 4, {1, 2, 3, 4})), wanted);
  EXPECT_EQ(features_of(npy<double>("<f8", {1, 2, 3, 4})), wanted);
}

TEST_F(ogb_arrays, of_features_and_labels_may_be_missing) {
  const Dataset data = read_dataset(write_arrays(graph_arrays()));
  expect_the_graph(data.graph);
  EXPECT_FALSE(data.has_features());
  EXPECT_FALSE(data.labels);
  expect_the_splits(data);
}

TEST_F(ogb_arrays, are_left_closed_where_only_the_graph_is_wanted) {
  Members arrays = all_arrays();
  arrays["node_feat"] = "no array";
  const std::string path = write_arrays(arrays);
  put(path + "/raw/node-label.npz", "no archive");
  put(path + "/split/time/train.csv", "no nodes");
  expect_the_graph(read_graph(path).graph);
}

TEST_F(ogb_arrays, of_edges_are_taken_as_they_are_and_without_their_features) {
  Members arrays = graph_arrays();
  arrays["edge_feat"] = npy_rows<float>("<f4", 5, {1, 2, 3, 4, 5});
  const Dataset data = read_dataset(write_arrays(arrays, {}, "ogbn-proteins"));
  expect_the_graph(data.graph);
  EXPECT_EQ(data.note, "edge features left out");
}

TEST_F(ogb_arrays, of_labels_are_classes_or_columns_of_them) {
  Dataset data = read_dataset(write_arrays(all_arrays(), {{"node_label", npy<std::int64_t>("<i8", {0, 3, 1, -1})}}));
  EXPECT_EQ(elements<std::int32_t>(data.labels), (std::vector<std::int32_t>{0, 3, 1, -1}));
  EXPECT_EQ(data.classes, 4);
  data = read_dataset(
      write_arrays(all_arrays(), {{"node_label", npy_rows<std::int8_t>("|i1", 4, {0, 1, 1, 1, 0, 0, 1, 0})}}));
  EXPECT_EQ(data.labels.shape(), Shape(4, 2));
  EXPECT_EQ(elements<float>(data.labels), (std::vector<float>{0, 1, 1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(data.classes, 2);
}

TEST_F(ogb_arrays, of_labels_that_are_none_are_refused) {
  expect_refused_label(npy<float>("<f4", {0, 1, 0.5f, 0}),
                       {"raw: node-label.npz: array 'node_label': the label of node 2 is 0.5"});
  expect_refused_label(npy_rows<float>("<f4", 4, {0, 1, 1, 0, 3, 1, 1, 1}), {"label 0 of node 2 is 3"});
  expect_refused_label(npy<float>("<f4", {0, 1, 0}), {"array 'node_label': it has 3 rows", "4 nodes"});
  expect_refused_label(io::make_npy_header("<f4", {4, 0}), {"array 'node_label': its rows are empty"});
  expect_refused_label(io::make_npy_header("<f4", {4, 1, 1}) + raw<float>({0, 1, 0, 1}), {"3 dimensions"});
  expect_refused_label(io::make_npy_header("|S1", {4}) + "abcd", {"array 'node_label'", "expected numbers"});
  expect_refused_folder(write_arrays(all_arrays(), {{"label", npy<float>("<f4", {0})}}),
                        {"raw: node-label.npz: it lacks the array 'node_label': found 'label'"});
}

TEST_F(ogb_arrays, that_are_missing_are_named_with_those_that_are_there) {
  for (const char* key : {"edge_index", "num_nodes_list", "num_edges_list"}) {
    Members arrays = all_arrays();
    arrays.erase(key);
    expect_refused_folder(write_arrays(arrays),
                          {"raw: data.npz: it lacks the array '" + std::string(key) + "': found '", "'node_year'"});
  }
}

TEST_F(ogb_arrays, that_declare_other_counts_than_they_have_are_refused) {
  expect_refused_with("num_edges_list", npy<std::int64_t>("<i8", {6}),
                      {"data.npz: array 'edge_index': it lists 5 edges, but array 'num_edges_list' declares 6"});
  expect_refused_with("num_nodes_list", npy<std::int64_t>("<i8", {5}),
                      {"data.npz: array 'node_feat': it has 4 rows: expected one for each of the 5 nodes"});
  expect_refused_with("num_nodes_list", npy<std::int64_t>("<i8", {-4}),
                      {"array 'num_nodes_list': it declares -4 nodes"});
  expect_refused_with("num_nodes_list", npy<std::int64_t>("<i8", {4'000'000'000}), {"it declares 4000000000 nodes"});
  expect_refused_with("num_nodes_list", npy<float>("<f4", {NAN}), {"'num_nodes_list'", "'<f4': expected integers"});
  expect_refused_with("num_nodes_list", npy<std::int64_t>("<i8", {}), {"array 'num_nodes_list': it is empty"});
  expect_refused_with("num_nodes_list", npy<std::int64_t>("<i8", {4, 7}),
                      {"array 'num_nodes_list': it counts the nodes of 2 graphs", "graph-property datasets"},
                      ErrorCode::unsupported);
}

TEST_F(ogb_arrays, of_few_bytes_ask_for_little_memory) {
  reset_memory_peak();
  const std::size_t before = memory_stats().peak_bytes;
  expect_refused_with("num_nodes_list", npy<std::int64_t>("<i8", {2147483647}),
                      {"raw: data.npz: it declares 2147483647 x 2147483647 nodes"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

TEST_F(ogb_arrays, of_edges_that_leave_the_graph_are_refused) {
  expect_refused_with("edge_index", npy_rows<std::int64_t>("<i8", 2, {0, 2, 3, 0, 3, 1, 1, 4, 2, 3}),
                      {"data.npz: array 'edge_index': edge 2 runs from 3 to 4: expected nodes from 0 to 3"});
  expect_refused_with("edge_index", npy_rows<std::int64_t>("<i8", 2, {0, -1, 3, 0, 3, 1, 1, 0, 2, 3}),
                      {"edge 1 runs from -1 to 1"});
  expect_refused_with("edge_index", npy_rows<std::int64_t>("<i8", 2, {0, 2, 3, 0, 4294967299, 1, 1, 0, 2, 3}),
                      {"array 'edge_index[0]': element 4 is 4294967299"});
  expect_refused_with("edge_index", npy_rows<std::int64_t>("<i8", 5, {0, 1, 2, 1, 3, 0, 0, 2, 3, 3}),
                      {"array 'edge_index' has the shape (5, 2): expected (2, n)"});
}

TEST_F(ogb_arrays, that_are_damaged_are_refused) {
  const std::string path = write_arrays(all_arrays(), labels());
  const std::string file = path + "/raw/data.npz", bytes = get(file);
  std::string flipped = bytes;
  const std::size_t at = flipped.find(raw<std::int64_t>({0, 2, 3, 0, 3, 1}));
  ASSERT_NE(at, flipped.npos);
  flipped[at + 8] = 3;
  put(file, flipped);
  expect_refused_folder(path, {"raw: data.npz: array 'edge_index'", "CRC"});
  put(file, std::string_view(bytes).substr(0, bytes.size() - 30));
  expect_refused_folder(path, {"raw: data.npz: not a whole zip archive"});
  put(file, "");
  expect_refused_folder(path, {"raw: data.npz: it lacks the array 'num_nodes_list': found nothing"});
  put(file, bytes);
  put(path + "/raw/node-label.npz", "0\n1\n");
  expect_refused_folder(path, {"raw: node-label.npz: not a whole zip archive"});
}

TEST_F(ogb_arrays, of_python_objects_stay_closed) {
  const std::string objects =
      npy_of_dict("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", std::string(32, '.'));
  expect_refused_with("node_feat", objects, {"array 'node_feat'", "Python objects"});
  Members arrays = all_arrays();
  arrays["node_name"] = objects;
  expect_all(read_dataset(write_arrays(arrays, labels())));
}

TEST_F(ogb_arrays, stand_back_where_there_are_tables) {
  Files files = all_tables();
  files["raw/data.npz"] = "no archive";
  expect_the_graph(read_dataset(write(files)).graph);
}

}  // namespace
}  // namespace weft::test
