#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "weft/reorder.hpp"

namespace weft {
namespace {

/// Row i of the result is row order[i] of `rows`; nothing of nothing.
Tensor permuted(const Tensor& rows, std::span<const NodeId> order) {
  if (!rows) return {};
  const ConstTensorView from = rows.view();
  Tensor result = Tensor::empty(from.shape, from.dtype, "rows of a renumbered dataset");
  const std::size_t element = size_of(from.dtype);
  const std::size_t row = static_cast<std::size_t>(from.shape.row_size()) * element;
  const std::size_t from_stride = static_cast<std::size_t>(from.ld) * element;
  const std::size_t to_stride = static_cast<std::size_t>(result.view().ld) * element;
  auto* const out = static_cast<std::byte*>(result.view().mutable_data());
  const auto* const in = static_cast<const std::byte*>(from.data);
  parallel_ranges(default_threads(), static_cast<std::int64_t>(order.size()), 1024,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                      std::memcpy(out + i * to_stride, in + static_cast<std::size_t>(order[i]) * from_stride, row);
                  });
  return result;
}

/// Offsets of the same lists in another order.
Tensor permuted_offsets(const Tensor& offsets, std::span<const NodeId> order) {
  Tensor result = Tensor::empty(offsets.shape(), Dtype::i64, "offsets of a renumbered dataset");
  const auto from = offsets.span<std::int64_t>();
  const auto to = result.span<std::int64_t>();
  to[0] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto row = static_cast<std::size_t>(order[i]);
    to[i + 1] = to[i] + from[row + 1] - from[row];
  }
  return result;
}

template <class T>
void copy_lists(std::span<const std::int64_t> from_offsets, std::span<const std::int64_t> to_offsets,
                std::span<const NodeId> order, const T* from, T* to) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto row = static_cast<std::size_t>(order[i]);
    std::copy(from + from_offsets[row], from + from_offsets[row + 1], to + to_offsets[i]);
  }
}

SparseRows permuted(const SparseRows& rows, std::span<const NodeId> order) {
  if (!rows) return {};
  SparseRows result;
  result.cols = rows.cols;
  result.offsets = permuted_offsets(rows.offsets, order);
  const auto from = rows.offsets.span<std::int64_t>();
  const auto to = result.offsets.span<std::int64_t>();
  result.columns = Tensor::empty(rows.columns.shape(), Dtype::i32, "columns of renumbered features");
  copy_lists(from, to, order, rows.columns.span<std::int32_t>().data(), result.columns.span<std::int32_t>().data());
  if (!rows.values) return result;
  result.values = Tensor::empty(rows.values.shape(), Dtype::f32, "values of renumbered features");
  copy_lists(from, to, order, rows.values.span<float>().data(), result.values.span<float>().data());
  return result;
}

NodeNames permuted(const NodeNames& names, std::span<const NodeId> order) {
  if (!names) return {};
  NodeNames result;
  result.offsets = permuted_offsets(names.offsets, order);
  result.text.resize(names.text.size());
  copy_lists(names.offsets.span<std::int64_t>(), result.offsets.span<std::int64_t>(), order, names.text.data(),
             result.text.data());
  return result;
}

/// The same nodes by their new numbers, in the order they were listed in.
Tensor renumbered(const Tensor& nodes, std::span<const NodeId> new_of) {
  if (!nodes) return {};
  Tensor result = Tensor::empty(nodes.shape(), Dtype::i32, "a split of a renumbered dataset");
  std::ranges::transform(nodes.span<NodeId>(), result.span<NodeId>().begin(),
                         [&](NodeId v) { return new_of[static_cast<std::size_t>(v)]; });
  return result;
}

Tensor copied(const Tensor& tensor) { return tensor ? tensor.clone() : Tensor(); }

/// Numbers from 0 on, as ids.
Tensor as_ids(std::span<const NodeId> numbers) {
  Tensor result = Tensor::empty(Shape(static_cast<std::int64_t>(numbers.size())), Dtype::i64, "ids of nodes");
  std::ranges::copy(numbers, result.span<std::int64_t>().begin());
  return result;
}

void check_order(std::int64_t nodes, const Reordering& by) {
  WEFT_CHECK(by.num_nodes() == nodes, invalid_argument,
             "the reordering is of {} nodes: expected one of {}, as there are", by.num_nodes(), nodes);
  if (nodes == 0) return;
  std::vector<bool> seen(static_cast<std::size_t>(nodes), false);
  const auto order = by.order.span<NodeId>();
  for (std::size_t i = 0; i < order.size(); ++i) {
    WEFT_CHECK(order[i] >= 0 && order[i] < nodes && !seen[static_cast<std::size_t>(order[i])], invalid_argument,
               "order[{}] is {}: expected each node from 0 to {} once", i, order[i], nodes - 1);
    seen[static_cast<std::size_t>(order[i])] = true;
  }
}

}  // namespace

Derived reordered(const Graph& graph, const Reordering& by) {
  check_order(graph.num_rows(), by);
  return induced_subgraph(graph, by.order.span<NodeId>());
}

Tensor reordered(const Tensor& rows, const Reordering& by) {
  check_order(rows.shape().rows, by);
  return permuted(rows, by.order.span<NodeId>());
}

Tensor restored(const Tensor& rows, const Reordering& by) {
  check_order(rows.shape().rows, by);
  const Tensor inverse = by.inverse();
  return permuted(rows, inverse.span<NodeId>());
}

Reordering within_graphs(const Dataset& data, Reordering by) {
  check_order(data.num_nodes(), by);
  if (!data.graph_ids) return by;
  const auto graph_of = data.graph_ids.span<std::int32_t>();
  std::ranges::stable_sort(by.order.span<NodeId>(), {},
                           [&](NodeId v) { return graph_of[static_cast<std::size_t>(v)]; });
  return by;
}

Dataset reordered(const Dataset& data, const Reordering& given) {
  check_order(data.num_nodes(), given);
  Reordering inside;
  if (data.graph_ids) {
    inside.order = given.order.clone();
    inside = within_graphs(data, std::move(inside));
  }
  const Reordering& by = data.graph_ids ? inside : given;
  const auto order = by.order.span<NodeId>();
  const Tensor inverse = by.inverse();
  const auto new_of = inverse.span<NodeId>();

  Dataset result;
  Derived derived = induced_subgraph(data.graph, order);
  if (data.values) result.values = carry_values(derived.origin, data.values);
  result.graph = std::move(derived.graph);
  result.format = data.format;
  result.note = data.note;
  result.name = data.name;
  result.source = data.source;
  result.features = permuted(data.features, order);
  result.sparse_features = permuted(data.sparse_features, order);
  result.labels = permuted(data.labels, order);
  result.classes = data.classes;
  result.class_names = {copied(data.class_names.offsets), data.class_names.text};
  result.train = renumbered(data.train, new_of);
  result.val = renumbered(data.val, new_of);
  result.test = renumbered(data.test, new_of);
  result.original = data.original ? permuted(data.original, order) : by.order.clone();
  result.node_ids = data.node_ids || data.node_names ? permuted(data.node_ids, order) : as_ids(order);
  result.node_names = permuted(data.node_names, order);
  result.graph_ids = permuted(data.graph_ids, order);
  result.graph_labels = copied(data.graph_labels);
  result.graph_classes = data.graph_classes;
  return result;
}

}  // namespace weft
