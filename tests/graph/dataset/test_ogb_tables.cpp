#include <cmath>

#include "graph/dataset/ogb_folders.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

class ogb_tables : public OgbFolder {
 protected:
  void expect_all(const Dataset& data) {
    expect_the_dataset(data);
    EXPECT_FALSE(data.values);
    EXPECT_FALSE(data.node_ids);
    ASSERT_EQ(data.features.shape(), Shape(4, 3));
    const auto features = elements<float>(data.features);
    const std::vector<float> wanted{0.5f, 1, -2, 1, 0, 0, 3, 0.25f, 1e-3f};
    EXPECT_EQ(std::vector(features.begin(), features.begin() + 9), wanted);
    EXPECT_TRUE(std::isnan(features[9]));
    EXPECT_TRUE(std::isnan(features[10]));
    EXPECT_EQ(features[11], 4);
    EXPECT_FALSE(data.multi_label());
    EXPECT_EQ(elements<std::int32_t>(data.labels), (std::vector<std::int32_t>{1, 0, 2, 1}));
    EXPECT_EQ(data.classes, 3);
  }
  /// Of the whole dataset, one file being this.
  void expect_refused_with(const std::string& file, const std::string& content, const std::vector<std::string>& parts,
                           ErrorCode code = ErrorCode::invalid_file, const char* test = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    Files files = all_tables();
    files[file] = content;
    expect_refused_folder(write(files), parts, code, test, line);
  }
  std::vector<std::int32_t> labels_of(const std::string& content) {
    Files files = all_tables();
    files["raw/node-label.csv"] = content;
    const Dataset data = read_dataset(write(files));
    classes_ = data.classes;
    return elements<std::int32_t>(data.labels);
  }

  std::int64_t classes_ = -1;
};

TEST_F(ogb_tables, are_read_packed_or_not) {
  expect_all(read_dataset(write(all_tables())));
  expect_all(read_dataset(write(packed(all_tables()))));
  Files mixed = all_tables();
  mixed["raw/edge.csv.gz"] = io::gzip_member(mixed["raw/edge.csv"]);
  mixed.erase("raw/edge.csv");
  expect_all(read_dataset(write(mixed) + "/"));
}

TEST_F(ogb_tables, may_be_named_by_their_raw_folder) {
  const std::string path = write(packed(all_tables()));
  expect_all(read_dataset(path + "/raw"));
  expect_all(read_dataset(path + "/raw/"));
  expect_all(read_dataset(path + "/split/../raw"));
}

TEST_F(ogb_tables, of_windows_and_without_a_last_line_end_are_read) {
  Files files = all_tables();
  files["raw/edge.csv"] = "0,1\r\n2,1\r\n3, 0\r\n0,2\r\n\r\n3,3";
  files["raw/num-node-list.csv"] = "4";
  files["split/time/train.csv"] = "2\r\n0";
  expect_all(read_dataset(write(files)));
}

TEST_F(ogb_tables, are_left_closed_where_only_the_graph_is_wanted) {
  Files files = all_tables();
  for (const char* file : {"raw/node-feat.csv", "raw/node-label.csv", "split/time/train.csv"}) files[file] = "what?\n";
  ReadOptions options;
  options.graph_only = true;
  const Dataset data = read_dataset(write(files), options);
  expect_the_graph(data.graph);
  EXPECT_FALSE(data.has_more_than_graph());
  EXPECT_EQ(read_graph(write(files)).name, "ogbn_arxiv");
}

TEST_F(ogb_tables, of_features_labels_and_splits_may_be_missing) {
  const Dataset data = read_dataset(write(graph_tables(), "mine"));
  EXPECT_EQ(data.name, "mine");
  expect_the_graph(data.graph);
  EXPECT_FALSE(data.has_more_than_graph());
}

TEST_F(ogb_tables, of_nodes_without_edges_are_a_graph) {
  const Dataset data = read_dataset(write({{"raw/edge.csv", ""},
                                           {"raw/num-node-list.csv", "3"},
                                           {"raw/num-edge-list.csv", "0"},
                                           {"raw/node-label.csv", "0\n1\n0\n"}}));
  EXPECT_EQ(data.num_nodes(), 3);
  EXPECT_EQ(data.graph.num_edges(), 0);
  EXPECT_EQ(data.classes, 2);
}

TEST_F(ogb_tables, of_products_and_proteins_get_their_reverse_edges) {
  for (const char* name : {"ogbn_products", "ogbn-products", "products", "ogbn_proteins", "ogbn-proteins", "proteins",
                           "ogbn_products_pyg", "ogbn_proteins_dgl", "OGBN-Products"}) {
    SCOPED_TRACE(name);
    const std::string path = write(all_tables(), name);
    for (const std::string& given : {path, path + "/raw"}) {
      const Dataset data = read_dataset(given);
      expect_the_graph_both_ways(data.graph);
      EXPECT_EQ(data.note, "reverse edges added, as OGB does for this dataset");
      EXPECT_EQ(data.name, name);
    }
  }
  for (const char* name : {"ogbn_arxiv", "byproducts", "products2", "ogbn_papers100M"}) {
    SCOPED_TRACE(name);
    expect_the_graph(read_dataset(write(all_tables(), name)).graph);
  }
}

