#include "weft/dataset.hpp"

#include <atomic>
#include <cmath>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "weft/types.hpp"

namespace weft {
namespace {

void check_dtype(const Tensor& tensor, std::string_view what, Dtype wanted) {
  WEFT_CHECK(tensor.dtype() == wanted, invalid_file, "the {} are {}: expected {}", what, name(tensor.dtype()),
             name(wanted));
}
/// One number per row, of that type: whoever reads them counts on it.
void check_list(const Tensor& list, std::string_view what, Dtype wanted) {
  check_dtype(list, what, wanted);
  WEFT_CHECK(list.shape().rank == 1, invalid_file, "the {} have the shape {}: expected one number each", what,
             to_string(list.shape()));
}
void check_classes(std::int64_t classes, std::string_view of) {
  WEFT_CHECK(classes >= 0 && classes <= INT32_MAX, invalid_file, "it declares {} classes of {}: expected 0 to {}",
             classes, of, INT32_MAX);
}
void check_on_host(const Dataset& data) {
  for (const Tensor* tensor : data.parts())
    WEFT_CHECK(!*tensor || tensor->device().kind == DeviceKind::cpu, unsupported,
               "a part of the dataset is on {}: copy it to the cpu first", to_string(tensor->device()));
}
void check_rows(std::int64_t found, std::string_view what, std::int64_t wanted, std::string_view of) {
  WEFT_CHECK(found == wanted, invalid_file, "it has {} for {} {}: expected one for each of {}", what, found, of,
             wanted);
}

/// The first place of `values` where one is outside [least, most].
void check_range(std::span<const std::int32_t> values, std::int64_t least, std::int64_t most, std::string_view what) {
  for (std::size_t i = 0; i < values.size(); ++i)
    WEFT_CHECK(values[i] >= least && values[i] <= most, invalid_file, "{} {} is {}: expected {} to {}", what, i,
               values[i], least, most);
}

void check_features(const Dataset& data) {
  WEFT_CHECK(!data.features || !data.sparse_features, invalid_file, "it has features twice, dense and sparse");
  if (data.features) {
    check_dtype(data.features, "features", Dtype::f32);
    check_rows(data.features.shape().rows, "features", data.num_nodes(), "nodes");
  }
  if (!data.sparse_features) return;
  const SparseRows& sparse = data.sparse_features;
  check_list(sparse.offsets, "offsets of features", Dtype::i64);
  WEFT_CHECK(static_cast<bool>(sparse.columns), invalid_file, "its features have offsets, but no columns");
  check_list(sparse.columns, "columns of features", Dtype::i32);
  check_rows(sparse.rows(), "features", data.num_nodes(), "nodes");
  WEFT_CHECK(sparse.cols >= 0 && sparse.cols <= INT32_MAX, invalid_file, "it declares {} features: expected 0 to {}",
             sparse.cols, INT32_MAX);
  const auto offsets = sparse.offsets.span<std::int64_t>();
  const auto columns = sparse.columns.span<std::int32_t>();
  const auto entries = static_cast<std::int64_t>(columns.size());
  WEFT_CHECK(offsets.front() == 0 && offsets.back() == entries, invalid_file,
             "the offsets of its features run from {} to {}: expected 0 to {}", offsets.front(), offsets.back(),
             entries);
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    WEFT_CHECK(offsets[row] <= offsets[row + 1] && offsets[row + 1] <= entries, invalid_file,
               "the offsets of its features go from {} to {} at node {}: expected none to fall, and at most {}",
               offsets[row], offsets[row + 1], row, entries);
    for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const bool follows = k == offsets[row] || columns[at] > columns[at - 1];
      WEFT_CHECK(
          columns[at] >= 0 && columns[at] < sparse.cols && follows, invalid_file,
          "feature entry {} of node {} is in column {}, twice or out of order: expected ascending ones of 0 to {}", k,
          row, columns[at], sparse.cols - 1);
    }
  }
  if (!sparse.values) return;
  check_list(sparse.values, "values of features", Dtype::f32);
  check_rows(sparse.values.shape().rows, "values of features", entries, "entries");
}

/// One name for each of `count` nodes or classes.
void check_names(const NodeNames& names, std::int64_t count, std::string_view of, std::string_view one) {
  if (!names) return;
  check_list(names.offsets, fmt::format("offsets of names of {}", of), Dtype::i64);
  check_rows(names.count(), "names", count, of);
  const auto offsets = names.offsets.span<std::int64_t>();
  const auto bytes = static_cast<std::int64_t>(names.text.size());
  WEFT_CHECK(offsets.front() == 0 && offsets.back() == bytes, invalid_file,
             "the offsets of its names of {} run from {} to {}: expected 0 to {}, the bytes of all names", of,
             offsets.front(), offsets.back(), bytes);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    WEFT_CHECK(offsets[i] <= offsets[i + 1], invalid_file, "the offsets of its names of {} fall from {} to {} at {} {}",
               of, offsets[i], offsets[i + 1], one, i);
}

void check_labels(const Dataset& data) {
  WEFT_CHECK(data.labels || !data.class_names, invalid_file, "its classes have names, but no node has a label");
  if (!data.labels) return;
  check_classes(data.classes, "nodes");
  check_names(data.class_names, data.classes, "classes", "class");
  check_rows(data.labels.shape().rows, "labels", data.num_nodes(), "nodes");
  if (data.multi_label()) {
    check_dtype(data.labels, "labels", Dtype::f32);
    WEFT_CHECK(data.labels.shape().row_size() == data.classes, invalid_file,
               "its labels have {} columns for {} classes", data.labels.shape().row_size(), data.classes);
    return;
  }
  check_list(data.labels, "labels", Dtype::i32);
  check_range(data.labels.span<std::int32_t>(), -1, data.classes - 1, "the label of node");
}

