#include "nn/sample/cut.hpp"

#include <algorithm>
#include <limits>

#include "core/device.hpp"

namespace weft::nn {
namespace {

Tensor array(const Context& context, std::int64_t count, Dtype dtype, const char* what) {
  return Tensor::empty(Shape(count), dtype, what, context.device(), context.stream());
}

}  // namespace

LocalIds::LocalIds(const Context& context, std::int64_t nodes)
    : memory_(array(context, nodes, Dtype::i32, "numbers of nodes in a batch")), ids_(memory_.view()) {
  clear(context);
}

void LocalIds::clear(const Context& context) {
  const std::vector<NodeId> none(static_cast<std::size_t>(ids_.shape.rows), absent);
  copy_bytes(context.device(), ids_.mutable_data(), Device{}, none.data(), none.size() * sizeof(NodeId),
             context.stream());
}

void LocalIds::begin(const Context& context) {
  if (drawing_) clear(context);
  drawing_ = true;
}

Tensor LocalIds::number_marked(const Context& context, std::int64_t first, std::int64_t most) {
  const std::int64_t all = ids_.shape.rows;
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

Tensor shuffled_nodes(const Context& context, ConstTensorView from, std::int64_t first, std::int64_t count,
                      const Draws& draws) {
  Tensor nodes = array(context, count, Dtype::i32, "nodes of a batch");
  run(context, ShuffleArgs{from.as<NodeId>(), from.shape.rows, first, count, draws, nodes.view().as<NodeId>()});
  return nodes;
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

DrawnRows draw_rows(const Context& context, const Graph& graph, const RowDraw& draw, LocalIds& local,
                    std::int64_t first) {
  const std::int64_t count = draw.nodes.shape.rows;
  // A bound that no row passes stands for all neighbours: nothing is drawn then, and no place is compared with another.
  const std::int64_t most = draw.fanout == all_neighbours ? std::numeric_limits<std::int64_t>::max() : draw.fanout;
  DrawnRows drawn;
  drawn.rows.offsets = array(context, count + 1, Dtype::i64, "offsets of a batch");
  DrawRowsArgs args{graph.view(), draw.nodes.as<NodeId>(), count, most, draw.keeps_loops, draw.draws, draw.hop};
  args.offsets = drawn.rows.offsets.view().as<EdgeId>();
  args.local = local.data();
  run(context, args);
  const EdgeId edges = lengths_to_offsets(context, args.offsets, count);
  drawn.rows.cols = array(context, edges, Dtype::i32, "columns of a batch");
  drawn.rows.places = array(context, edges, Dtype::i64, "places of a batch's edges");
  drawn.multiples = array(context, draw.with_multiples ? edges : 0, Dtype::f32, "what a batch's edges stand for");
  args.cols = drawn.rows.cols.view().as<NodeId>();
  args.places = drawn.rows.places.view().as<EdgeId>();
  args.multiples = draw.with_multiples ? drawn.multiples.view().as<float>() : nullptr;
  if (edges > 0) run(context, args);
  drawn.more = local.number_marked(context, first, edges);
  if (edges > 0) run(context, RelabelArgs{edges, args.cols, local.data()});
  return drawn;
}

DrawnSubgraph draw_subgraph(const Context& context, const Graph& graph, MarkArgs mark, LocalIds& local,
                            bool with_rows) {
  local.begin(context);
  mark.local = local.data();
  run(context, mark);
  DrawnSubgraph drawn;
  drawn.nodes = local.number_marked(context, 0, mark.count * (mark.length + 1));
  if (with_rows) drawn.rows = take_rows(context, graph, drawn.nodes, local.data());
  local.forget(context, drawn.nodes);
  return drawn;
}

}  // namespace weft::nn
