// A dataset put together from a graph and files about its nodes.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>

#include "core/check.hpp"
#include "core/names.hpp"
#include "graph/dataset/node_parts.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"

namespace weft {
namespace {

// What is attached is put together in a dataset of its own, `made`; `data` has the graph and what its nodes are called.

void make_identity(const Dataset& data, Dataset& made) {
  const std::int64_t nodes = data.num_nodes();
  SparseRows& rows = made.sparse_features;
  rows.cols = nodes;
  rows.offsets = Tensor::empty(Shape(nodes + 1), Dtype::i64, "offsets of features");
  rows.columns = Tensor::empty(Shape(nodes), Dtype::i32, "columns of features");
  const auto offsets = rows.offsets.span<std::int64_t>();
  const auto columns = rows.columns.span<std::int32_t>();
  std::iota(offsets.begin(), offsets.end(), std::int64_t{0});
  std::iota(columns.begin(), columns.end(), 0);
}

/// The logarithm keeps the few nodes of many edges from outweighing all others.
void make_degree(const Dataset& data, Dataset& made) {
  const GraphView graph = data.graph.host_view();
  made.features = Tensor::empty(Shape(graph.num_rows, 1), Dtype::f32, "features of degrees");
  float* const features = made.features.span<float>().data();
  for (std::int64_t v = 0; v < graph.num_rows; ++v)
    features[v] = static_cast<float>(std::log1p(static_cast<double>(graph.offsets[v + 1] - graph.offsets[v])));
}

void make_constant(const Dataset& data, Dataset& made) {
  made.features = Tensor::empty(Shape(data.num_nodes(), 1), Dtype::f32, "constant features");
  std::ranges::fill(made.features.span<float>(), 1.0f);
}

struct Made {
  std::string_view name;
  void (*make)(const Dataset& data, Dataset& made);
};
constexpr Made made_features[] = {{"identity", make_identity}, {"degree", make_degree}, {"constant", make_constant}};

const Made* find_made(std::string_view name) {
  const auto* const found = std::ranges::find(made_features, name, &Made::name);
  return found == std::end(made_features) ? nullptr : found;
}

/// A path that nothing is at may be a made feature, mistyped.
void check_there(const std::string& features) {
  std::error_code ignored;
  if (std::filesystem::exists(features, ignored)) return;
  std::vector<std::string_view> names;
  for (const Made& each : made_features) names.push_back(each.name);
  WEFT_CHECK(nearest(lower_case(features), names).empty(), invalid_argument,
             "features {}: there is no such file: did you mean {}? expected one of {}, or a file", in_quotes(features),
             nearest(lower_case(features), names), fmt::join(names, ", "));
}

void check_finite(std::span<const float> values, std::int64_t width, const io::NodeRows& rows) {
  const auto wrong = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (wrong == values.end()) return;
  const std::int64_t at = wrong - values.begin(), row = at / width;
  fail(ErrorCode::invalid_file, "{}: feature {} of {} is {}: expected a finite number", rows.path, at % width,
       rows.place_of(row), *wrong);
}

void put_features(const Dataset& data, Dataset& made, io::NodeFeatures features) {
  const std::vector<NodeId> nodes = io::nodes_of(features.rows, data);
  if (features.sparse) {  // in the order of nodes
    if (features.sparse.values) {
      const auto values = features.sparse.values.span<float>();
      const auto wrong = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
      WEFT_CHECK(wrong == values.end(), invalid_file, "{}: element {} of 'data' is {}: expected a finite number",
                 features.rows.path, wrong - values.begin(), *wrong);
    }
    made.sparse_features = std::move(features.sparse);
    return;
  }
  const std::int64_t width = features.dense.shape().row_size();
  check_finite(features.dense.span<float>(), width, features.rows);
  if (features.rows.keys.empty()) {
    made.features = std::move(features.dense);
    return;
  }
  if (static_cast<std::int64_t>(nodes.size()) != data.num_nodes()) {
    std::vector<bool> has(static_cast<std::size_t>(data.num_nodes()));
    for (const NodeId node : nodes) has[static_cast<std::size_t>(node)] = true;
    const auto without = static_cast<NodeId>(std::ranges::find(has, false) - has.begin());
    fail(ErrorCode::invalid_file, "{}: it has {} rows for {} nodes: node {} has no features", features.rows.path,
         nodes.size(), data.num_nodes(), io::title_of(data, without));
  }
  made.features = Tensor::empty(Shape(data.num_nodes(), width), Dtype::f32, "features");
  const float* const from = features.dense.span<float>().data();
  float* const to = made.features.span<float>().data();
  for (std::size_t row = 0; row < nodes.size(); ++row)
    std::copy_n(from + static_cast<std::int64_t>(row) * width, width, to + nodes[row] * width);
}

void put_labels(const Dataset& data, Dataset& made, io::NodeLabels labels) {
  const std::vector<NodeId> nodes = io::nodes_of(labels.rows, data);
  made.classes = labels.num_classes;
  made.class_names = labels.names.empty() ? NodeNames() : io::names_of(labels.names);
  if (labels.several) {  // in the order of nodes
    made.labels = std::move(labels.several);
    return;
  }
  made.labels = Tensor::empty(Shape(data.num_nodes()), Dtype::i32, "labels");
  const auto classes = made.labels.span<std::int32_t>();
  std::ranges::fill(classes, -1);
  for (std::size_t row = 0; row < nodes.size(); ++row)
    classes[static_cast<std::size_t>(nodes[row])] = labels.classes[row];
}

Tensor split_of(std::vector<NodeId> nodes) {
  std::ranges::sort(nodes);
  return nodes.empty() ? Tensor() : io::tensor_of(nodes, "nodes of a split");
}

void put_split_arrays(const Dataset& data, Dataset& made, const io::SplitArrays& arrays, const std::string& path) {
  WEFT_CHECK(!arrays.has_lists() || (!data.node_ids && !data.node_names), invalid_file,
             "{}: it has places of nodes, but the graph's nodes have ids of their own ({}, ...): expected masks of one "
             "element per node, or a CSV file with the columns node and split",
             path, io::title_of(data, 0));
  struct Owner {
    const io::SplitArray* split = nullptr;
    std::size_t at = 0;
  };
  std::vector<Owner> owners(static_cast<std::size_t>(data.num_nodes()));
  for (const io::SplitArray& split : arrays.splits) {
    if (!split) continue;
    const auto nodes = split.nodes.span<NodeId>();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      WEFT_CHECK(nodes[i] >= 0 && nodes[i] < data.num_nodes(), invalid_file,
                 "{}: {} is of node '{}', which the graph does not have (its nodes are 0 to {})", path,
                 split.place_of(i), nodes[i], data.num_nodes() - 1);
      Owner& owner = owners[static_cast<std::size_t>(nodes[i])];
      WEFT_CHECK(owner.split == nullptr, invalid_file,
                 "{}: {} is of node {}, as {} is: expected each node in one split at most, and once", path,
                 split.place_of(i), nodes[i], owner.split->place_of(owner.at));
      owner = {&split, i};
    }
  }
  Tensor* const wanted[] = {&made.train, &made.val, &made.test};
  for (std::size_t i = 0; i < std::size(wanted); ++i) {
    const Tensor& nodes = arrays.splits[i].nodes;
    *wanted[i] = nodes ? split_of({nodes.span<NodeId>().begin(), nodes.span<NodeId>().end()}) : Tensor();
  }
}

void put_splits(const Dataset& data, Dataset& made, const io::NodeSplits& splits) {
  std::vector<NodeId> nodes;
  if (splits.has_rows()) nodes = io::nodes_of(splits.rows, data);
  if (splits.arrays) {
    put_split_arrays(data, made, *splits.arrays, splits.rows.path);
  } else {
    const auto list_of = [&](io::Part part) {
      std::vector<NodeId> list;
      for (std::size_t row = 0; row < nodes.size(); ++row)
        if (splits.parts[row] == part) list.push_back(nodes[row]);
      return split_of(std::move(list));
    };
    made.train = list_of(io::Part::train);
    made.val = list_of(io::Part::val);
    made.test = list_of(io::Part::test);
  }
  WEFT_CHECK(static_cast<bool>(made.train), invalid_file, "{}: it has no node to train on", splits.rows.path);
}

/// Whether the parts given are all that the dataset will have.
bool is_graph_alone(const Dataset& data, const DatasetParts& parts) {
  return (!data.has_features() || !parts.features.empty()) && (!data.labels || !parts.labels.empty()) &&
         ((!data.train && !data.val && !data.test) || !parts.masks.empty()) && !data.graph_ids && !data.graph_labels;
}

/// As many nodes as the graph may have with those that files add. Rows without keys count nodes from 0 on; of rows with
/// keys any may be of a node that nothing else has.
std::int64_t most_nodes_with(const Dataset& data, std::span<const io::NodeRows* const> files) {
  std::int64_t counted = data.num_nodes(), named = 0;
  for (const io::NodeRows* file : files) {
    if (file->keys.empty())
      counted = std::max(counted, file->count);
    else
      named += file->count;
  }
  return counted + named;
}

}  // namespace

