#include "graph/dataset/node_rows.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_set>

#include "core/check.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/delimited.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

/// The ids of nodes that have no names.
std::vector<std::int64_t> ids_of(const Dataset& data) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(data.num_nodes()));
  if (data.node_ids)
    std::ranges::copy(data.node_ids.span<std::int64_t>(), ids.begin());
  else
    std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

bool counts_from_0(std::span<const std::int64_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// The same edges, with the same ids, between nodes of other numbers.
Graph renumbered(const Graph& graph, std::int64_t nodes, std::span<const NodeId> new_of_old) {
  const GraphView view = graph.view_with_rows();
  std::vector<NodeId> sources(static_cast<std::size_t>(view.num_edges)), targets(sources.size());
  for (EdgeId k = 0; k < view.num_edges; ++k) {
    const auto id = static_cast<std::size_t>(view.edge_id(k));
    sources[id] = new_of_old[static_cast<std::size_t>(view.cols[k])];
    targets[id] = new_of_old[static_cast<std::size_t>(view.rows[k])];
  }
  return Graph::from_edges(nodes, {.sources = sources, .destinations = targets});
}

/// Nodes are in the order of their ids then, as in a list of edges that has them all.
Dataset add_ids(const Dataset& data, const std::vector<std::int64_t>& missing) {
  const std::vector<std::int64_t> old = ids_of(data);
  std::vector<std::int64_t> all = old;
  all.insert(all.end(), missing.begin(), missing.end());
  std::ranges::sort(all);
  const auto nodes = static_cast<std::int64_t>(all.size());
  check_counts(nodes, nodes, data.graph.num_edges());
  std::vector<NodeId> new_of_old;
  new_of_old.reserve(old.size());
  for (const std::int64_t id : old)
    new_of_old.push_back(static_cast<NodeId>(std::ranges::lower_bound(all, id) - all.begin()));
  Dataset grown;
  grown.graph = renumbered(data.graph, nodes, new_of_old);
  grown.node_ids = counts_from_0(all) ? Tensor() : tensor_of(all, "the file's node ids");
  return grown;
}

Dataset add_names(const Dataset& data, const std::vector<std::string>& missing) {
  const std::int64_t nodes = data.num_nodes() + static_cast<std::int64_t>(missing.size());
  check_counts(nodes, nodes, data.graph.num_edges());
  std::vector<NodeId> same(static_cast<std::size_t>(data.num_nodes()));
  std::iota(same.begin(), same.end(), 0);
  Dataset grown;
  grown.graph = renumbered(data.graph, nodes, same);
  std::vector<std::string_view> names;
  for (std::int64_t node = 0; node < data.node_names.count(); ++node) names.push_back(data.node_names.at(node));
  names.insert(names.end(), missing.begin(), missing.end());
  grown.node_names = names_of(names);
  return grown;
}

/// "'ann', 'bob', ...": for messages about keys that are of no node.
std::string examples(const Dataset& data) {
  std::string text;
  for (NodeId node = 0; node < std::min<std::int64_t>(data.num_nodes(), 3); ++node)
    text += (text.empty() ? "" : ", ") + title_of(data, node);
  return data.num_nodes() > 3 ? text + ", ..." : text;
}

[[noreturn]] void fail_number(const NodeRows& rows, std::int64_t row, const Dataset& data) {
  fail(ErrorCode::invalid_file, "{}: {} is of node {}, but the graph's nodes are numbers ({})", rows.path,
       rows.place_of(row), in_quotes(rows.keys[static_cast<std::size_t>(row)]), examples(data));
}

/// Rows of nodes that the graph lacks, each node once; none of a file in the order of nodes.
std::vector<std::int64_t> rows_of_missing(const NodeRows& rows, const NodeIndex& index, const Dataset& data) {
  std::vector<std::int64_t> missing;
  std::unordered_set<std::string_view> seen;
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(rows.keys.size()); ++row) {
    const std::string& key = rows.keys[static_cast<std::size_t>(row)];
    if (index.find(key) < 0 && seen.insert(key).second) missing.push_back(row);
  }
  WEFT_CHECK(missing.empty() || missing.size() < rows.keys.size(), invalid_file,
             "{}: none of its {} rows is of a node of the graph: the first is of {}, and the graph's nodes are {}",
             rows.path, rows.keys.size(), in_quotes(rows.keys.front()), examples(data));
  return missing;
}

/// Whether rows without keys say that there are nodes from 0 to their number, more than have edges.
bool count_more_nodes(const NodeRows& rows, const Dataset& data) {
  if (!rows.keys.empty() || data.node_names || rows.count <= data.num_nodes()) return false;
  if (!data.node_ids) return true;
  return std::ranges::all_of(data.node_ids.span<std::int64_t>(),
                             [&](std::int64_t id) { return id >= 0 && id < rows.count; });
}

}  // namespace

