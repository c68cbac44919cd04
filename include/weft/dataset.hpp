// A dataset is a graph with features, labels and splits for a model. One loader reads datasets and plain graphs: from a
// file or a folder in any supported layout, a generator's SPEC, a built-in dataset, or a name that is searched for in
// the folders of datasets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/io.hpp"

namespace weft {

/// A sparse matrix in compressed rows, such as bags of words.
struct SparseRows {
  std::int64_t cols = 0;
  Tensor offsets;  // i64 [rows + 1]
  Tensor columns;  // i32 [entries], ascending within a row
  Tensor values;   // f32 [entries]; none if every entry is 1

  explicit operator bool() const { return static_cast<bool>(offsets); }
  std::int64_t rows() const { return offsets ? offsets.shape().rows - 1 : 0; }
  std::int64_t entries() const { return columns ? columns.shape().rows : 0; }
  Tensor dense(Dtype dtype = Dtype::f32) const;  // [rows, cols]
};

/// Names of nodes or classes, for files that name them in words and not by number; all names are concatenated.
struct NodeNames {
  Tensor offsets;    // i64 [names + 1]: name i is the bytes offsets[i] to offsets[i + 1] - 1 of the text
  std::string text;  // as in the file, usually UTF-8

  explicit operator bool() const { return static_cast<bool>(offsets); }
  std::int64_t count() const { return offsets ? offsets.shape().rows - 1 : 0; }
  std::string_view at(std::int64_t node) const&;
  std::string_view at(std::int64_t node) const&& = delete;
};

struct Dataset : GraphFile {
  std::string source;          // for people: the path, or what generated the dataset
  Tensor features;             // f32 [nodes, width], or none
  SparseRows sparse_features;  // features that are mostly 0; never both
  Tensor labels;               // i32 [nodes]: classes, -1 if unknown; or f32 [nodes, classes]: 0, 1, NaN
  std::int64_t classes = 0;    // of the labels
  NodeNames class_names;       // [classes]: the file's labels, unless those are 0, 1, 2, ...
  Tensor train, val, test;     // i32: nodes, each in at most one split
  Tensor node_ids;             // i64 [nodes]: the file's ids, unless those are 0, 1, 2, ...
  NodeNames node_names;        // the file's names, if they are words; never together with node_ids
  Tensor original;             // i32 [nodes]: each node's number before renumbering; none if it was not renumbered
  Tensor graph_ids;            // i32 [nodes], ascending: which graph of a collection a node belongs to
  Tensor graph_labels;         // i32 [graphs]: classes of whole graphs
  std::int64_t graph_classes = 0;

  std::int64_t num_nodes() const { return graph.num_rows(); }
  bool has_features() const { return features || sparse_features; }
  std::int64_t num_features() const { return features ? features.shape().row_size() : sparse_features.cols; }
  bool multi_label() const { return labels && labels.shape().rank > 1; }
  std::int64_t num_graphs() const { return graph_labels ? graph_labels.shape().rows : 0; }
  /// Every tensor other than the graph's and its values, given or not.
  std::array<const Tensor*, 14> parts() const {
    return {&features,
            &sparse_features.offsets,
            &sparse_features.columns,
            &sparse_features.values,
            &labels,
            &class_names.offsets,
            &train,
            &val,
            &test,
            &node_ids,
            &node_names.offsets,
            &original,
            &graph_ids,
            &graph_labels};
  }
  /// Whether the dataset has more than a graph.
  bool has_more_than_graph() const {
    for (const Tensor* part : parts())
      if (*part) return true;
    return false;
  }
};

/// Reads a file or folder in any supported layout.
Dataset read_dataset(const std::string& path, const ReadOptions& options = {});
/// Opens what the command line accepts as DATA.
Dataset open_dataset(const std::string& source, const ReadOptions& options = {});
/// Whether `text` names a dataset that needs no file: karate, citations. A name may be followed by a colon and options,
/// like a generator's SPEC.
bool is_builtin_dataset(std::string_view text);
struct BuiltinDataset {
  std::string_view name;
  std::string form;  // with every option at its default
  std::string_view description;
};
std::vector<BuiltinDataset> builtin_datasets();
/// Writes a .weft file, which holds the whole dataset, or one of the other writable formats, which hold only the graph.
void write_dataset(const std::string& path, const Dataset& dataset, const Progress& progress = {});
/// Throws an Error (invalid_file) that names a part that does not fit the others, and the position.
void validate(const Dataset& dataset);

/// The fraction of edges within one class among the edges between two nodes of known class; -1 if there is no such edge
/// or nodes have several classes.
double homophily(const Dataset& dataset);

/// Parts of a dataset to replace from separate files; an empty part stays as it is.
struct DatasetParts {
  std::string features = {};  // identity, degree, constant or a file: .npy, .npz, CSV
  std::string labels = {};    // none or a file: .npy, CSV
  std::string masks = {};     // a file: .npz, CSV
};
/// Replaces the named parts; docs/own-data.md describes the files. Rows are matched to nodes by the ids or names in the
/// file, otherwise by their order. Nodes that only these files have are added to a graph that came without parts.
/// Returns messages to show to a person, one line each.
std::vector<std::string> attach(Dataset& dataset, const DatasetParts& parts, const Progress& progress = {});

/// How the nodes with a known label are divided at random into train, val and test.
struct SplitSpec {
  enum class Method { random, stratified };

  Method method = Method::random;
  double train = 0.6, val = 0.2, test = 0.2;  // random: fractions of these nodes, together at most 1
  std::int64_t per_class = 20, val_nodes = 500, test_nodes = 1000;  // stratified, as Planetoid's public split: train
                                                                    // nodes of every class; val, test of the rest
};
/// Accepts "random:0.6,0.2,0.2" or "stratified:20,500,1000"; the numbers are optional and default to these.
SplitSpec parse_split(std::string_view text);
std::string to_string(const SplitSpec& split);
/// Replaces the dataset's splits. The draw depends only on labels, `split` and `seed`, on every machine. Classes
/// without nodes are skipped. An Error (invalid_argument) if there are too few nodes.
void split_nodes(Dataset& dataset, const SplitSpec& split, std::uint64_t seed);

}  // namespace weft