std::vector<std::string> attach(Dataset& data, const DatasetParts& parts, const Progress& progress) {
  if (parts.features.empty() && parts.labels.empty() && parts.masks.empty()) return {};
  WEFT_CHECK(data.graph.is_square(), invalid_argument,
             "the graph has {} rows and {} columns: features, labels and splits are of graphs with one set of nodes",
             data.graph.num_rows(), data.graph.num_cols());
  const Made* const made = find_made(parts.features);
  const bool without_labels = parts.labels == "none";
  std::optional<io::NodeFeatures> features;
  std::optional<io::NodeLabels> labels;
  std::optional<io::NodeSplits> splits;
  std::vector<const io::NodeRows*> rows;
  if (!parts.features.empty() && made == nullptr) {
    check_there(parts.features);
    rows.push_back(&features.emplace(io::read_features(parts.features, data, progress)).rows);
  }
  if (!parts.labels.empty() && !without_labels)
    rows.push_back(&labels.emplace(io::read_labels(parts.labels, data, progress)).rows);
  if (!parts.masks.empty()) {
    const std::int64_t most_nodes = most_nodes_with(data, rows);
    splits.emplace(io::read_splits(parts.masks, data, most_nodes, progress));
    if (splits->has_rows()) rows.push_back(&splits->rows);
  }
  std::vector<std::string> notes;
  for (const io::NodeRows* file : rows)
    if (!file->note.empty()) notes.push_back(file->note);
  if (data.original)
    for (const io::NodeRows* file : rows)
      if (file->keys.empty())
        notes.push_back(
            fmt::format("{}: its rows go by the numbers that nodes have now; they had others before weft "
                        "reorder (the ids)",
                        file->path));
  std::optional<Dataset> grown;
  if (is_graph_alone(data, parts)) grown = io::with_missing_nodes(data, rows);
  if (grown) {
    const std::int64_t added = grown->num_nodes() - data.num_nodes();
    notes.push_back(fmt::format("{} node{} without edges added: only the files about nodes have {}", added,
                                added == 1 ? "" : "s", added == 1 ? "it" : "them"));
  }
  const Dataset& nodes = grown ? *grown : data;
  Dataset attached;
  if (made != nullptr) made->make(nodes, attached);
  if (features) put_features(nodes, attached, std::move(*features));
  if (labels) put_labels(nodes, attached, std::move(*labels));
  if (splits) put_splits(nodes, attached, *splits);
  // Nothing from here on fails: the dataset is changed as a whole or not at all.
  if (grown) {
    data.graph = std::move(grown->graph);
    data.node_ids = std::move(grown->node_ids);
    data.node_names = std::move(grown->node_names);
    data.original = {};  // of fewer nodes
  }
  if (made != nullptr || features) {
    data.features = std::move(attached.features);
    data.sparse_features = std::move(attached.sparse_features);
  }
  if (labels || without_labels) {
    data.labels = std::move(attached.labels);
    data.classes = attached.classes;
    data.class_names = std::move(attached.class_names);
  }
  if (splits) {
    data.train = std::move(attached.train);
    data.val = std::move(attached.val);
    data.test = std::move(attached.test);
  }
  return notes;
}

}  // namespace weft