std::string NodeRows::place_of(std::int64_t row) const { return place ? place(row) : fmt::format("row {}", row); }

NodeIndex::NodeIndex(const Dataset& data) : data_(data) {
  const auto check_new = [](bool is_new, const auto& called) {
    WEFT_CHECK(is_new, invalid_file, "two nodes of the graph are called {}: rows of a file cannot be matched to them",
               called);
  };
  by_name_.reserve(static_cast<std::size_t>(data.node_names.count()));
  for (std::int64_t node = 0; node < data.node_names.count(); ++node)
    check_new(by_name_.emplace(data.node_names.at(node), static_cast<NodeId>(node)).second,
              in_quotes(data.node_names.at(node)));
  if (!data.node_ids) return;
  const auto ids = data.node_ids.span<std::int64_t>();
  by_id_.reserve(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node)
    check_new(by_id_.emplace(ids[node], static_cast<NodeId>(node)).second, ids[node]);
}

NodeId NodeIndex::find(std::string_view key) const {
  if (data_.node_names) {
    const auto found = by_name_.find(key);
    return found == by_name_.end() ? -1 : found->second;
  }
  const std::optional<std::int64_t> id = whole_number(key);
  return id ? find(*id) : -1;
}

NodeId NodeIndex::find(std::int64_t id) const {
  if (!data_.node_ids) return id >= 0 && id < data_.num_nodes() ? static_cast<NodeId>(id) : -1;
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? -1 : found->second;
}

std::string title_of(const Dataset& data, NodeId node) {
  const auto at = static_cast<std::size_t>(node);
  if (data.node_names) return in_quotes(data.node_names.at(node));
  return fmt::format("{}", data.node_ids ? data.node_ids.span<std::int64_t>()[at] : node);
}

std::optional<Dataset> with_missing_nodes(const Dataset& data, std::span<const NodeRows* const> files) {
  const bool named = static_cast<bool>(data.node_names);
  std::vector<std::string> names;
  std::vector<std::int64_t> ids;
  std::int64_t counted = 0;
  {
    const NodeIndex index(data);
    for (const NodeRows* file : files) {
      if (count_more_nodes(*file, data)) counted = std::max(counted, file->count);
      for (const std::int64_t row : rows_of_missing(*file, index, data)) {
        const std::string& key = file->keys[static_cast<std::size_t>(row)];
        if (named) {
          names.push_back(key);
          continue;
        }
        const std::optional<std::int64_t> id = whole_number(key);
        if (!id) fail_number(*file, row, data);
        WEFT_CHECK(*id >= 0, invalid_file, "{}: {} is of node {}: expected an id of 0 or more", file->path,
                   file->place_of(row), in_quotes(key));
        ids.push_back(*id);
      }
    }
    for (std::int64_t id = 0; id < counted; ++id)
      if (index.find(id) < 0) ids.push_back(id);
  }
  if (names.empty() && ids.empty()) return {};
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::unordered_set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
  WEFT_CHECK(data.graph.is_square(), invalid_argument,
             "the graph has {} rows and {} columns: only graphs of one set of "
             "nodes have features and labels",
             data.graph.num_rows(), data.graph.num_cols());
  return named ? add_names(data, names) : add_ids(data, ids);
}

std::vector<NodeId> nodes_of(const NodeRows& rows, const Dataset& data) {
  std::vector<NodeId> nodes(static_cast<std::size_t>(rows.count));
  if (rows.keys.empty()) {
    WEFT_CHECK(!data.node_names, invalid_file,
               "{}: its rows do not say which nodes they are of, and the graph's nodes have names ({}): expected a CSV "
               "file with a column 'node'",
               rows.path, examples(data));
    WEFT_CHECK(rows.count == data.num_nodes(), invalid_file,
               "{}: it has {} rows: expected one for each of the {} nodes", rows.path, rows.count, data.num_nodes());
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
  }
  const NodeIndex index(data);
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(data.num_nodes()), -1);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::string& key = rows.keys[static_cast<std::size_t>(row)];
    const NodeId node = nodes[static_cast<std::size_t>(row)] = index.find(key);
    WEFT_CHECK(node >= 0, invalid_file, "{}: {} is of node {}, which the graph does not have (its nodes are {})",
               rows.path, rows.place_of(row), in_quotes(key), examples(data));
    std::int64_t& first = row_of[static_cast<std::size_t>(node)];
    WEFT_CHECK(first < 0, invalid_file, "{}: {} is of node {}, as {} is: expected one row per node", rows.path,
               rows.place_of(row), in_quotes(key), rows.place_of(first));
    first = row;
  }
  return nodes;
}

}  // namespace weft::io
