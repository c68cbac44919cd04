// OGB's node-property datasets, as their downloads unpack. DATASET/raw holds one graph, as tables (edge.csv and others,
// mostly packed) or as arrays (data.npz, node-label.npz); DATASET/split/HOW holds train.csv, valid.csv and test.csv.
// split_dict.pt beside those is a pickle and stays closed.
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/dataset/known_names.hpp"
#include "graph/dataset/label_table.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/dataset/npz_keys.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npz_arrays.hpp"
#include "graph/io/text_table.hpp"

namespace weft::io {
namespace {

constexpr std::array of_one_type = {"edge.csv", "num-node-list.csv", "data.npz"};
constexpr std::array of_several_types = {"triplet-type-list.csv", "num-node-dict.csv", "edge_index_dict.npz"};

/// The first of the files that is there, packed or not; empty for none.
std::string first_of(const Folder& folder, const std::string& below, std::span<const char* const> files) {
  for (const char* file : files)
    if (std::string found = folder.packed_or_not(below + file); !found.empty()) return found;
  return {};
}

bool is_raw(const Folder& folder) { return folder.name() == "raw"; }

bool sniff_ogb(const Folder& folder) {
  const std::string below = is_raw(folder) ? "" : "raw/";
  return !first_of(folder, below, of_one_type).empty() || !first_of(folder, below, of_several_types).empty();
}

/// Datasets whose tables list an edge between two nodes once; which ones do is not in their files. Arrays have all
/// edges.
bool lists_edges_once(std::string name) {
  name = plain_name(name);
  if (name.starts_with("ogbn-")) name.erase(0, 5);
  for (const std::string_view ending : {"-pyg", "-dgl"})  // of folders that old versions of OGB made
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  return name == "products" || name == "proteins";
}

struct Edges {
  Buffer<NodeId> sources, targets;

  explicit Edges(std::size_t count) : sources(count, "source of every edge"), targets(count, "target of every edge") {}
  Edges(Buffer<NodeId> from, Buffer<NodeId> to) : sources(std::move(from)), targets(std::move(to)) {}
  std::size_t size() const { return sources.size(); }
};

/// Every edge, and behind each its reverse.
Edges with_reverse(const Edges& once) {
  Edges both(2 * once.size());
  parallel_ranges(default_threads(), static_cast<std::int64_t>(once.size()), 1 << 14,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
                      both.sources[2 * k] = both.targets[2 * k + 1] = once.sources[k];
                      both.targets[2 * k] = both.sources[2 * k + 1] = once.targets[k];
                    }
                  });
  return both;
}

Graph graph_of(const Edges& edges, std::int64_t nodes) {
  return Graph::from_edges(
      nodes, {.sources = {edges.sources.data(), edges.size()}, .destinations = {edges.targets.data(), edges.size()}});
}

/// OGB counts nodes and edges of each graph of a collection. Here there must be one.
std::int64_t only_count(std::span<const std::int64_t> counts, std::string_view of, std::int64_t most) {
  WEFT_CHECK(!counts.empty(), invalid_file, "it is empty: expected the number of {}", of);
  WEFT_CHECK(counts.size() == 1, unsupported,
             "it counts the {} of {} graphs: weft reads OGB's node-property datasets, which are one graph, and not its "
             "graph-property datasets",
             of, counts.size());
  WEFT_CHECK(counts[0] >= 0 && counts[0] <= most, invalid_file, "it declares {} {}: expected 0 to {}", counts[0], of,
             most);
  return counts[0];
}

constexpr std::int64_t most_nodes = std::numeric_limits<NodeId>::max();
constexpr std::int64_t most_edges = std::numeric_limits<std::int64_t>::max();

void check_edges(std::size_t found, std::int64_t declared, std::string_view where) {
  WEFT_CHECK(static_cast<std::int64_t>(found) == declared, invalid_file, "it lists {} edges, but {} declares {}", found,
             where, declared);
}

void take_features(Tensor table, Dataset& data) {
  check_rows(table, data.num_nodes());
  data.features = std::move(table);
}

