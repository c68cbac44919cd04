#include "graph/dataset/folders.hpp"
#include "graph/io/gzip.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

/// Two graphs: nodes 1 to 3, a path, and nodes 4 and 5 with an edge between them and a loop.
class tu_folders : public ::testing::Test {
 protected:
  tu_folders() {
    write("A", "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n5, 5\n");
    write("graph_indicator", "1\n1\n1\n2\n2\n");
    write("graph_labels", "1\n-1\n");
  }
  void write(const std::string& part, std::string_view text) { put(folder_ / ("DS_" + part + ".txt"), text); }
  Dataset read() { return read_dataset(folder_.path()); }
  void expect_the_graph(const Graph& graph) {
    EXPECT_EQ(graph.num_cols(), 5);
    EXPECT_EQ(list(graph.offsets()), (std::vector<EdgeId>{0, 1, 3, 4, 5, 7}));
    EXPECT_EQ(list(graph.cols()), (std::vector<NodeId>{1, 0, 2, 1, 4, 3, 4}));
    EXPECT_FALSE(graph.has_edge_ids());
  }
  void expect_refused(const std::string& part, std::string_view text, std::vector<std::string> parts,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const std::string path = folder_ / ("DS_" + part + ".txt"), before = get(path);
    write(part, text);
    parts.push_back("DS_" + part + ".txt: ");
    expect_unreadable_dataset(folder_.path(), parts, ErrorCode::invalid_file, file, line);
    if (before.empty())
      std::filesystem::remove(path);
    else
      put(path, before);
  }

  TempFolder folder_;
};

