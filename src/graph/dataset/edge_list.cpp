// Plain lists of edges, as SNAP and KONECT publish them: a source and a target a line, comments start with '#' or '%'.
// Ids may be any numbers; where they are not 0, 1, 2, ... nodes get new ones in their order, and the dataset keeps the
// file's.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/io/format.hpp"
#include "graph/io/text_scan.hpp"
#include "graph/io/text_table.hpp"

namespace weft::io {
namespace {

constexpr std::string_view comments = "#%";

// What may stand behind the two ids (a weight, a time, a sign) is not read.
TableLayout layout_of(std::string_view text) {
  TableLayout layout;
  layout.columns = 2;
  layout.comments = comments;
  layout.more_columns = true;
  layout.least = 0;
  layout.expected = "a source and a target";
  TextCursor cursor(text, ',');
  std::int64_t id = 0;
  if (cursor.to_content(comments) && cursor.read_integer(id) && cursor.skip_separator()) layout.separator = ',';
  return layout;
}

bool sniff_edge_list(const Source& source) {
  const std::string_view text = source.text().substr(0, 1 << 16);
  TextCursor cursor(text, ',');
  if (!cursor.to_content(comments)) return false;
  std::int64_t id = 0;
  if (!cursor.read_integer(id) || (cursor.skip_separator(), !cursor.read_integer(id))) return false;
  double extra = 0;
  for (int i = 0; i < 2; ++i) {
    cursor.skip_separator();
    cursor.skip_blanks();
    if (cursor.at_line_end() || !cursor.read_real(extra)) break;
  }
  cursor.skip_blanks();
  return cursor.at_line_end();
}

/// The ids that occur, ascending. By marks where they lie close together, else by sorting them.
template <class Id>
std::vector<Id> ids_that_occur(std::span<const Id> ends, Id largest) {
  std::vector<Id> ids;
  if (static_cast<std::uint64_t>(largest) < 8 * static_cast<std::uint64_t>(ends.size())) {  // no more bytes than they
    std::vector<bool> seen(static_cast<std::size_t>(largest) + 1);
    for (const Id id : ends) seen[static_cast<std::size_t>(id)] = true;
    for (std::size_t id = 0; id < seen.size(); ++id)
      if (seen[id]) ids.push_back(static_cast<Id>(id));
    return ids;
  }
  ids.assign(ends.begin(), ends.end());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  ids.shrink_to_fit();
  return ids;
}

template <class Id>
Dataset from_table(Table<Id> table) {
  const auto edges = static_cast<std::size_t>(table.rows);
  const std::span<const Id> ends = table.all();
  const Id largest = ends.empty() ? Id(-1) : *std::max_element(ends.begin(), ends.end());
  const std::vector<Id> ids = ends.empty() ? std::vector<Id>{} : ids_that_occur(ends, largest);
  const auto nodes = static_cast<std::int64_t>(ids.size());
  check_counts(nodes, nodes, table.rows);
  const bool renumbered = nodes - 1 != static_cast<std::int64_t>(largest);
  Buffer<NodeId> sources(edges, "source of every edge"), targets(edges, "target of every edge");
  parallel_ranges(default_threads(), table.rows, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    const auto place = [&](Id id) {
      if (!renumbered) return static_cast<NodeId>(id);
      return static_cast<NodeId>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
    };
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      sources[k] = place(ends[2 * k]);
      targets[k] = place(ends[2 * k + 1]);
    }
  });
  table.values = {};
  Dataset data;
  data.graph = Graph::from_coo(nodes, nodes, {targets.data(), edges}, {sources.data(), edges});
  if (renumbered) {
    data.node_ids = Tensor::empty(Shape(nodes), Dtype::i64, "the file's node ids");
    std::ranges::copy(ids, data.node_ids.span<std::int64_t>().begin());
  }
  return data;
}

Dataset read_edge_list(const Source& source, const ReadOptions& options) {
  const TableLayout layout = layout_of(text_head(source, 1 << 20));
  try {
    return from_table(read_integers<std::int32_t>(TextBlocks(source), layout, options.progress));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;  // some id has more than 31 bits
  }
  return from_table(read_integers<std::int64_t>(TextBlocks(source), layout, options.progress));
}

}  // namespace

const Format& edge_list_format() {
  static const Format format{.name = "edge list",
                             .endings = {".txt", ".txt.gz", ".edges", ".csv", ".csv.gz", ".tsv"},
                             .description = "SNAP edge list",
                             .sniff = &sniff_edge_list,
                             .read = &read_edge_list,
                             .unpacks = true};
  return format;
}

}  // namespace weft::io
