// TUDataset's folders: DS_A.txt with the edges of all graphs, DS_graph_indicator.txt with the graph of every node,
// DS_graph_labels.txt, and perhaps labels and attributes of nodes. All graphs become one, block by block. Nodes and
// graphs count from 1 in the files and from 0 in the dataset.
#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "core/check.hpp"
#include "graph/io/format.hpp"
#include "graph/io/packing.hpp"
#include "graph/io/text_chunks.hpp"
#include "graph/io/text_scan.hpp"
#include "graph/io/text_table.hpp"

namespace weft::io {
namespace {

constexpr std::string_view no_comments = {};

/// DS of every "DS_A.txt", "DS_graph_indicator.txt" and "DS_graph_labels.txt" of which at least two are there: the
/// reader says what the third is missing for.
std::vector<std::string> prefixes_in(const Folder& folder) {
  std::vector<std::string> once;
  std::set<std::string> twice;
  for (const std::string& file : folder.files())
    for (const std::string_view part : {"_A.txt", "_graph_indicator.txt", "_graph_labels.txt"}) {
      const std::string_view name = without_packing(file);
      if (name.size() <= part.size() || !name.ends_with(part)) continue;
      const std::string prefix(name.substr(0, name.size() - part.size()));
      if (std::ranges::find(once, prefix) != once.end())
        twice.insert(prefix);
      else
        once.push_back(prefix);
    }
  return {twice.begin(), twice.end()};
}

/// The files of one prefix.
class TuFiles {
 public:
  TuFiles(const Folder& folder, std::string prefix, const Progress& progress)
      : folder_(folder), prefix_(std::move(prefix)), progress_(progress) {}

  bool has(const std::string& part) const { return !folder_.packed_or_not(name(part)).empty(); }
  std::string name(const std::string& part) const { return prefix_ + "_" + part + ".txt"; }
  const Progress& progress() const { return progress_; }

  /// f(text) of one of them.
  template <class F>
  auto with(const std::string& part, F&& f) const {
    return folder_.with(name(part), progress_, [&](const Source& source) { return f(source.text()); });
  }

