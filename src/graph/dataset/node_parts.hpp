// What files say about the nodes of a graph that is in another file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dataset/node_rows.hpp"
#include "graph/dataset/npz_splits.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

struct NodeFeatures {
  NodeRows rows;
  Tensor dense;       // f32 [rows, width], or
  SparseRows sparse;  // in the order of nodes
};
NodeFeatures read_features(const std::string& path, const Dataset& data, const Progress& progress);

struct NodeLabels {
  NodeRows rows;
  std::vector<std::int32_t> classes;  // of every row, -1 for none; or
  Tensor several;                     // f32 [rows, classes]: 0, 1, NaN
  std::int64_t num_classes = 0;
  std::vector<std::string> names;  // of the classes, where those are not 0, 1, 2, ...
};
NodeLabels read_labels(const std::string& path, const Dataset& data, const Progress& progress);

enum class Part : std::uint8_t { none, train, val, test };
struct NodeSplits {
  NodeRows rows;            // of a table, or of the masks of an archive
  std::vector<Part> parts;  // of every row of a table; or
  std::optional<SplitArrays> arrays = {};
  /// Lists of places alone say nothing of how many nodes there are.
  bool has_rows() const { return !arrays || !arrays->mask_key.empty(); }
};
/// `most_nodes`: no fewer than the graph will have with those that other files add to it.
NodeSplits read_splits(const std::string& path, const Dataset& data, std::int64_t most_nodes, const Progress& progress);

}  // namespace weft::io