/// One of the folder's tables as it is there; as OGB publishes it where it is not.
std::string table_in(const Folder& folder, const std::string& table) {
  const std::string found = folder.packed_or_not(table);
  return found.empty() ? table + ".gz" : found;
}

/// f(source) of a table, which may be packed.
template <class F>
auto with_table(const Folder& folder, const std::string& table, F&& f) {
  return folder.with_packed(table_in(folder, table), f);
}

std::int64_t read_count(const Folder& raw, const std::string& table, std::string_view of, std::int64_t most,
                        const Progress& progress) {
  return with_table(raw, table, [&](const Source& source) {
    TableLayout layout;
    layout.expected = "a number";
    const auto counts = read_integers<std::int64_t>(TextBlocks(source), layout, progress);
    return only_count(counts.all(), of, most);
  });
}

Edges read_edge_table(const Folder& raw, std::int64_t nodes, std::int64_t declared, const Progress& progress) {
  TableLayout layout;
  layout.columns = 2;
  layout.separator = ',';
  layout.expected = "a source and a target: SOURCE,TARGET";
  layout.least = 0;
  layout.most = nodes - 1;
  const auto table = with_table(raw, "edge.csv", [&](const Source& source) {
    return read_integers<NodeId>(TextBlocks(source), layout, progress);
  });
  naming_part("num-node-list and edge.csv", [&] { check_nodes_against_size(nodes, nodes, table.text_bytes); });
  return naming_part(table_in(raw, "edge.csv"), [&] {
    const auto count = static_cast<std::size_t>(table.rows);
    check_edges(count, declared, "num-edge-list.csv");
    Edges edges(count);
    for (std::size_t k = 0; k < count; ++k) {
      edges.sources[k] = table.values[2 * k];
      edges.targets[k] = table.values[2 * k + 1];
    }
    return edges;
  });
}

Tensor read_matrix(const Source& source, const Progress& progress) {
  TableLayout layout;
  layout.columns = 0;
  layout.separator = ',';
  return read_reals(TextBlocks(source), layout, progress);
}

void read_tables(const Folder& raw, Dataset& data, const ReadOptions& options) {
  const Progress& progress = options.progress;
  const std::int64_t nodes = read_count(raw, "num-node-list.csv", "nodes", most_nodes, progress);
  const std::int64_t declared = read_count(raw, "num-edge-list.csv", "edges", most_edges, progress);
  Edges edges = read_edge_table(raw, nodes, declared, progress);
  if (lists_edges_once(data.name)) {
    edges = with_reverse(edges);
    add_note(data.note, "reverse edges added, as OGB does for this dataset");
  }
  data.graph = graph_of(edges, nodes);
  edges = Edges(0);  // their memory is the features' next
  if (!raw.packed_or_not("edge-feat.csv").empty()) add_note(data.note, "edge features left out");
  if (options.graph_only) return;
  const auto read = [&](const char* table, auto take) {
    if (raw.packed_or_not(table).empty()) return;
    with_table(raw, table, [&](const Source& source) { take(read_matrix(source, progress), data); });
  };
  read("node-feat.csv", take_features);
  read("node-label.csv", take_labels);
}

Edges read_edge_arrays(const NpzArrays& arrays, std::int64_t nodes, std::int64_t declared) {
  EdgeEnds ends = arrays.edge_ends("edge_index", EndsLayout::rows);
  naming_array("edge_index", [&] {
    check_edges(ends.size(), declared, "array 'num_edges_list'");
    check_ends_below(ends, nodes);
  });
  return {std::move(ends.sources), std::move(ends.targets)};
}