void check_splits(const Dataset& data) {
  std::vector<unsigned char> taken(data.train || data.val || data.test ? static_cast<std::size_t>(data.num_nodes())
                                                                       : 0);
  for (const auto& [split, title] : {std::pair(&data.train, "train"), {&data.val, "val"}, {&data.test, "test"}}) {
    if (!*split) continue;
    check_list(*split, fmt::format("nodes of the {} split", title), Dtype::i32);
    const auto nodes = split->span<std::int32_t>();
    check_range(nodes, 0, data.num_nodes() - 1, fmt::format("node of the {} split at place", title));
    for (const std::int32_t node : nodes) {
      WEFT_CHECK(!taken[static_cast<std::size_t>(node)], invalid_file,
                 "node {} stands twice in the splits, the second time in {}: expected once at most", node, title);
      taken[static_cast<std::size_t>(node)] = 1;
    }
  }
}

void check_ids(const Dataset& data) {
  WEFT_CHECK(!data.node_ids || !data.node_names, invalid_file, "its nodes have ids and names: expected one of them");
  if (data.node_ids) {
    check_list(data.node_ids, "ids of nodes", Dtype::i64);
    check_rows(data.node_ids.shape().rows, "ids of nodes", data.num_nodes(), "nodes");
  }
  check_names(data.node_names, data.num_nodes(), "nodes", "node");
  if (!data.original) return;
  check_list(data.original, "original numbers of nodes", Dtype::i32);
  check_rows(data.original.shape().rows, "original numbers of nodes", data.num_nodes(), "nodes");
  const auto numbers = data.original.span<std::int32_t>();
  check_range(numbers, 0, data.num_nodes() - 1, "the original number of node");
  std::vector<bool> seen(numbers.size(), false);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::size_t>(numbers[i]);
    WEFT_CHECK(!seen[number], invalid_file, "node {} was node {}, as was another before it: expected each number once",
               i, number);
    seen[number] = true;
  }
}

void check_collection(const Dataset& data) {
  if (data.graph_ids) {
    check_list(data.graph_ids, "graphs of nodes", Dtype::i32);
    check_rows(data.graph_ids.shape().rows, "graphs of nodes", data.num_nodes(), "nodes");
    const auto ids = data.graph_ids.span<std::int32_t>();
    std::int32_t last = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      WEFT_CHECK(ids[i] >= last, invalid_file, "node {} is of graph {} after one of graph {}: expected ascending ones",
                 i, ids[i], last);
      last = ids[i];
    }
    WEFT_CHECK(!data.graph_labels || ids.empty() || last < data.num_graphs(), invalid_file,
               "a node is of graph {}, but there are labels of {} graphs", last, data.num_graphs());
  }
  if (!data.graph_labels) return;
  check_list(data.graph_labels, "labels of graphs", Dtype::i32);
  check_classes(data.graph_classes, "graphs");
  check_range(data.graph_labels.span<std::int32_t>(), -1, data.graph_classes - 1, "the label of graph");
}

}  // namespace

Tensor SparseRows::dense(Dtype dtype) const {
  Tensor result = Tensor::zeros(Shape(rows(), cols), dtype, "dense features");
  const auto from = offsets.span<std::int64_t>();
  const auto at = columns.span<std::int32_t>();
  const float* const value = values ? values.span<float>().data() : nullptr;
  with_any_dtype(dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    To* const out = result.span<To>().data();
    parallel_ranges(default_threads(), rows(), 1 << 10, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t k = from[static_cast<std::size_t>(row)]; k < from[static_cast<std::size_t>(row) + 1]; ++k)
          out[row * cols + at[static_cast<std::size_t>(k)]] = convert<To>(value != nullptr ? value[k] : 1.0f);
    });
  });
  return result;
}

std::string_view NodeNames::at(std::int64_t node) const& {
  const auto place = offsets.span<std::int64_t>().subspan(static_cast<std::size_t>(node), 2);
  return std::string_view(text).substr(static_cast<std::size_t>(place[0]),
                                       static_cast<std::size_t>(place[1] - place[0]));
}

void validate(const Dataset& data) {
  WEFT_CHECK(!data.has_more_than_graph() || data.graph.is_square(), invalid_file,
             "its graph has {} destinations and {} sources: expected as many, as features and labels are of nodes",
             data.graph.num_rows(), data.graph.num_cols());
  check_on_host(data);
  check_features(data);
  check_labels(data);
  check_splits(data);
  check_ids(data);
  check_collection(data);
}

double homophily(const Dataset& data) {
  if (!data.labels || data.multi_label()) return -1;
  const GraphView graph = data.graph.host_view();
  const std::int32_t* const label = data.labels.span<std::int32_t>().data();
  std::atomic<std::int64_t> known{0}, alike{0};
  parallel_ranges(default_threads(), graph.num_rows, 1 << 10, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t both = 0, same = 0;
    for (std::int64_t v = begin; v < end; ++v)
      for (EdgeId k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
        const std::int32_t other = label[graph.cols[k]];
        both += label[v] >= 0 && other >= 0;
        same += label[v] >= 0 && other == label[v];
      }
    known += both;
    alike += same;
  });
  return known > 0 ? static_cast<double>(alike) / static_cast<double>(known) : -1;
}

}  // namespace weft
