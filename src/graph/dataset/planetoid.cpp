// Planetoid's raw files, ind.NAME.PART: of the nodes before those of the test split allx and ally hold features and
// labels, of the rest tx and ty, in the order of test.index. x and y are the training split, the first of the nodes.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/check.hpp"
#include "graph/dataset/pickle.hpp"
#include "graph/dataset/pickled_arrays.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"
#include "graph/io/packing.hpp"
#include "graph/io/text_table.hpp"

namespace weft::io {
namespace {

constexpr std::array<std::string_view, 8> parts = {"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"};
constexpr std::int64_t nodes_to_validate = 500;  // those after the training split, as everyone who uses the files does

/// NAME of "ind.NAME.PART", packed or not; empty for other files.
std::string_view name_in(std::string_view file, std::string_view part) {
  constexpr std::string_view before = "ind.";
  file = without_packing(file);
  if (!file.starts_with(before) || !file.ends_with(part)) return {};
  file = file.substr(before.size(), file.size() - std::min(file.size(), before.size() + part.size()));
  return file.size() > 1 && file.ends_with('.') ? file.substr(0, file.size() - 1) : std::string_view();
}

std::string_view name_in(std::string_view file) {
  for (const std::string_view part : parts)
    if (const std::string_view name = name_in(file, part); !name.empty()) return name;
  return {};
}

class PlanetoidFiles {
 public:
  PlanetoidFiles(const Folder& folder, std::string name, const Progress& progress)
      : folder_(folder), name_(std::move(name)), progress_(progress) {}

  /// The file's name, as it is there.
  std::string file(std::string_view part) const {
    const std::string plain = fmt::format("ind.{}.{}", name_, part), there = folder_.packed_or_not(plain);
    return there.empty() ? plain : there;
  }
  /// f(source), its name in front of what is wrong with it.
  template <class F>
  auto with(std::string_view part, F&& f) const {
    return folder_.with(fmt::format("ind.{}.{}", name_, part), progress_, f);
  }
  CompressedRows matrix(std::string_view part) const {
    return with(part, [&](const Source& source) {
      const Pickle pickle(source.text());
      return pickled_matrix(pickle, pickle.root(), progress_);
    });
  }

  const Progress& progress() const { return progress_; }