TEST_F(ogb_tables, of_proteins_have_many_labels_and_edge_features_that_are_left_out) {
  Files files = graph_tables();
  files["raw/node-label.csv"] = "0,1,1\n1,0,\nnan,0,0\n1,1.0,1\n";
  files["raw/node_species.csv"] = "9606\n9606\n4932\n4932\n";
  files["raw/edge-feat.csv"] = "1,2\n";
  files.merge(split_tables("species"));
  const Dataset data = read_dataset(write(packed(files), "ogbn_proteins"));
  EXPECT_EQ(data.note, "reverse edges added, as OGB does for this dataset; edge features left out");
  expect_the_graph_both_ways(data.graph);
  EXPECT_FALSE(data.has_features());
  expect_the_splits(data);
  EXPECT_TRUE(data.multi_label());
  EXPECT_EQ(data.classes, 3);
  ASSERT_EQ(data.labels.shape(), Shape(4, 3));
  const auto labels = elements<float>(data.labels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float wanted[] = {0, 1, 1, 1, 0, NAN, NAN, 0, 0, 1, 1, 1};
    EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(labels[i]) : labels[i] == wanted[i]) << i << ": " << labels[i];
  }
}

TEST_F(ogb_tables, of_labels_say_nan_or_nothing_for_unknown_ones) {
  EXPECT_EQ(labels_of("nan\n40.0\n\"\"\n-1\n"), (std::vector<std::int32_t>{-1, 40, -1, -1}));
  EXPECT_EQ(classes_, 41);
  EXPECT_EQ(labels_of("nan\nnan\nnan\nnan\n"), (std::vector<std::int32_t>{-1, -1, -1, -1}));
  EXPECT_EQ(classes_, 0);
}

TEST_F(ogb_tables, of_labels_that_are_no_classes_are_refused) {
  const auto refused = [&](const char* label) {
    SCOPED_TRACE(label);
    expect_refused_with("raw/node-label.csv", "0\n1\n" + std::string(label) + "\n0\n",
                        {"raw: node-label.csv: the label of node 2 is " + std::string(label), "0 to 16777215"});
  };
  refused("1.5");
  refused("-2");
  refused("inf");
  refused("16777216");
  expect_refused_with("raw/node-label.csv", "0,1\n1,0\n0,2\n1,1\n",
                      {"raw: node-label.csv: label 1 of node 2 is 2", "0, 1, or nan"});
}

TEST_F(ogb_tables, that_are_missing_are_named_with_those_that_are_there) {
  for (const char* file : {"raw/edge.csv", "raw/num-node-list.csv", "raw/num-edge-list.csv"}) {
    SCOPED_TRACE(file);
    Files files = all_tables();
    files.erase(file);
    const std::string name = std::string(file).substr(4);
    expect_refused_folder(write(files),
                          {"raw: it lacks the file " + name + ".gz", "'node-feat.csv', 'node-label.csv'"});
  }
}

TEST_F(ogb_tables, that_declare_other_counts_than_they_have_are_refused) {
  expect_refused_with("raw/num-edge-list.csv", "6\n",
                      {"raw: edge.csv: it lists 5 edges, but num-edge-list.csv declares 6"});
  expect_refused_with("raw/num-edge-list.csv", "9223372036854775807\n",
                      {"lists 5 edges", "declares 9223372036854775807"});
  expect_refused_with("raw/num-node-list.csv", "5\n",
                      {"raw: node-feat.csv: it has 4 rows: expected one for each of the 5 nodes"});
  expect_refused_with("raw/node-label.csv", "1\n0\n2\n",
                      {"raw: node-label.csv: it has 3 rows: expected one for each of the 4 nodes"});
  expect_refused_with("raw/node-label.csv", "", {"raw: node-label.csv: it has 0 rows"});
}

TEST_F(ogb_tables, of_counts_that_no_graph_can_have_are_refused) {
  expect_refused_with("raw/num-node-list.csv", "2147483648\n",
                      {"raw: num-node-list.csv: it declares 2147483648 nodes: expected 0 to 2147483647"});
  expect_refused_with("raw/num-node-list.csv", "-4\n", {"num-node-list.csv: it declares -4 nodes"});
  expect_refused_with("raw/num-edge-list.csv", "-1\n", {"num-edge-list.csv: it declares -1 edges"});
  expect_refused_with("raw/num-node-list.csv", "", {"num-node-list.csv: it is empty: expected the number of nodes"});
  for (const char* count : {"nan", "4.0", "4,4", "99999999999999999999"})
    expect_refused_with("raw/num-node-list.csv", count,
                        {"num-node-list.csv: line 1: found '" + std::string(count) + "': expected a number"});
}

