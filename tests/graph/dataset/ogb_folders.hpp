// A small OGB dataset as tests write it: 4 nodes, the edges 0 -> 1, 2 -> 1, 3 -> 0, 0 -> 2, 3 -> 3 in this order.
#pragma once

#include <map>

#include "graph/io/archives.hpp"
#include "graph/io/gzip.hpp"
#include "weft/dataset.hpp"

namespace weft::test {

using Files = std::map<std::string, std::string>;  // path below the dataset's folder -> content

inline Files graph_tables() {
  return {{"raw/edge.csv", "0,1\n2,1\n3,0\n0,2\n3,3\n"},
          {"raw/num-node-list.csv", "4\n"},
          {"raw/num-edge-list.csv", "5\n"}};
}

inline Files split_tables(const std::string& how = "time") {
  return {{"split/" + how + "/train.csv", "2\n0\n"},
          {"split/" + how + "/valid.csv", "3\n"},
          {"split/" + how + "/test.csv", "1\n"}};
}

inline Files all_tables() {
  Files files = graph_tables();
  files["raw/node-feat.csv"] = "0.5,1,-2\n1,0,0\n3,0.25,1e-3\n,nan,4\n";
  files["raw/node-label.csv"] = "1\n0\n2\n1\n";
  files["raw/node_year.csv"] = "2010\n2011\n2012\n2013\n";
  files.merge(split_tables());
  return files;
}

template <class T>
std::string npy_rows(std::string_view descr, std::int64_t rows, const std::vector<T>& values) {
  return io::make_npy_header(descr, {rows, static_cast<std::int64_t>(values.size()) / rows}) + raw(values);
}

inline Members graph_arrays() {
  return {{"edge_index", npy_rows<std::int64_t>("<i8", 2, {0, 2, 3, 0, 3, 1, 1, 0, 2, 3})},
          {"num_nodes_list", npy<std::int64_t>("<i8", {4})},
          {"num_edges_list", npy<std::int64_t>("<i8", {5})}};
}

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  return list(tensor.span<T>());
}

class OgbFolder : public ::testing::Test {
 protected:
  static Files packed(const Files& files) {
    Files result;
    for (const auto& [name, content] : files) result[name + ".gz"] = io::gzip_member(content);
    return result;
  }

  /// A fresh folder of this name with these files in it.
  std::string write(const Files& files, const std::string& name = "ogbn_arxiv") {
    std::filesystem::remove_all(temp_ / name);
    std::filesystem::create_directories(temp_ / name);
    for (const auto& [file, content] : files) {
      std::filesystem::create_directories(std::filesystem::path(temp_ / (name + "/" + file)).parent_path());
      put(temp_ / (name + "/" + file), content);
    }
    return temp_ / name;
  }
  std::string write_arrays(const Members& data, const Members& labels = {}, const std::string& name = "ogbn_arxiv",
                           int method = ZIP_CM_STORE) {
    const std::string path = write(split_tables(), name);
    std::filesystem::create_directories(path + "/raw");
    put_npz(path + "/raw/data.npz", data, method);
    if (!labels.empty()) put_npz(path + "/raw/node-label.npz", labels, method);
    return path;
  }

  void expect_refused_folder(const std::string& path, const std::vector<std::string>& parts,
                             ErrorCode code = ErrorCode::invalid_file, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
    expect_file_error([&] { read_dataset(path); }, path, code, parts, file, line);
  }

  void expect_the_graph(const Graph& graph) {
    EXPECT_EQ(graph.num_rows(), 4);
    EXPECT_EQ(graph.num_cols(), 4);
    EXPECT_EQ(list(graph.offsets()), (std::vector<EdgeId>{0, 1, 3, 4, 5}));
    EXPECT_EQ(list(graph.cols()), (std::vector<NodeId>{3, 0, 2, 0, 3}));
    EXPECT_EQ(list(graph.edge_ids()), (std::vector<EdgeId>{2, 0, 1, 3, 4}));
  }
  /// Edge k of the files has the id 2k, its reverse 2k + 1.
  void expect_the_graph_both_ways(const Graph& graph) {
    EXPECT_EQ(list(graph.offsets()), (std::vector<EdgeId>{0, 3, 5, 7, 10}));
    EXPECT_EQ(list(graph.cols()), (std::vector<NodeId>{1, 2, 3, 0, 2, 0, 1, 0, 3, 3}));
    EXPECT_EQ(list(graph.edge_ids()), (std::vector<EdgeId>{1, 7, 4, 0, 2, 6, 3, 5, 8, 9}));
  }
  /// What tables and arrays have in common: all but features and labels.
  void expect_the_dataset(const Dataset& data) {
    EXPECT_EQ(data.format, "ogb");
    EXPECT_EQ(data.name, "ogbn_arxiv");
    EXPECT_EQ(data.note, "");
    expect_the_graph(data.graph);
    expect_the_splits(data);
  }
  void expect_the_splits(const Dataset& data) {
    EXPECT_EQ(elements<std::int32_t>(data.train), (std::vector<std::int32_t>{2, 0}));
    EXPECT_EQ(elements<std::int32_t>(data.val), (std::vector<std::int32_t>{3}));
    EXPECT_EQ(elements<std::int32_t>(data.test), (std::vector<std::int32_t>{1}));
  }

  TempFolder temp_;
};

}  // namespace weft::test
