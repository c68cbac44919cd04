// The rows of a file of features, labels or splits, and the nodes that they are of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/dataset.hpp"

namespace weft::io {

struct NodeRows {
  std::string path;  // of the file, for messages
  std::int64_t count = 0;
  /// What the file calls the node of each row; empty: rows are in the order of nodes.
  std::vector<std::string> keys = {};
  /// "line 7"; none: the number of the row.
  std::function<std::string(std::int64_t row)> place = {};

  std::string note = {};  // what a person should hear of how the file was read

  /// Of a row, for messages.
  std::string place_of(std::int64_t row) const;
};

/// Nodes by what their file calls them: names, ids, or the numbers 0, 1, 2, ...
class NodeIndex {
 public:
  /// Of a dataset that outlives it. An Error where two nodes are called the same.
  explicit NodeIndex(const Dataset& data);
  /// -1 where no node is called so.
  NodeId find(std::string_view key) const;
  /// The same of nodes without names.
  NodeId find(std::int64_t id) const;

 private:
  const Dataset& data_;
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::unordered_map<std::int64_t, NodeId> by_id_;
};

/// What messages call a node.
std::string title_of(const Dataset& data, NodeId node);

/// The graph, ids and names of nodes with those nodes that the files have rows of and the graph lacks: a list of edges
/// says nothing of nodes without any. Nothing where none is missing. Only where the dataset has no features, labels or
/// splits of its own; an Error where a file speaks of no node of the graph, as ids of another kind would.
std::optional<Dataset> with_missing_nodes(const Dataset& data, std::span<const NodeRows* const> files);

/// The node of every row. An Error where there is no such node, or two rows of one.
std::vector<NodeId> nodes_of(const NodeRows& rows, const Dataset& data);

}  // namespace weft::io
