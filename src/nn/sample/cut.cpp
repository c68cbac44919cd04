#include "nn/sample/cut.hpp"

#include <algorithm>

#include "core/device.hpp"

namespace weft::nn {
namespace {

Tensor array(const Context& context, std::int64_t count, Dtype dtype, const char* what) {
  return Tensor::empty(Shape(count), dtype, what, context.device(), context.stream());
}

}  // namespace

LocalIds::LocalIds(const Context& context, std::int64_t nodes)
    : ids_(array(context, nodes, Dtype::i32, "numbers of nodes in a batch")) {
  clear(context);
}

void LocalIds::clear(const Context& context) {
  const std::vector<NodeId> none(static_cast<std::size_t>(ids_.shape().rows), absent);
  copy_bytes(context.device(), ids_.view().mutable_data(), Device{}, none.data(), ids_.bytes(), context.stream());
}

void LocalIds::begin(const Context& context) {
  if (drawing_) clear(context);
  drawing_ = true;
}

Tensor LocalIds::number_marked(const Context& context, std::int64_t first, std::int64_t most) {
  const std::int64_t all = ids_.shape().rows;
  Tensor nodes = array(context, std::min(most, all), Dtype::i32, "nodes of a batch");
  nodes.truncate(list_marked(context, data(), all, nodes.view().as<NodeId>()));
  number(context, nodes, first);
  return nodes;
}

void LocalIds::number(const Context& context, ConstTensorView nodes, std::int64_t first) {
  run(context, NumberArgs{nodes.as<NodeId>(), nodes.shape.rows, static_cast<NodeId>(first), data()});
}

void LocalIds::forget(const Context& context, ConstTensorView nodes) {
  number(context, nodes, absent);
  drawing_ = false;
}

Tensor nodes_there(const Context& context, const std::vector<NodeId>& nodes) {
  Tensor there = array(context, static_cast<std::int64_t>(nodes.size()), Dtype::i32, "nodes to learn from");
  copy_bytes(context.device(), there.view().mutable_data(), Device{}, nodes.data(), there.bytes(), context.stream());
  return there;
}

CutRows take_rows(const Context& context, const Graph& graph, ConstTensorView nodes, const NodeId* local) {
  const std::int64_t count = nodes.shape.rows;
  CutRows rows;
  rows.offsets = array(context, count + 1, Dtype::i64, "offsets of a batch");
  TakeRowsArgs args{graph.view(), nodes.as<NodeId>(), count, local, rows.offsets.view().as<EdgeId>()};
  run(context, args);
  const EdgeId edges = lengths_to_offsets(context, args.offsets, count);
  rows.cols = array(context, edges, Dtype::i32, "columns of a batch");
  rows.places = array(context, edges, Dtype::i64, "places of a batch's edges");
  args.cols = rows.cols.view().as<NodeId>();
  args.places = rows.places.view().as<EdgeId>();
  if (edges > 0) run(context, args);
  return rows;
}

}  // namespace weft::nn
