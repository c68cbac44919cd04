// fuzz_seeds FOLDER: writes a few right inputs of every layout, which fuzzing starts from.
#include <zip.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bundle.hpp"
#include "graph/dataset/pickles.hpp"
#include "graph/io/gzip.hpp"
#include "graph/io/npy.hpp"
#include "graph/io/packers.hpp"
#include "seed_models.hpp"
#include "weft/dataset.hpp"

namespace {

using namespace weft;

std::string root;

void put(const std::string& format, const std::string& name, std::string_view bytes) {
  const std::string folder = root + "/" + format;
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/" + name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::string npy(std::string_view descr, const std::vector<T>& values, std::vector<std::int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return io::make_npy_header(descr, shape) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}
/// The same bytes said to be in Fortran's order.
std::string by_columns(std::string array) {
  constexpr std::string_view in_rows = "False,", in_columns = "True, ";
  return array.replace(array.find(in_rows), in_rows.size(), in_columns);
}
std::string npz(const std::map<std::string, std::string>& members, int method) {
  const std::string path = root + "/archive.tmp";
  zip_t* const archive = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const auto& [key, bytes] : members) {
    const auto at = ::zip_file_add(archive, (key + ".npy").c_str(),
                                   ::zip_source_buffer(archive, bytes.data(), bytes.size(), 0), ZIP_FL_OVERWRITE);
    ::zip_set_file_compression(archive, static_cast<zip_uint64_t>(at), method, 0);
  }
  ::zip_close(archive);
  const std::string bytes = get(path);
  std::filesystem::remove(path);
  return bytes;
}

void write_graph_files() {
  const Graph graph = Graph::from_edges(
      4, {.sources = std::vector<NodeId>{0, 1, 2, 3, 3}, .destinations = std::vector<NodeId>{1, 2, 3, 0, 0}});
  const std::vector<float> values = {0.5f, 1, 2, 3, 4};
  const Tensor edge_values = Tensor::from(std::span<const float>(values), Shape(5));
  for (const std::string format : {"weft", "npz", "mtx"}) {
    const std::string path = root + "/seed." + format;
    write_graph(path, graph);
    put(format, "plain", get(path));
    write_graph(path, graph, edge_values, {}, "a note");
    put(format, "values", get(path));
    std::filesystem::remove(path);
  }
  put("mtx", "symmetric", "%%MatrixMarket matrix coordinate integer symmetric\n% c\n3 3 2\n2 1 5\n3 3 -7\n");
  put("mtx", "packed", io::gzip_member("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n"));
  const std::vector<std::int32_t> rows = {3, 3, 2, 0, 1, 1, 2, 2, 0};
  put("csr", "small", {reinterpret_cast<const char*>(rows.data()), rows.size() * 4});
  put("edge_list", "snap", "# Nodes: 3\n0\t2\n2 1\n");
  put("edge_list", "sparse", "100,7\n7,4000000000\n");
  put("edge_list", "packed", io::gzip_member("0 1 0.5\n1 2 1\n"));
  put("edge_list", "header", "\xef\xbb\xbfsource;target;w;kind\r\n0;1;2;a\r\n1;2.0;3;b\r\n");
  put("edge_list", "names", "from,to\nann,\"b \"\"o\"\"\"\nbob,\"two\nlines\"\n");
  put("edge_list", "braces", "0 1 {'weight': 2.0}\n1 2 {'color': 'red', 'weight': -3}\n");
  put("edge_list", "konect", "% sym weighted\n1 2 1 1082040961\n2 3 -1 1082040962\n");
  put("metis", "plain", "% c\n4 3\n2\n1 3\n2 4\n3\n");
  put("metis", "weights", "3 2 111 2\n1 5 6 2 1.5 3 2\n1 5 6 1 1.5\n1 5 6 1 2\n");
  put("metis", "empty", "3 1 1\n\n3 0.5\n2 0.5\n\n");
  for (const io::PackingName& each : io::packings) {
    const std::string name(each.name);
    put("edge_list", name, test::packed(each.packing, "0 1 0.5\n1 2 1\n") + test::packed(each.packing, "2 0 1\n"));
    put("mtx", name, test::packed(each.packing, "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n"));
    put("csr", name, test::packed(each.packing, {reinterpret_cast<const char*>(rows.data()), rows.size() * 4}));
  }
}

Tensor tensor(const std::vector<double>& values, Shape shape, Dtype dtype) {
  return Tensor::from(std::span<const double>(values), shape, dtype);
}

/// Between them they have every section.
void write_weft_datasets() {
  const std::string path = root + "/seed.weft";
  Dataset data;
  data.graph =
      Graph::from_edges(3, {.sources = std::vector<NodeId>{0, 1, 2}, .destinations = std::vector<NodeId>{1, 2, 0}});
  data.name = "tiny";
  data.train = tensor({0}, Shape(1), Dtype::i32);
  data.val = tensor({1}, Shape(1), Dtype::i32);
  data.test = tensor({2}, Shape(1), Dtype::i32);
  data.node_ids = tensor({7, 3, 9}, Shape(3), Dtype::i64);
  data.features = tensor({1, 2, 3, 4, 5, 6}, Shape(3, 2), Dtype::f32);
  data.labels = tensor({0, 1, 1, 0, 0, 1}, Shape(3, 2), Dtype::f32);
  data.classes = 2;
  write_dataset(path, data);
  put("weft", "dense", get(path));

  data.features = {};
  data.sparse_features = {4, tensor({0, 2, 2, 3}, Shape(4), Dtype::i64), tensor({0, 3, 1}, Shape(3), Dtype::i32),
                          tensor({1, 2, 3}, Shape(3), Dtype::f32)};
  data.labels = tensor({1, -1, 0}, Shape(3), Dtype::i32);
  data.graph_ids = tensor({0, 0, 0}, Shape(3), Dtype::i32);
  data.graph_labels = tensor({1}, Shape(1), Dtype::i32);
  data.graph_classes = 2;
  write_dataset(path, data);
  put("weft", "sparse", get(path));

  data.node_ids = {};
  data.node_names = {tensor({0, 3, 3, 6}, Shape(4), Dtype::i64), "annbob"};
  write_dataset(path, data);
  put("weft", "names", get(path));
  std::filesystem::remove(path);
}

void write_matrices() {
  std::map<std::string, std::string> members = {{"indptr", npy<std::int32_t>("<i4", {0, 1, 2, 3})},
                                                {"indices", npy<std::int32_t>("<i4", {1, 0, 1})},
                                                {"data", npy<std::int64_t>("<i8", {1, 2, 3})},
                                                {"shape", npy<std::int64_t>("<i8", {2, 3})},
                                                {"format", io::make_npy_header("|S3", {}) + "csc"}};
  put("npz", "columns", npz(members, ZIP_CM_STORE));
  for (const char* key : {"indptr", "indices"}) members.erase(key);
  members["row"] = npy<std::int32_t>("<i4", {1, 0, 1});
  members["col"] = npy<std::int32_t>("<i4", {0, 1, 2});
  members["format"] = io::make_npy_header("|S3", {}) + "coo";
  put("npz", "pairs", npz(members, ZIP_CM_DEFLATE));
}

void write_npz_datasets() {
  std::map<std::string, std::string> members = {{"adj_indptr", npy<std::int32_t>("<i4", {0, 2, 2, 3})},
                                                {"adj_indices", npy<std::int32_t>("<i4", {1, 2, 1})},
                                                {"adj_data", npy<float>("<f4", {1, 2, 1})},
                                                {"adj_shape", npy<std::int64_t>("<i8", {3, 3})},
                                                {"attr_indptr", npy<std::int32_t>("<i4", {0, 2, 2, 3})},
                                                {"attr_indices", npy<std::int32_t>("<i4", {0, 3, 1})},
                                                {"attr_shape", npy<std::int64_t>("<i8", {3, 5})},
                                                {"labels", npy<std::int8_t>("|i1", {1, 0, 2})},
                                                {"train_idx", npy<std::int32_t>("<i4", {2})}};
  put("npz_dataset", "sparse", npz(members, ZIP_CM_STORE));
  put("npz_dataset", "deflated", npz(members, ZIP_CM_DEFLATE));
  for (const char* key : {"attr_indptr", "attr_indices", "attr_shape", "labels"}) members.erase(key);
  members["attr_matrix"] = npy<float>("<f4", {1, 2, 3, 4, 5, 6}, {3, 2});
  members["labels_indptr"] = npy<std::int32_t>("<i4", {0, 2, 2, 3});
  members["labels_indices"] = npy<std::int32_t>("<i4", {0, 1, 1});
  members["labels_shape"] = npy<std::int64_t>("<i8", {3, 2});
  put("npz_dataset", "dense", npz(members, ZIP_CM_STORE));
  members = {{"edge_index", npy<std::int64_t>("<i8", {0, 0, 2, 1, 2, 1}, {2, 3})},
             {"edge_weight", npy<float>("<f4", {1, 2, 0.5f})},
             {"num_nodes", npy<std::int64_t>("<i8", {3})},
             {"x", npy<float>("<f4", {1, 2, 3, 4, 5, 6}, {3, 2})},
             {"y", npy<std::int64_t>("<i8", {1, 0, 2})},
             {"train_mask", npy<std::uint8_t>("|b1", {1, 0, 0})},
             {"val_mask", npy<std::uint8_t>("|b1", {0, 1, 0, 0, 0, 0}, {3, 2})}};
  put("npz_dataset", "edge_index", npz(members, ZIP_CM_STORE));
  put("npy", "rows", members["edge_index"]);
  put("npy", "columns", npy<std::int32_t>("<i4", {0, 1, 0, 2, 2, 1}, {3, 2}));
  put("npy", "fortran", by_columns(members["edge_index"]));
  for (const char* key : {"edge_index", "x", "val_mask"}) members[key] = by_columns(members[key]);
  put("npz_dataset", "fortran", npz(members, ZIP_CM_DEFLATE));
}

/// Files about the nodes that attach.cpp's graphs have.
void write_attached() {
  put("features", "ids", "id,a,b\n2,1,2\n7,3,4\n10,5,6\n4000000000,7,8\n");
  put("features", "names", "node;a\nann;1\nbob;0.5\n\"St. Ives\";2\n7;nan\n");
  put("features", "rows", "1,2,\n3,1e300\n0,5;4\n5\t6\n");
  put("features", "matrix", npy<double>("<f8", {1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}));
  put("features", "archive", npz({{"x", npy<float>("<f4", {1, 2, 3, 4}, {4, 1})}}, ZIP_CM_DEFLATE));
  put("features", "sparse",
      npz({{"indptr", npy<std::int32_t>("<i4", {0, 1, 1, 2, 3})},
           {"indices", npy<std::int32_t>("<i4", {1, 0, 2})},
           {"data", npy<float>("<f4", {1, 2, 3})},
           {"shape", npy<std::int64_t>("<i8", {4, 3})},
           {"format", io::make_npy_header("|S3", {}) + "csr"}},
          ZIP_CM_STORE));
  put("labels", "numbers", "node,label\n0,2021\n1,2019\n5,2021\n");
  put("labels", "names", "who,team\nann,x\nbob,\nSt. Ives,\"y, z\"\n");
  put("labels", "rows", "0\n1\n-1\nnan\n");
  put("labels", "classes", npy<std::int64_t>("<i8", {0, 2, -1, 1}));
  put("labels", "several", npy<float>("<f4", {0, 1, 1, 0, 0, 0, 1, 1}, {4, 2}));
  put("masks", "words", "node,split\n0,train\n2,Valid\n7,test\n3,none\n");
  put("masks", "rows", "train\nval\ntest\n\n");
  put("masks", "marks",
      npz({{"train_mask", npy<std::uint8_t>("|b1", {1, 0, 0, 0})},
           {"val_mask", npy<float>("<f4", {0, 1, 0, 0, 0, 1, 0, 0}, {4, 2})}},
          ZIP_CM_STORE));
  put("masks", "places",
      npz({{"train_idx", npy<std::int32_t>("<i4", {2, 0})}, {"test", npy<std::int64_t>("<i8", {3})}}, ZIP_CM_DEFLATE));
  for (const io::PackingName& each : io::packings) {
    const std::string name(each.name);
    put("features", name, test::packed(each.packing, "id,a\n0,1\n1,2\n2,3\n3,4\n"));
    put("labels", name, test::packed(each.packing, "node,label\nann,x\nbob,y\n"));
    put("masks", name, test::packed(each.packing, "node,split\n0,train\n1,val\n"));
  }
}

using Files = std::map<std::string, std::string>;

std::string bundle(const Files& files) {
  std::string all;
  for (const auto& [name, content] : files)
    all.append(all.empty() ? test::bundle_mark : test::next_bundle_mark).append(name).append("\n").append(content);
  return all;
}

void write_planetoid() {
  using namespace test::pickles;
  put("planetoid", "small",
      bundle({{"ind.tiny.x", pickle(Csr(1, 4, {0, 2}, {3, 1}, {1, 1})())},
              {"ind.tiny.y", pickle(array<std::int32_t>({1, 2}, {0, 1}))},
              {"ind.tiny.allx", pickle(Csr(3, 4, {0, 2, 4, 5}, {3, 1, 0, 2, 2}, {1, 1, 1, 0, 1})())},
              {"ind.tiny.ally", pickle(array<std::int32_t>({3, 2}, {0, 1, 1, 0, 0, 1}))},
              {"ind.tiny.tx", pickle(Csr(2, 4, {0, 1, 3}, {0, 1, 3}, {1, 1, 1})())},
              {"ind.tiny.ty", pickle(array<std::int32_t>({2, 2}, {0, 1, 1, 0}))},
              {"ind.tiny.test.index", "5\n3\n"},
              {"ind.tiny.graph",
               pickle(neighbours({{1, {0, 2}}, {0, {2, 1, 1, 0}}, {2, {1, 0}}, {3, {5}}, {4, {}}, {5, {3}}}))}}));
}

void write_folders() {
  Files ogb = {{"raw/edge.csv", "0,1\n1,2\n"},        {"raw/num-node-list.csv", "3\n"},
               {"raw/num-edge-list.csv", "2\n"},      {"raw/node-feat.csv", "0.5,1\n1,2\n3,4\n"},
               {"raw/node-label.csv", "0\nnan\n1\n"}, {"split/time/train.csv", "0\n"},
               {"split/time/valid.csv", "1\n"},       {"split/time/test.csv", "2\n"}};
  put("ogb", "tables", bundle(ogb));
  for (const char* name :
       {"raw/edge.csv", "raw/num-node-list.csv", "raw/num-edge-list.csv", "raw/node-feat.csv", "raw/node-label.csv"})
    ogb.erase(name);
  ogb["raw/data.npz"] = npz({{"edge_index", npy<std::int64_t>("<i8", {0, 1, 1, 2}, {2, 2})},
                             {"num_nodes_list", npy<std::int64_t>("<i8", {3})},
                             {"num_edges_list", npy<std::int64_t>("<i8", {2})},
                             {"node_feat", npy<float>("<f4", {1, 2, 3, 4, 5, 6}, {3, 2})}},
                            ZIP_CM_STORE);
  ogb["raw/node-label.npz"] = npz({{"node_label", npy<float>("<f4", {0, 1, 1}, {3, 1})}}, ZIP_CM_STORE);
  put("ogb", "arrays", bundle(ogb));

  const std::map<std::string, std::string> matrix = {{"data", npy<float>("<f4", {1, 1, 1})},
                                                     {"indices", npy<std::int32_t>("<i4", {1, 2, 1})},
                                                     {"indptr", npy<std::int32_t>("<i4", {0, 2, 2, 3})},
                                                     {"shape", npy<std::int64_t>("<i8", {3, 3})}};
  Files saint = {{"adj_full.npz", npz(matrix, ZIP_CM_STORE)},
                 {"feats.npy", npy<double>("<f8", {1, 2, 3, 4, 5, 6}, {3, 2})},
                 {"class_map.json", R"({"0": 1, "1": 0, "2": 2})"},
                 {"role.json", R"({"tr": [0], "va": [1], "te": [2]})"}};
  put("graphsaint", "classes", bundle(saint));
  saint["class_map.json"] = R"({"0": [1, 0], "2": [0, 1]})";
  put("graphsaint", "lists", bundle(saint));

  put("reddit", "small",
      bundle({{"reddit_data.npz", npz({{"feature", npy<float>("<f4", {1, 2, 3, 4, 5, 6}, {3, 2})},
                                       {"label", npy<std::int64_t>("<i8", {0, 1, 2})},
                                       {"node_types", npy<std::int64_t>("<i8", {1, 2, 3})}},
                                      ZIP_CM_STORE)},
              {"reddit_graph.npz", npz(matrix, ZIP_CM_DEFLATE)}}));

  put("tu", "small",
      bundle({{"DS_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n"},
              {"DS_graph_indicator.txt", "1\n1\n2\n2\n"},
              {"DS_graph_labels.txt", "-1\n1\n"},
              {"DS_node_labels.txt", "0\n2\n0\n1\n"},
              {"DS_node_attributes.txt", "0.5, 1\n1, 2\n3, 4\n5, 6\n"}}));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  root = arguments[1];
  std::filesystem::create_directories(root);
  write_graph_files();
  write_matrices();
  write_weft_datasets();
  write_npz_datasets();
  write_attached();
  write_planetoid();
  write_folders();
  const std::string path = root + "/seed.safetensors";
  test::write_models(
      path, [&](const char* format, const std::string& name) { put(format, name, get(path)); }, put);
  std::filesystem::remove(path);
  return 0;
}