 private:
  const Folder& folder_;
  std::string prefix_;
  const Progress& progress_;
};

/// Ends in an Error that names the line with the numbers of `row`.
[[noreturn]] void fail_at_row(std::string_view text, std::int64_t row, std::string_view message) {
  TextCursor cursor(text);
  for (; cursor.to_content(no_comments) && row > 0; --row) cursor.next_line();
  fail_at_line(text, cursor.position(), message);
}

TableLayout layout_of(int columns, std::string_view expected) {
  TableLayout layout;
  layout.columns = columns;
  layout.separator = ',';
  layout.comments = no_comments;
  layout.expected = expected;
  return layout;
}

void check_one_a_node(std::int64_t found, std::int64_t nodes) {
  WEFT_CHECK(found == nodes, invalid_file, "it has {} lines: expected one for each of {} nodes", found, nodes);
}

/// The graph of every node, from 0.
Tensor read_indicator(const TuFiles& parts) {
  return parts.with("graph_indicator", [&](std::string_view text) {
    TableLayout layout = layout_of(1, "the graph of a node");
    layout.least = 1;
    layout.most = std::numeric_limits<std::int32_t>::max();
    const Table<std::int32_t> table = read_integers<std::int32_t>(text, layout, parts.progress());
    check_counts(table.rows, table.rows, 0);
    Tensor graphs = Tensor::empty(Shape(table.rows), Dtype::i32, "graph of every node");
    std::int32_t* const out = graphs.span<std::int32_t>().data();
    std::int32_t last = 1;
    for (std::int64_t node = 0; node < table.rows; ++node) {
      const std::int32_t graph = table.values[static_cast<std::size_t>(node)];
      if (graph < last)
        fail_at_row(
            text, node,
            fmt::format("found a node of graph {} after one of graph {}: expected ascending ones", graph, last));
      out[node] = graph - 1;
      last = graph;
    }
    return graphs;
  });
}

/// Edges that are listed twice become one.
Graph read_edges(const TuFiles& parts, const Tensor& graph_ids) {
  return parts.with("A", [&](std::string_view text) {
    const std::int64_t nodes = graph_ids.shape().rows;
    const auto graphs = graph_ids.span<std::int32_t>();
    TableLayout layout = layout_of(2, "two nodes, as in '1, 2'");
    layout.least = 1;
    layout.most = nodes;
    Table<std::int32_t> table = read_integers<std::int32_t>(text, layout, parts.progress());
    const auto edges = static_cast<std::size_t>(table.rows);
    Buffer<NodeId> sources(edges, "source of every edge"), targets(edges, "target of every edge");
    for (std::size_t k = 0; k < edges; ++k) {
      sources[k] = table.values[2 * k] - 1;
      targets[k] = table.values[2 * k + 1] - 1;
      const std::int32_t from = graphs[static_cast<std::size_t>(sources[k])];
      const std::int32_t to = graphs[static_cast<std::size_t>(targets[k])];
      if (from != to)
        fail_at_row(text, static_cast<std::int64_t>(k),
                    fmt::format("found an edge from node {} of graph {} to node {} of graph {}: expected both in one",
                                sources[k] + 1, from + 1, targets[k] + 1, to + 1));
    }
    table.values = {};
    const Graph listed =
        Graph::from_edges(nodes, {.sources = {sources.data(), edges}, .destinations = {targets.data(), edges}});
    return simplify(listed, Duplicates::drop).graph;
  });
}

/// Whatever numbers the file has for classes, in their order.
void read_graph_labels(const TuFiles& parts, Dataset& data) {
  parts.with("graph_labels", [&](std::string_view text) {
    const auto table = read_integers<std::int64_t>(text, layout_of(1, "the class of a graph"), parts.progress());
    check_counts(table.rows, 0, 0);
    std::vector<std::int64_t> classes(table.all().begin(), table.all().end());
    std::ranges::sort(classes);
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    data.graph_labels = Tensor::empty(Shape(table.rows), Dtype::i32, "labels of graphs");
    std::ranges::transform(table.all(), data.graph_labels.span<std::int32_t>().begin(), [&](std::int64_t label) {
      return static_cast<std::int32_t>(std::ranges::lower_bound(classes, label) - classes.begin());
    });
    data.graph_classes = static_cast<std::int64_t>(classes.size());
    const auto graphs = data.graph_ids.span<std::int32_t>();
    WEFT_CHECK(graphs.empty() || graphs.back() < table.rows, invalid_file,
               "it has the classes of {} graphs, but there is a node of graph {}", table.rows, graphs.back() + 1);
  });
}

/// Columns of the one-hot features that node labels become: those of each column of labels side by side.
struct TuLabels {
  std::int64_t width = 0;         // of the features
  std::int64_t columns = 0;       // of labels
  Buffer<std::int32_t> features;  // [nodes, columns]
  std::size_t file_bytes = 0;
};

int columns_of(std::string_view text) {
  TextCursor cursor(text, ',');
  if (!cursor.to_content(no_comments)) return 1;
  int columns = 1;
  std::int64_t ignored = 0;
  while (cursor.read_integer(ignored) && cursor.skip_separator()) ++columns;
  return columns;
}

/// From the lowest to the highest label; those between that no node has get a column too, as elsewhere.
TuLabels read_node_labels(const TuFiles& parts, std::int64_t nodes) {
  return parts.with("node_labels", [&](std::string_view text) {
    const int columns = columns_of(text);
    const auto table = read_integers<std::int64_t>(
        text, layout_of(columns, "the label of a node, in as many columns as in the first line"), parts.progress());
    check_one_a_node(table.rows, nodes);
    TuLabels labels{0, columns, Buffer<std::int32_t>(table.all().size(), "labels of nodes"), text.size()};
    const std::uint64_t widest = std::max<std::uint64_t>(1 << 16, static_cast<std::uint64_t>(nodes));
    const auto step = static_cast<std::size_t>(columns);
    for (std::size_t c = 0; c < step && nodes > 0; ++c) {
      std::int64_t least = table.values[c], most = least;
      for (std::size_t i = c; i < table.all().size(); i += step) {
        least = std::min(least, table.values[i]);
        most = std::max(most, table.values[i]);
      }
      const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
      WEFT_CHECK(range < widest && labels.width + static_cast<std::int64_t>(range) < INT32_MAX, invalid_file,
                 "its labels run from {} to {}: expected them to span at most {} numbers", least, most, widest);
      for (std::size_t i = c; i < table.all().size(); i += step)
        labels.features[i] = static_cast<std::int32_t>(labels.width + (table.values[i] - least));
      labels.width += static_cast<std::int64_t>(range) + 1;
    }
    return labels;
  });
}

SparseRows one_hot(const TuLabels& labels, std::int64_t nodes) {
  SparseRows rows;
  rows.cols = labels.width;
  rows.offsets = Tensor::empty(Shape(nodes + 1), Dtype::i64, "offsets of features");
  for (std::int64_t node = 0; node <= nodes; ++node)
    rows.offsets.span<std::int64_t>()[static_cast<std::size_t>(node)] = node * labels.columns;
  rows.columns = Tensor::empty(Shape(nodes * labels.columns), Dtype::i32, "columns of features");
  std::ranges::copy(labels.features, rows.columns.span<std::int32_t>().begin());
  return rows;
}

Tensor with_one_hot(const Tensor& attributes, const TuLabels& labels) {
  const std::int64_t nodes = attributes.shape().rows, before = attributes.shape().row_size();
  const std::int64_t width = before + labels.width;
  // A label takes a few bytes of the file and a whole row of numbers here.
  std::int64_t size = 0;
  const std::int64_t most =
      std::max<std::int64_t>(1 << 22, 4 * (static_cast<std::int64_t>(labels.file_bytes) + nodes * before));
  WEFT_CHECK(!__builtin_mul_overflow(nodes, width, &size) && size <= most, invalid_file,
             "{} attributes and {} kinds of labels for each of {} nodes are more than weft makes dense features of",
             before, labels.width, nodes);
  Tensor features = Tensor::zeros(Shape(nodes, width), Dtype::f32, "features");
  const auto from = attributes.span<float>();
  const auto to = features.span<float>();
  for (std::int64_t node = 0; node < nodes; ++node) {
    std::copy_n(from.begin() + node * before, before, to.begin() + node * width);
    for (std::int64_t c = 0; c < labels.columns; ++c)
      to[static_cast<std::size_t>(node * width + before +
                                  labels.features[static_cast<std::size_t>(node * labels.columns + c)])] = 1;
  }
  return features;
}

void read_features(const TuFiles& parts, Dataset& data) {
  const std::int64_t nodes = data.num_nodes();
  TuLabels labels;
  if (parts.has("node_labels")) labels = read_node_labels(parts, nodes);
  if (parts.has("node_attributes")) {
    data.features = parts.with("node_attributes", [&](std::string_view text) {
      Tensor attributes = read_reals(text, layout_of(0, "numbers"), parts.progress());
      check_one_a_node(attributes.shape().rows, nodes);
      return attributes;
    });
    if (labels.columns > 0) data.features = with_one_hot(data.features, labels);
  } else if (labels.columns > 0) {
    data.sparse_features = one_hot(labels, nodes);
  }
}

std::string what_is_left_out(const TuFiles& parts) {
  std::string note;
  for (const std::string part : {"edge_labels", "edge_attributes", "graph_attributes"})
    if (parts.has(part)) note += (note.empty() ? "" : ", ") + parts.name(part);
  return note.empty() ? note : "left out: " + note;
}

bool sniff_tu(const Folder& folder) {
  return !prefixes_in(folder).empty() ||
         (Folder::is_one(folder.path() + "/raw") && !prefixes_in(folder.below("raw")).empty());
}

Dataset read_tu(const Folder& given, const ReadOptions& options) {
  std::vector<std::string> prefixes = prefixes_in(given);
  const Folder folder = prefixes.empty() ? given.below("raw") : given;
  if (prefixes.empty()) prefixes = prefixes_in(folder);
  if (prefixes.size() > 1) {
    std::string found;
    for (std::size_t i = 0; i < prefixes.size() && found.size() < 200; ++i)
      found += (found.empty() ? "" : ", ") + in_quotes(prefixes[i]);
    fail(ErrorCode::invalid_file, "it holds {} collections, {}: expected a folder for each", prefixes.size(), found);
  }
  const TuFiles parts(folder, prefixes.front(), options.progress);
  Dataset data;
  data.name = prefixes.front();
  data.note = what_is_left_out(parts);
  data.graph_ids = read_indicator(parts);
  data.graph = read_edges(parts, data.graph_ids);
  if (options.graph_only) {
    data.graph_ids = {};
    return data;
  }
  // Collections for regression have numbers instead.
  if (parts.has("graph_labels") || !parts.has("graph_attributes")) read_graph_labels(parts, data);
  read_features(parts, data);
  return data;
}

}  // namespace

const Format& tu_format() {
  static const Format format{.name = "tu",
                             .description = "TUDataset text files (DS_A.txt, DS_graph_indicator.txt, ...)",
                             .sniff_folder = &sniff_tu,
                             .read_folder = &read_tu};
  return format;
}

}  // namespace weft::io
