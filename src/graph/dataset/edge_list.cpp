// Plain lists of edges, as SNAP, KONECT, pandas and networkx write them: a source and a target a line, perhaps a
// weight. Ids may be any numbers; where they are not 0, 1, 2, ... nodes get new ones in their order, and the dataset
// keeps the file's. Ids that are words become names, and nodes are numbered in the order in which the words occur
// first.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/dataset/edge_layout.hpp"
#include "graph/dataset/edge_records.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/io/f32_text.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

constexpr std::size_t layout_bytes = std::size_t{1} << 20;

bool sniff_edge_list(const Source& source) { return begins_as_edge_list(source.text().substr(0, 1 << 16)); }

/// Weights of the edges in the file's order, which is that of their ids.
void take_weights(Dataset& data, std::span<const float> weights, std::int64_t rounded, const EdgeLayout& layout) {
  if (layout.columns.weight < 0 && !layout.braces) return;
  if (weights.empty()) return;
  // Numbers of seconds since 1970, from 1973 on: a third column without a name may be the time of an edge.
  constexpr float earliest_time = 1e8f;
  if (!layout.header && !layout.braces && *std::ranges::min_element(weights) >= earliest_time) {
    add_note(data.note, "column 3 looks like times and is not read as weights");
    return;
  }
  data.values = Tensor::empty(Shape(static_cast<std::int64_t>(weights.size())), Dtype::f32, "the edge values");
  std::ranges::copy(weights, data.values.span<float>().begin());
  add_note(data.note, rounded_note(rounded));
}

/// A first line "NODES EDGES" cannot be told from an edge for sure.
template <class Id>
bool may_count(std::span<const Id> ends) {
  const auto rows = static_cast<std::int64_t>(ends.size() / 2);
  if (rows < 4 || static_cast<std::int64_t>(ends[1]) != rows - 1) return false;
  return std::ranges::all_of(ends.subspan(2), [&](Id id) { return id <= ends[0]; });
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

/// release() is called where `ends` are no longer needed, before the graph takes its memory.
template <class Id, class Release>
Dataset from_ends(std::span<const Id> ends, std::span<const float> weights, std::int64_t rounded,
                  const EdgeLayout& layout, const Release& release) {
  const std::size_t edges = ends.size() / 2;
  const Id largest = ends.empty() ? Id(-1) : *std::max_element(ends.begin(), ends.end());
  const std::vector<Id> ids = ends.empty() ? std::vector<Id>{} : ids_that_occur(ends, largest);
  const auto nodes = static_cast<std::int64_t>(ids.size());
  check_counts(nodes, nodes, static_cast<std::int64_t>(edges));
  const bool renumbered = nodes - 1 != static_cast<std::int64_t>(largest);
  Buffer<NodeId> sources(edges, "source of every edge"), targets(edges, "target of every edge");
  parallel_ranges(default_threads(), static_cast<std::int64_t>(edges), 1 << 14,
                  [&](std::int64_t begin, std::int64_t end) {
                    const auto place = [&](Id id) {
                      if (!renumbered) return static_cast<NodeId>(id);
                      return static_cast<NodeId>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
                    };
                    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
                      sources[k] = place(ends[2 * k]);
                      targets[k] = place(ends[2 * k + 1]);
                    }
                  });
  Dataset data;
  data.note = layout.note;
  if (edges == 0) add_note(data.note, layout.header ? "it has a header and no edges" : "it has no edges");
  take_weights(data, weights, rounded, layout);
  if (!layout.header && !layout.words && layout.columns.count == 2 && may_count(ends))
    add_note(data.note, fmt::format("the first line, '{} {}', is read as an edge, but may count nodes and edges",
                                    ends[0], ends[1]));
  release();
  data.graph = Graph::from_edges(nodes, {.sources = {sources.data(), edges}, .destinations = {targets.data(), edges}});
  if (renumbered) {
    data.node_ids = Tensor::empty(Shape(nodes), Dtype::i64, "the file's node ids");
    std::ranges::copy(ids, data.node_ids.span<std::int64_t>().begin());
  }
  return data;
}

template <class Id>
Dataset read_numbers(const Source& source, const EdgeLayout& layout, const Progress& progress) {
  EdgeTable<Id> table = read_edges<Id>(TextBlocks(source), layout, progress);
  const auto edges = static_cast<std::size_t>(table.rows);
  return from_ends<Id>({table.ends.data(), 2 * edges}, {table.weights.data(), table.weights.empty() ? 0 : edges},
                       table.rounded_weights, layout, [&] { table = {}; });
}

Dataset read_records(Source source, const EdgeLayout& layout, const Progress& progress) {
  load(source, progress);
  EdgeRecords records = read_edge_records(source.text(), layout);
  Dataset data = from_ends<std::int64_t>(records.ends, records.weights, records.rounded_weights, layout,
                                         [&] { records.ends = {}; });
  if (!layout.words) return data;
  data.node_names = std::move(records.names);
  if (layout.header) return data;
  add_note(data.note, "its first line is read as an edge, not as a header");
  return data;
}

bool has_quotes(Source source, const Progress& progress) {
  load(source, progress);
  return source.text().find('"') != std::string_view::npos;
}

Dataset read_edge_list(const Source& source, const ReadOptions& options) {
  const EdgeLayout layout = edge_layout_of(text_head(source, layout_bytes));
  if (layout.by_record) return read_records(source, layout, options.progress);
  try {
    return read_numbers<std::int32_t>(source, layout, options.progress);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) {
      // Quotes that only come later may hold delimiters.
      if (error.code() != ErrorCode::invalid_file || !has_quotes(source, options.progress)) throw;
      return read_records(source, layout, options.progress);
    }
  }  // some id has more than 31 bits
  return read_numbers<std::int64_t>(source, layout, options.progress);
}

}  // namespace

const Format& edge_list_format() {
  static const Format format{.name = "edge list",
                             .endings = {".txt", ".edges", ".edgelist", ".csv", ".tsv"},
                             .description = "edge list: SNAP, KONECT, CSV, TSV, networkx",
                             .sniff = &sniff_edge_list,
                             .read = &read_edge_list,
                             .unpacks = true};
  return format;
}

}  // namespace weft::io
