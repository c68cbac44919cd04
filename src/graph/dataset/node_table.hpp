// CSV and similar files that have one line per node.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dataset/node_rows.hpp"
#include "graph/io/delimited.hpp"

namespace weft::io {

/// Text is in memory as a whole; arrays stay in their file. Both are unpacked.
Source open_node_file(const std::string& path, const Progress& progress);
/// Whether it is an .npz file.
inline bool is_archive(const Source& source) { return source.text().starts_with("PK\x03\x04"); }

/// Names that columns of nodes have.
inline constexpr std::array<std::string_view, 5> node_columns = {"node", "id", "node_id", "name", "vertex"};

/// Rows that a file about the nodes of a graph may have. Nodes without edges are only in that file, so that it may have
/// more rows than the graph has nodes.
std::int64_t most_rows(const Dataset& data);

/// A node and a word about it a line, or the words alone in the order of nodes.
struct NodeWords {
  NodeRows rows;
  std::vector<std::string> words;
};
/// `columns`: names that the column of words may have; `what`, it is called in messages.
NodeWords read_node_words(const Source& source, const Dataset& data, std::span<const std::string_view> columns,
                          std::string_view what);

/// The rows of a table whose nodes stand in this column, or in the order of nodes where it is -1.
NodeRows rows_of(const std::string& path, std::shared_ptr<const DelimitedTable> table, int column);

}  // namespace weft::io