 private:
  const Folder& folder_;
  std::string name_;
  const Progress& progress_;
};

struct Labels {
  std::int64_t rows = 0, classes = 0;
  std::vector<std::int32_t> of_row;  // the place of the row's largest number, the first of several
};

Labels read_labels(const PlanetoidFiles& files, std::string_view part) {
  return files.with(part, [&](const Source& source) {
    const Pickle pickle(source.text());
    const PickledArray array = pickled_array(pickle, pickle.root());
    const auto& shape = array.header.shape;
    WEFT_CHECK(shape.size() == 2 && shape[1] > 0, invalid_file,
               "the array has the shape ({}): expected a row per node and a column per class", fmt::join(shape, ", "));
    check_counts(shape[0], shape[1], 0);
    Labels labels{shape[0], shape[1], std::vector<std::int32_t>(static_cast<std::size_t>(shape[0]))};
    const Buffer<float> values = array.read<float>("labels", files.progress());
    for (std::int64_t r = 0; r < labels.rows; ++r) {
      std::int64_t best = 0;
      const auto value = [&](std::int64_t c) { return values[static_cast<std::size_t>(r * labels.classes + c)]; };
      for (std::int64_t c = 1; c < labels.classes; ++c)
        if (value(c) > value(best)) best = c;
      labels.of_row[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(best);
    }
    return labels;
  });
}

/// A dict of lists, each a node's neighbours.
class Neighbours {
 public:
  explicit Neighbours(Source source) : source_(std::move(source)), pickle_(source_.text()) {
    WEFT_CHECK(pickle_.root().kind == PickleKind::dict, invalid_file, "found {}: expected a dict of lists",
               name(pickle_.root().kind));
  }

  std::int64_t count() const { return static_cast<std::int64_t>(pickle_.items(pickle_.root()).size() / 2); }
  Graph graph(std::int64_t nodes) const;

 private:
  using List = std::span<const PickleValue>;
  struct Lists {
    std::vector<List> of_node;
    std::size_t total = 0;
  };
  Lists by_node(std::int64_t nodes) const;

  Source source_;
  Pickle pickle_;
};

bool is_node(PickleValue value, std::int64_t nodes) {
  return value.kind == PickleKind::integer && value.number >= 0 && value.number < nodes;
}
std::string found(PickleValue value) {
  return value.kind == PickleKind::integer ? std::to_string(value.number) : std::string(name(value.kind));
}

Neighbours::Lists Neighbours::by_node(std::int64_t nodes) const {
  const List items = pickle_.items(pickle_.root());
  Lists lists{std::vector<List>(static_cast<std::size_t>(nodes))};
  std::vector<bool> listed(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    WEFT_CHECK(is_node(items[i], nodes), invalid_file, "a key of the dict is {}: expected a node of 0 to {}",
               found(items[i]), nodes - 1);
    const auto node = static_cast<std::size_t>(items[i].number);
    WEFT_CHECK(!listed[node], invalid_file, "the key {} stands twice in the dict", node);
    WEFT_CHECK(items[i + 1].kind == PickleKind::list, invalid_file, "the neighbours of node {} are {}: expected a list",
               node, name(items[i + 1].kind));
    listed[node] = true;
    lists.of_node[node] = pickle_.items(items[i + 1]);
    lists.total += lists.of_node[node].size();
    // A pickle can name one list again and again. Files of this layout do not, and edges must not outgrow the file.
    WEFT_CHECK(lists.total <= source_.bytes.size(), invalid_file, "its lists name more neighbours than {} bytes hold",
               source_.bytes.size());
  }
  return lists;
}

/// Self-loops and repetitions left out, as PyG does; ids by source, then target.
Graph Neighbours::graph(std::int64_t nodes) const {
  const Lists lists = by_node(nodes);
  Buffer<NodeId> sources(lists.total, "source of every edge"), targets(lists.total, "target of every edge");
  std::size_t kept = 0;
  for (std::size_t v = 0; v < lists.of_node.size(); ++v) {
    const std::size_t begin = kept;
    for (const PickleValue each : lists.of_node[v]) {
      WEFT_CHECK(is_node(each, nodes), invalid_file, "a neighbour of node {} is {}: expected a node of 0 to {}", v,
                 found(each), nodes - 1);
      if (static_cast<std::size_t>(each.number) != v) targets[kept++] = static_cast<NodeId>(each.number);
    }
    std::sort(targets.data() + begin, targets.data() + kept);
    kept = static_cast<std::size_t>(std::unique(targets.data() + begin, targets.data() + kept) - targets.data());
    std::fill(sources.data() + begin, sources.data() + kept, static_cast<NodeId>(v));
  }
  return Graph::from_edges(nodes, {.sources = {sources.data(), kept}, .destinations = {targets.data(), kept}});
}

/// The nodes from `first` on: which row of tx and ty they have.
struct Tests {
  std::vector<std::int32_t> nodes;  // ascending
  std::vector<std::int32_t> row;    // of node first + i; -1 where it has none

  std::int64_t count() const { return static_cast<std::int64_t>(nodes.size()); }
  std::int64_t row_of(std::int64_t i) const {
    return i < static_cast<std::int64_t>(row.size()) ? row[static_cast<std::size_t>(i)] : -1;
  }
};

Tests read_tests(const PlanetoidFiles& files, std::int64_t first, std::int64_t listed) {
  return files.with("test.index", [&](const Source& source) {
    TableLayout layout;
    layout.least = first;
    layout.expected = "the id of a node";
    const Table<std::int64_t> ids = read_integers<std::int64_t>(source.text(), layout, files.progress());
    const std::span<const std::int64_t> all(ids.values.data(), static_cast<std::size_t>(ids.rows));
    Tests tests;
    if (all.empty()) return tests;
    // Where nodes are left out between those of the test split, the graph lists them.
    const std::int64_t last = *std::ranges::max_element(all), most = first + ids.rows + listed - 1;
    WEFT_CHECK(last <= most, invalid_file,
               "it lists node {}: expected at most {}, as there are {} nodes before it, {} "
               "in it and {} in the graph",
               last, most, first, ids.rows, listed);
    check_counts(last + 1, last + 1, 0);
    tests.row.assign(static_cast<std::size_t>(last + 1 - first), -1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::int32_t& row = tests.row[static_cast<std::size_t>(all[i] - first)];
      WEFT_CHECK(row < 0, invalid_file, "it lists node {} twice", all[i]);
      row = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < tests.row.size(); ++i)
      if (tests.row[i] >= 0) tests.nodes.push_back(static_cast<std::int32_t>(first + static_cast<std::int64_t>(i)));
    return tests;
  });
}

/// Class 0 for nodes that no file has a label of: so do all who read these files, and results can be compared.
Tensor labels_of(const Labels& before, const Labels& tested, const Tests& tests, std::int64_t nodes) {
  Tensor labels = Tensor::zeros(Shape(nodes), Dtype::i32, "labels");
  const auto out = labels.span<std::int32_t>();
  std::ranges::copy(before.of_row, out.begin());
  for (std::size_t i = 0; i < tests.row.size(); ++i)
    if (tests.row[i] >= 0) out[before.of_row.size() + i] = tested.of_row[static_cast<std::size_t>(tests.row[i])];
  return labels;
}

Tensor nodes_from(std::int64_t first, std::int64_t end, std::string_view what) {
  Tensor nodes = Tensor::empty(Shape(end - first), Dtype::i32, what);
  std::iota(nodes.span<std::int32_t>().begin(), nodes.span<std::int32_t>().end(), static_cast<std::int32_t>(first));
  return nodes;
}

void check_size(std::string_view part, std::int64_t found, std::string_view what, std::int64_t wanted,
                std::string_view of) {
  WEFT_CHECK(found == wanted, invalid_file, "{} has {} {}: expected {}, as {} has", part, found, what, wanted, of);
}

void read_features(const PlanetoidFiles& files, const Tests& tests, std::int64_t labelled, std::int64_t trained,
                   Dataset& data) {
  const CompressedRows before = files.matrix("allx");
  check_size("allx", before.rows, "rows", labelled, "ally");
  const CompressedRows tested = files.matrix("tx");
  check_size("tx", tested.rows, "rows", tests.count(), "test.index");
  check_size("tx", tested.cols, "columns", before.cols, "allx");
  const CompressedRows first =
      files.matrix("x");  // the first rows of allx once more: read to see that they belong to it
  check_size("x", first.rows, "rows", trained, "y");
  check_size("x", first.cols, "columns", before.cols, "allx");
  const auto place = [&](std::int64_t node) -> RowPlace {
    if (node < before.rows) return {&before, node};
    const std::int64_t row = tests.row_of(node - before.rows);
    return row >= 0 ? RowPlace{&tested, row} : RowPlace{};
  };
  data.sparse_features = sparse_rows(data.num_nodes(), before.cols, std::array{&before, &tested}, place);
}

Dataset read_parts(const Folder& folder, std::string name, const ReadOptions& options) {
  const PlanetoidFiles files(folder, name, options.progress);
  const Labels before = read_labels(files, "ally");
  Dataset data;
  data.name = std::move(name);
  const Neighbours neighbours = files.with("graph", [](Source source) { return Neighbours(std::move(source)); });
  const Tests tests = read_tests(files, before.rows, neighbours.count());
  const std::int64_t nodes = std::max(before.rows + static_cast<std::int64_t>(tests.row.size()), neighbours.count());
  check_counts(nodes, nodes, 0);
  data.graph = naming_part(files.file("graph"), [&] { return neighbours.graph(nodes); });
  if (options.graph_only) return data;
  const Labels trained = read_labels(files, "y"), tested = read_labels(files, "ty");
  WEFT_CHECK(trained.rows <= before.rows, invalid_file, "y has {} rows: expected at most {}, as ally has", trained.rows,
             before.rows);
  check_size("ty", tested.rows, "rows", tests.count(), "test.index");
  check_size("y", trained.classes, "columns", before.classes, "ally");
  check_size("ty", tested.classes, "columns", before.classes, "ally");
  read_features(files, tests, before.rows, trained.rows, data);
  data.labels = labels_of(before, tested, tests, data.num_nodes());
  data.classes = before.classes;
  data.train = nodes_from(0, trained.rows, "training split");
  data.val = nodes_from(trained.rows, std::min(trained.rows + nodes_to_validate, before.rows), "validation split");
  data.test = tensor_of(tests.nodes, "test split");
  return data;
}

std::vector<std::string> names_in(const Folder& folder) {
  std::vector<std::string> names;
  for (const std::string& file : folder.files())
    if (const std::string_view name = name_in(file, "graph"); !name.empty()) names.emplace_back(name);
  names.erase(std::unique(names.begin(), names.end()), names.end());  // packed and not
  return names;
}

/// The folder itself, or PyG's raw/ below it.
Folder folder_of_files(const Folder& folder) {
  return names_in(folder).empty() && Folder::is_one(folder.path() + "/raw") ? folder.below("raw") : folder;
}

bool sniff_planetoid(const Source& source) { return !name_in(source.file_name()).empty(); }

Dataset read_planetoid(const Source& source, const ReadOptions& options) {
  return read_parts(Folder(source.folder()), std::string(name_in(source.file_name())), options);
}

bool sniff_planetoid_folder(const Folder& folder) {
  try {
    return !names_in(folder_of_files(folder)).empty();
  } catch (const Error&) {
    return false;  // a folder below that cannot be listed
  }
}

Dataset read_planetoid_folder(const Folder& folder, const ReadOptions& options) {
  const Folder files = folder_of_files(folder);
  const std::vector<std::string> names = names_in(files);
  WEFT_CHECK(names.size() == 1, invalid_file, "the folder holds {} datasets, {}: name one as {}/ind.NAME.graph",
             names.size(), fmt::join(names, ", "), files.path());
  return read_parts(files, names.front(), options);
}

}  // namespace

const Format& planetoid_format() {
  static const Format format{.name = "planetoid",
                             .description = "Planetoid's ind.NAME.* files",
                             .sniff = &sniff_planetoid,
                             .read = &read_planetoid,
                             .sniff_folder = &sniff_planetoid_folder,
                             .read_folder = &read_planetoid_folder};
  return format;
}

}  // namespace weft::io