TEST_F(ogb_tables, of_few_bytes_ask_for_little_memory) {
  reset_memory_peak();
  const std::size_t before = memory_stats().peak_bytes;
  expect_refused_with("raw/num-node-list.csv", "2147483647\n",
                      {"num-node-list and edge.csv: it declares 2147483647 x 2147483647 nodes", "20 bytes"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

TEST_F(ogb_tables, of_several_graphs_are_refused) {
  expect_refused_with("raw/num-node-list.csv", "4\n4\n7\n",
                      {"raw: num-node-list.csv: it counts the nodes of 3 graphs", "graph-property datasets"},
                      ErrorCode::unsupported);
  expect_refused_with("raw/num-edge-list.csv", "5\n5\n", {"num-edge-list.csv: it counts the edges of 2 graphs"},
                      ErrorCode::unsupported);
}

TEST_F(ogb_tables, of_edges_that_leave_the_graph_are_refused) {
  for (const char* edge : {"4,1", "1,4", "2147483652,1"})
    expect_refused_with("raw/edge.csv", "0,1\n2,1\n" + std::string(edge) + "\n0,2\n3,3\n",
                        {"raw: edge.csv: line 3: found ", "expected 0 to 3"});
  expect_refused_with("raw/edge.csv", "0,1\n2,-1\n", {"edge.csv: line 2: found -1: expected 0 to 3"});
}

TEST_F(ogb_tables, with_the_wrong_columns_are_refused) {
  for (const char* line :
       {"0", "0,1,2", "0 1", "0;1", "0,", ",1", "a,b", "0.5,1", "source,target", "99999999999999999999,1"})
    expect_refused_with("raw/edge.csv", "0,1\n" + std::string(line) + "\n",
                        {"raw: edge.csv: line 2: found '" + std::string(line) + "'", "SOURCE,TARGET"});
  expect_refused_with("raw/node-feat.csv", "1,2\n3,4\n5\n6,7\n",
                      {"raw: node-feat.csv: line 3: found '5'", "2 numbers"});
  expect_refused_with("raw/node-feat.csv", "1,2\n3,4\n5,6,7\n6,7\n", {"node-feat.csv: line 3", "2 numbers"});
  expect_refused_with("raw/node-feat.csv", "1,2\n3,4\n5,six\n6,7\n", {"node-feat.csv: line 3: found '5,six'"});
  expect_refused_with("raw/node-label.csv", "1\n0\n1,1\n0\n", {"node-label.csv: line 3: found '1,1'", "1 numbers"});
}

TEST_F(ogb_tables, that_are_damaged_gzip_are_named) {
  for (const auto& [file, content] : packed(all_tables())) {
    if (file.find("year") != file.npos) continue;  // never opened
    SCOPED_TRACE(file);
    Files files = packed(all_tables());
    files[file] = content.substr(0, content.size() - 9);
    const std::string name = file.substr(file.find_last_of('/') + 1);
    expect_refused_folder(write(files), {file.substr(0, file.find_last_of('/')) + ": " + name + ": ", "cut off"});
    std::string flipped = content;
    flipped[flipped.size() - 6] ^= 1;  // of the checksum
    files[file] = flipped;
    expect_refused_folder(write(files), {name + ": byte ", "damaged"});
  }
}

TEST_F(ogb_tables, of_several_types_of_nodes_are_refused) {
  for (const char* file : {"raw/triplet-type-list.csv.gz", "raw/num-node-dict.csv.gz", "raw/num-node-dict.csv",
                           "raw/edge_index_dict.npz"}) {
    SCOPED_TRACE(file);
    const std::string path = write({{file, "author,affiliated_with,institution\n"}}, "ogbn_mag");
    const std::string name = std::string(file).substr(4);
    expect_refused_folder(path, {"several types (" + name + ")", "one type of nodes only"}, ErrorCode::unsupported);
    expect_refused_folder(path + "/raw", {"several types"}, ErrorCode::unsupported);
  }
}

TEST_F(ogb_tables, are_not_seen_in_folders_of_something_else) {
  const std::vector<std::string> parts{"in no layout weft knows", "an OGB node-property dataset"};
  expect_refused_folder(write({}), parts, ErrorCode::io);
  expect_refused_folder(write({{"raw/readme.txt", "hello"}}), parts, ErrorCode::io);
  expect_refused_folder(temp_ / "ogbn_arxiv/raw", parts, ErrorCode::io);
  expect_refused_folder(write(split_tables()), parts, ErrorCode::io);
  expect_refused_folder(write({{"edge.csv", "0,1\n"}, {"num-node-list.csv", "2"}}), parts, ErrorCode::io);
}

TEST_F(ogb_tables, that_are_folders_count_as_missing) {
  expect_refused_folder(write({{"raw/edge.csv/x", ""}, {"raw/num-node-list.csv", "2"}, {"raw/num-edge-list.csv", "2"}}),
                        {"raw: it lacks the file edge.csv.gz"});
}

}  // namespace
}  // namespace weft::test
