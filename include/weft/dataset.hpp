// Datasets: a graph together with what a model learns from. One loader reads them all, and graphs alone: a file or a
// folder in any supported layout, a generator's SPEC, something built in, or a name that is looked for where datasets
// are kept.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/io.hpp"

namespace weft {

/// A matrix by those entries of its rows that are not 0, as bags of words are kept.
struct SparseRows {
  std::int64_t cols = 0;
  Tensor offsets;  // i64 [rows + 1]
  Tensor columns;  // i32 [entries], ascending within a row
  Tensor values;   // f32 [entries]; none where every entry is 1

  explicit operator bool() const { return static_cast<bool>(offsets); }
  std::int64_t rows() const { return offsets ? offsets.shape().rows - 1 : 0; }
  std::int64_t entries() const { return columns ? columns.shape().rows : 0; }
  Tensor dense(Dtype dtype = Dtype::f32) const;  // [rows, cols]
};

/// What nodes, or classes, are called where a file has words for them instead of numbers: all names behind each other.
struct NodeNames {
  Tensor offsets;    // i64 [names + 1]: name i is the bytes offsets[i] to offsets[i + 1] - 1 of the text
  std::string text;  // as the file has it, usually UTF-8

  explicit operator bool() const { return static_cast<bool>(offsets); }
  std::int64_t count() const { return offsets ? offsets.shape().rows - 1 : 0; }
  std::string_view at(std::int64_t node) const&;
  std::string_view at(std::int64_t node) const&& = delete;
};

struct Dataset : GraphFile {
  std::string source;          // where it came from, for people: a path, or what made it
  Tensor features;             // f32 [nodes, width], or none
  SparseRows sparse_features;  // the same of data that is mostly 0; never both
  Tensor labels;               // i32 [nodes]: classes, -1 where none is known; or f32 [nodes, classes]: 0, 1, NaN
  std::int64_t classes = 0;    // of the labels
  NodeNames class_names;       // [classes]: the file's labels, where those are not 0, 1, 2, ...
  Tensor train, val, test;     // i32: nodes, each in one split at most
  Tensor node_ids;             // i64 [nodes]: the file's ids, where those are not 0, 1, 2, ...
  NodeNames node_names;        // the file's names, where those are words; never both
  Tensor original;             // i32 [nodes]: the number each node had before it was renumbered, where it was
  Tensor graph_ids;            // i32 [nodes], ascending: which graph of a collection a node belongs to
  Tensor graph_labels;         // i32 [graphs]: classes of whole graphs
  std::int64_t graph_classes = 0;

  std::int64_t num_nodes() const { return graph.num_rows(); }
  bool has_features() const { return features || sparse_features; }
  std::int64_t num_features() const { return features ? features.shape().row_size() : sparse_features.cols; }
  bool multi_label() const { return labels && labels.shape().rank > 1; }
  std::int64_t num_graphs() const { return graph_labels ? graph_labels.shape().rows : 0; }
  /// Every tensor beside the graph and its values, given or not.
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
  /// Whether there is more to it than a graph.
  bool has_more_than_graph() const {
    for (const Tensor* part : parts())
      if (*part) return true;
    return false;
  }
};

/// A file or folder in any supported layout.
Dataset read_dataset(const std::string& path, const ReadOptions& options = {});
/// What the command line takes as DATA.
Dataset open_dataset(const std::string& source, const ReadOptions& options = {});
/// Datasets that need no file: karate, citations. A name may be followed by a colon and options, as a generator's SPEC.
bool is_builtin_dataset(std::string_view text);
struct BuiltinDataset {
  std::string_view name;
  std::string form;  // with every option at its default
  std::string_view description;
};
std::vector<BuiltinDataset> builtin_datasets();
/// To a .weft file, which keeps all of it; to any other format that is written, which keep the graph alone.
void write_dataset(const std::string& path, const Dataset& dataset, const Progress& progress = {});
/// An Error (invalid_file) that says which part does not fit the others, and where.
void validate(const Dataset& dataset);

/// Of the edges between two nodes whose class is known, those within one class; -1 where there is no such edge or nodes
/// have several classes.
double homophily(const Dataset& dataset);

/// What a dataset gets from files of its own; empty: it stays as it is.
struct DatasetParts {
  std::string features = {};  // identity, degree, constant or a file: .npy, .npz, CSV
  std::string labels = {};    // none or a file: .npy, CSV
  std::string masks = {};     // a file: .npz, CSV
};
/// Replaces the parts named; docs/own-data.md has the layouts of the files. Rows are matched to nodes by the ids or
/// names that the file has, otherwise by their order. Nodes that only these files have are added to a graph that came
/// without parts. Returns what a person should hear of it, a line each.
std::vector<std::string> attach(Dataset& dataset, const DatasetParts& parts, const Progress& progress = {});

/// How the nodes with a known label are drawn into train, val and test.
struct SplitSpec {
  enum class Method { random, stratified };

  Method method = Method::random;
  double train = 0.6, val = 0.2, test = 0.2;  // random: fractions of these nodes, together at most 1
  std::int64_t per_class = 20, val_nodes = 500, test_nodes = 1000;  // stratified, as Planetoid's public split: train
                                                                    // nodes of every class; val, test of the rest
};
/// "random:0.6,0.2,0.2" or "stratified:20,500,1000"; the numbers may be left out where they are these.
SplitSpec parse_split(std::string_view text);
std::string to_string(const SplitSpec& split);
/// Replaces the dataset's splits. What is drawn depends on labels, `split` and `seed` alone, on every machine. Classes
/// that no node has are passed over. An Error (invalid_argument) where there are too few nodes.
void split_nodes(Dataset& dataset, const SplitSpec& split, std::uint64_t seed);

}  // namespace weft