TEST_F(tu_folders, become_one_graph_of_blocks) {
  const Dataset data = read();
  EXPECT_EQ(data.format, "tu");
  EXPECT_EQ(data.name, "DS");
  EXPECT_EQ(data.note, "");
  expect_the_graph(data.graph);
  EXPECT_EQ(values_of<std::int32_t>(data.graph_ids), (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(values_of<std::int32_t>(data.graph_labels), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(data.graph_classes, 2);
  EXPECT_FALSE(data.has_features());
  EXPECT_FALSE(data.labels);
}

TEST_F(tu_folders, may_stand_below_as_raw_and_be_packed) {
  const TempFolder outer;
  std::filesystem::rename(folder_.path(), outer / "raw");
  const std::string edges = get(outer / "raw/DS_A.txt");
  std::filesystem::remove(outer / "raw/DS_A.txt");
  put(outer / "raw/DS_A.txt.gz", io::gzip_member(edges));
  const Dataset data = read_dataset(outer.path());
  expect_the_graph(data.graph);
  EXPECT_EQ(data.name, "DS");
  EXPECT_EQ(data.num_graphs(), 2);

  const std::string packed = io::gzip_member(edges);
  put(outer / "raw/DS_A.txt.gz", packed.substr(0, packed.size() / 2));
  expect_unreadable_dataset(outer.path(), {"DS_A.txt.gz: "});
}

TEST_F(tu_folders, drop_edges_that_are_listed_again_and_keep_their_direction) {
  write("A", "1,2\r\n3 ,1\r\n1, 2\r\n4,5\r\n5,5\r\n5,5");
  const Graph graph = read().graph;
  EXPECT_EQ(list(graph.offsets()), (std::vector<EdgeId>{0, 1, 2, 2, 2, 4}));
  EXPECT_EQ(list(graph.cols()), (std::vector<NodeId>{2, 0, 3, 4}));
}

TEST_F(tu_folders, give_the_graph_alone_without_looking_at_the_rest) {
  for (const char* part : {"graph_labels", "node_labels", "node_attributes"}) write(part, "broken");
  ReadOptions options;
  options.graph_only = true;
  const Dataset data = read_dataset(folder_.path(), options);
  expect_the_graph(data.graph);
  EXPECT_FALSE(data.has_more_than_graph());
}

TEST_F(tu_folders, may_have_graphs_without_nodes_and_no_edges_at_all) {
  write("graph_indicator", "1\n1\n3\n");
  write("graph_labels", "7\n7\n9\n");
  write("A", "");
  const Dataset data = read();
  EXPECT_EQ(data.num_nodes(), 3);
  EXPECT_EQ(data.graph.num_edges(), 0);
  EXPECT_EQ(values_of<std::int32_t>(data.graph_ids), (std::vector<std::int32_t>{0, 0, 2}));
  EXPECT_EQ(values_of<std::int32_t>(data.graph_labels), (std::vector<std::int32_t>{0, 0, 1}));
}

TEST_F(tu_folders, number_any_classes_of_graphs_in_their_order) {
  write("graph_indicator", "1\n2\n3\n4\n5\n");
  write("graph_labels", "9000000000\n-4\n10\n-4\n0\n");
  write("A", "1,1\n");
  const Dataset data = read();
  EXPECT_EQ(values_of<std::int32_t>(data.graph_labels), (std::vector<std::int32_t>{3, 0, 2, 0, 1}));
  EXPECT_EQ(data.graph_classes, 4);
}

TEST_F(tu_folders, turn_labels_of_nodes_into_sparse_features) {
  write("node_labels", "3\n5\n3\n6\n5\n");
  const Dataset data = read();
  EXPECT_FALSE(data.features);
  const SparseRows& rows = data.sparse_features;
  EXPECT_EQ(rows.cols, 4);  // 3, 4, 5 and 6
  EXPECT_FALSE(rows.values);
  EXPECT_EQ(values_of<std::int64_t>(rows.offsets), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of<std::int32_t>(rows.columns), (std::vector<std::int32_t>{0, 2, 0, 3, 2}));
}

TEST_F(tu_folders, put_several_labels_of_a_node_side_by_side) {
  write("node_labels", "0, -1\n1, 0\n0, 0\n0, 1\n1, -1\n");
  const SparseRows rows = read().sparse_features;
  EXPECT_EQ(rows.cols, 5);
  EXPECT_EQ(values_of<std::int64_t>(rows.offsets), (std::vector<std::int64_t>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(values_of<std::int32_t>(rows.columns), (std::vector<std::int32_t>{0, 2, 1, 3, 0, 3, 0, 4, 1, 2}));
}

TEST_F(tu_folders, take_attributes_of_nodes_as_features) {
  write("node_attributes", "0.5, 1\n-1.5,2e1\n3, 4\n5, 6\n7, 8\n");
  const Dataset data = read();
  EXPECT_FALSE(data.sparse_features);
  ASSERT_EQ(data.features.shape(), Shape(5, 2));
  EXPECT_EQ(values_of<float>(data.features), (std::vector<float>{0.5f, 1, -1.5f, 20, 3, 4, 5, 6, 7, 8}));
}

TEST_F(tu_folders, append_labels_to_attributes) {
  write("node_attributes", "0.5\n1.5\n2.5\n3.5\n4.5\n");
  write("node_labels", "1\n2\n1\n1\n2\n");
  const Dataset data = read();
  EXPECT_FALSE(data.sparse_features);
  ASSERT_EQ(data.features.shape(), Shape(5, 3));
  EXPECT_EQ(values_of<float>(data.features),
            (std::vector<float>{0.5f, 1, 0, 1.5f, 0, 1, 2.5f, 1, 0, 3.5f, 1, 0, 4.5f, 0, 1}));
}

TEST_F(tu_folders, say_what_is_left_out) {
  write("edge_labels", "0\n");
  write("graph_attributes", "0.5\n");
  EXPECT_EQ(read().note, "left out: DS_edge_labels.txt, DS_graph_attributes.txt");
  write("edge_attributes", "0\n");
  EXPECT_EQ(read().note, "left out: DS_edge_labels.txt, DS_edge_attributes.txt, DS_graph_attributes.txt");
}

TEST_F(tu_folders, for_regression_have_no_classes) {
  std::filesystem::remove(folder_ / "DS_graph_labels.txt");
  write("graph_attributes", "0.5\n1.5\n");
  const Dataset data = read();
  EXPECT_FALSE(data.graph_labels);
  EXPECT_EQ(values_of<std::int32_t>(data.graph_ids), (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
}

TEST_F(tu_folders, that_lack_a_file_name_it) {
  for (const std::string name : {"DS_A.txt", "DS_graph_indicator.txt", "DS_graph_labels.txt"}) {
    const std::string bytes = get(folder_ / name);
    std::filesystem::remove(folder_ / name);
    expect_unreadable_dataset(folder_.path(), {"lacks the file " + name, "'DS_"});
    put(folder_ / name, bytes);
  }
}

TEST_F(tu_folders, of_several_collections_are_listed) {
  put(folder_ / "OTHER_A.txt", "1, 1\n");
  expect_the_graph(read().graph);  // a stray file is no collection
  put(folder_ / "OTHER_graph_indicator.txt", "1\n");
  expect_unreadable_dataset(folder_.path(), {"2 collections", "'DS', 'OTHER'"});
}

TEST_F(tu_folders, with_wrong_edges_name_the_line) {
  expect_refused("A", "1, 2\n2, 6\n", {"line 2: found 6: expected 1 to 5"});
  expect_refused("A", "1, 2\n0, 1\n", {"line 2: found 0: expected 1 to 5"});
  expect_refused("A", "1, 2\n2, 99999999999\n", {"line 2: found 99999999999"});
  expect_refused("A", "1, 2\n2, 99999999999999999999\n", {"line 2", "two nodes"});
  expect_refused("A", "1, 2\n2\n", {"line 2: found '2'", "two nodes"});
  expect_refused("A", "1, 2\n2, 1, 1\n", {"line 2: found '2, 1, 1'"});
  expect_refused("A", "1, 2\n2 1\n", {"line 2: found '2 1'"});
  expect_refused("A", "1, 2\n# 1, 2\n", {"line 2: found '# 1, 2'"});
  expect_refused("A", std::string("1, 2\n\0\1\2", 8), {"line 2"});
}

TEST_F(tu_folders, with_an_edge_between_two_graphs_name_the_line) {
  expect_refused("A", "1, 2\n\n3, 4\n", {"line 3: found an edge from node 3 of graph 1 to node 4 of graph 2"});
}

TEST_F(tu_folders, with_wrong_graphs_of_nodes_name_the_line) {
  expect_refused("graph_indicator", "1\n1\n2\n1\n2\n", {"line 4: found a node of graph 1 after one of graph 2"});
  expect_refused("graph_indicator", "0\n1\n1\n2\n2\n", {"line 1: found 0: expected 1 to"});
  expect_refused("graph_indicator", "1\n1\n1\n2\n2147483648\n", {"line 5: found 2147483648"});
  expect_refused("graph_indicator", "1\n1\nx\n", {"line 3: found 'x'", "the graph of a node"});
  expect_refused("graph_labels", "1\n", {"classes of 1 graphs", "a node of graph 2"});
  expect_refused("graph_labels", "1\n0.5\n", {"line 2: found '0.5'", "the class of a graph"});
}

TEST_F(tu_folders, with_wrong_features_name_the_line_or_the_count) {
  expect_refused("node_labels", "1\n2\n3\n", {"3 lines", "5 nodes"});
  expect_refused("node_labels", "1\n2\n3\n4\n5\n6\n", {"6 lines"});
  expect_refused("node_labels", "1, 2\n2\n3, 4\n4, 5\n5, 6\n", {"line 2: found '2'", "as in the first line"});
  expect_refused("node_labels", "1\nx\n3\n4\n5\n", {"line 2: found 'x'"});
  expect_refused("node_labels", "1\n2000000000\n3\n4\n5\n", {"run from 1 to 2000000000", "at most 65536"});
  expect_refused("node_labels", "9223372036854775807\n-9223372036854775808\n3\n4\n5\n", {"at most 65536"});
  expect_refused("node_attributes", "1\n2\n3\n", {"3 lines", "5 nodes"});
  expect_refused("node_attributes", "1, 2\n2\n3, 4\n4, 5\n5, 6\n", {"line 2: found '2'", "2 numbers"});
  expect_refused("node_attributes", "1\n1e999\n3\n4\n5\n", {"line 2"});
}

TEST_F(tu_folders, whose_labels_would_fill_memory_are_refused) {
  std::string ones, labels, attributes;
  for (int i = 0; i < 20'000; ++i) {
    ones += "1\n";
    attributes += "0\n";
    labels += i % 2 == 0 ? "0\n" : "65535\n";
  }
  write("graph_indicator", ones);
  write("graph_labels", "1\n");
  write("node_labels", labels);
  EXPECT_EQ(read().sparse_features.cols, 65536);
  write("node_attributes", attributes);
  const std::size_t before = memory_stats().peak_bytes;
  expect_unreadable_dataset(folder_.path(), {"65536 kinds of labels", "20000 nodes"});
  EXPECT_LT(memory_stats().peak_bytes, before + (64 << 20));
}

}  // namespace
}  // namespace weft::test
