// Features of nodes in a file of their own: .npy, .npz, or CSV and similar text.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "core/check.hpp"
#include "graph/dataset/node_parts.hpp"
#include "graph/dataset/node_table.hpp"
#include "graph/dataset/npz_rows.hpp"
#include "graph/io/format.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/npy_file.hpp"
#include "graph/io/npz_arrays.hpp"

namespace weft::io {
namespace {

/// Whether a column without a name has every node of the graph once: no feature has.
bool names_every_node(const std::vector<std::string>& keys, const Dataset& data) {
  if (static_cast<std::int64_t>(keys.size()) != data.num_nodes() || keys.size() < 2) return false;
  const NodeIndex index(data);
  std::vector<bool> seen(keys.size());
  for (const std::string& key : keys) {
    const NodeId node = index.find(key);
    if (node < 0 || seen[static_cast<std::size_t>(node)]) return false;
    seen[static_cast<std::size_t>(node)] = true;
  }
  return true;
}

/// Nodes with names have no order that the file could be in: its first column has to say them.
int node_column(const DelimitedTable& table, const Dataset& data) {
  if (table.dialect().has_header()) return find_column(table.dialect().names, node_columns);
  const bool ids_first = table.columns() > 1 && (data.node_names || names_every_node(table.strings(0), data));
  return ids_first ? 0 : -1;
}

void read_table(const Source& source, const Dataset& data, NodeFeatures& features) {
  const auto table = std::make_shared<DelimitedTable>(
      source, DelimitedOptions{.header_words = node_columns, .most_rows = most_rows(data)});
  table->check_last_column();
  const int node = node_column(*table, data);
  std::vector<int> columns(static_cast<std::size_t>(table->columns()));
  std::iota(columns.begin(), columns.end(), 0);
  std::erase(columns, node);
  WEFT_CHECK(!columns.empty(), invalid_file, "it has a column of nodes, but none of features");
  features.dense = table->numbers(columns);
  features.rows = rows_of(source.path, table, node);
  if (node >= 0 && !table->dialect().has_header())
    features.rows.note = fmt::format(
        "the first column of {} is taken for the nodes that its rows are of, and is no feature", source.path);
}

void read_archive(const Source& source, NodeFeatures& features, const Progress& progress) {
  const NpzArrays arrays(source, progress);
  if (arrays.has("indptr")) {
    const std::string format = arrays.has("format") ? arrays.string("format") : "csr";
    WEFT_CHECK(format == "csr", unsupported, "its sparse matrix has the format {}: expected csr, as .tocsr() gives it",
               in_quotes(format));
    features.sparse = read_sparse_rows(arrays, "");
    features.rows.count = features.sparse.rows();
    return;
  }
  constexpr std::array<const char*, 5> usual = {"x", "features", "feat", "attr_matrix", "arr_0"};
  const std::vector<std::string> names = arrays.names();
  const auto known = std::ranges::find_if(usual, [&](const char* name) { return arrays.has(name); });
  WEFT_CHECK(names.size() == 1 || known != usual.end(), invalid_file,
             "it has the arrays {}: expected one matrix, or one of them to be called {}", arrays.keys(),
             fmt::join(usual, ", "));
  features.dense = arrays.matrix(names.size() == 1 ? names.front() : *known);
  features.rows.count = features.dense.shape().rows;
}

void read_array(const Source& source, NodeFeatures& features, const Progress& progress) {
  features.dense = read_npy_matrix(source, progress);
  features.rows.count = features.dense.shape().rows;
}

}  // namespace

NodeFeatures read_features(const std::string& path, const Dataset& data, const Progress& progress) {
  return naming_part(path, [&] {
    const Source source = open_node_file(path, progress);
    NodeFeatures features;
    if (is_npy(source.text()))
      read_array(source, features, progress);
    else if (is_archive(source))
      read_archive(source, features, progress);
    else
      read_table(source, data, features);
    const std::int64_t width = features.sparse ? features.sparse.cols : features.dense.shape().row_size();
    WEFT_CHECK(features.rows.count > 0 && width > 0, invalid_file, "it has {} rows and {} columns of features",
               features.rows.count, width);
    features.rows.path = path;
    return features;
  });
}

}  // namespace weft::io