void read_arrays(const Folder& raw, Dataset& data, const ReadOptions& options) {
  const auto with_arrays = [&](const char* file, auto f) {
    raw.with_file(file, options.progress,
                  [&](const Source& source) { f(NpzArrays(source, options.progress), source.size()); });
  };
  with_arrays("data.npz", [&](const NpzArrays& arrays, std::size_t bytes) {
    const auto count = [&](const char* key, const char* of, std::int64_t most) {
      const Buffer<std::int64_t> counts = arrays.integers(key);
      return naming_array(key, [&] { return only_count({counts.data(), counts.size()}, of, most); });
    };
    const std::int64_t nodes = count("num_nodes_list", "nodes", most_nodes);
    const std::int64_t edges = count("num_edges_list", "edges", most_edges);
    check_nodes_against_size(nodes, nodes, bytes);
    data.graph = graph_of(read_edge_arrays(arrays, nodes, edges), nodes);
    if (arrays.has("edge_feat")) add_note(data.note, "edge features left out");
    if (options.graph_only || !arrays.has("node_feat")) return;
    Tensor features = arrays.matrix("node_feat");
    naming_array("node_feat", [&] { take_features(std::move(features), data); });
  });
  if (options.graph_only || !raw.has("node-label.npz")) return;
  with_arrays("node-label.npz", [&](const NpzArrays& arrays, std::size_t) {
    Tensor labels = arrays.matrix("node_label");
    naming_array("node_label", [&] { take_labels(std::move(labels), data); });
  });
}

Tensor read_split(const Folder& folder, const std::string& table, std::int64_t nodes, const Progress& progress) {
  return with_table(folder, table, [&](const Source& source) {
    TableLayout layout;
    layout.expected = "a node";
    layout.least = 0;
    layout.most = nodes - 1;
    const auto list = read_integers<std::int32_t>(TextBlocks(source), layout, progress);
    return tensor_of(list.all(), "nodes of a split");
  });
}

/// The only folder below split/ with tables in it: sales_ranking, time, species, ... Empty for none.
std::string split_folder(const Folder& splits) {
  constexpr std::array tables = {"train.csv", "valid.csv", "test.csv"};
  std::string found;
  for (const std::string& name : splits.files()) {
    if (!Folder::is_one(splits.path() + "/" + name) || first_of(splits, name + "/", tables).empty()) continue;
    WEFT_CHECK(found.empty(), unsupported, "it holds the splits {} and {}: expected one, so move the others away",
               in_quotes(found), in_quotes(name));
    found = name;
  }
  return found;
}

void read_splits(const std::string& path, Dataset& data, const Progress& progress) {
  if (!Folder::is_one(path)) return;
  const Folder splits(path);
  const std::string how = naming_part("split", [&] { return split_folder(splits); });
  if (how.empty()) return;
  naming_part("split/" + how, [&] {
    const Folder folder = splits.below(how);
    data.train = read_split(folder, "train.csv", data.num_nodes(), progress);
    data.val = read_split(folder, "valid.csv", data.num_nodes(), progress);
    data.test = read_split(folder, "test.csv", data.num_nodes(), progress);
  });
}

Folder above(const Folder& folder) {
  return Folder((std::filesystem::path(folder.path()) / "..").lexically_normal().string());
}

Dataset read_ogb(const Folder& folder, const ReadOptions& options) {
  const Folder raw = is_raw(folder) ? folder : folder.below("raw");
  const Folder whole = is_raw(folder) ? above(folder) : folder;
  const std::string typed = first_of(raw, "", of_several_types);
  WEFT_CHECK(typed.empty(), unsupported,
             "it has nodes or edges of several types ({}): weft reads OGB datasets with one type of nodes only", typed);
  Dataset data;
  data.name = whole.name();
  const bool tables = !raw.has("data.npz") || !raw.packed_or_not("edge.csv").empty();
  naming_part("raw", [&] { tables ? read_tables(raw, data, options) : read_arrays(raw, data, options); });
  if (!options.graph_only) read_splits(whole.path() + "/split", data, options.progress);
  return data;
}

}  // namespace

const Format& ogb_format() {
  static const Format format{.name = "ogb",
                             .description = "an OGB node-property dataset",
                             .sniff_folder = &sniff_ogb,
                             .read_folder = &read_ogb};
  return format;
}

}  // namespace weft::io
