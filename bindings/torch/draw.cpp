// Parts of graphs that are drawn for batches, by the passes that weft's own training draws with.
#include <fmt/format.h>

#include <algorithm>

#include "graphs.hpp"
#include "nn/sample/cut.hpp"
#include "operators.hpp"
#include "runtime.hpp"

namespace weft::pytorch {
namespace {

/// A tensor of weft's as one of torch's, in the same memory.
Tensor given_away(weft::Tensor tensor, const Tensor& like) {
  const auto kept = std::make_shared<const weft::Tensor>(std::move(tensor));
  return lent(kept->view(), kept, like);
}

/// The scratch memory of a loader: the number of every node in the batch that is being drawn.
nn::LocalIds numbers_in(const Tensor& numbers, const Graph& graph) {
  const TensorView ids = writable(numbers);
  if (ids.dtype != Dtype::i32 || ids.shape != Shape(graph.num_rows()) || ids.device != graph.device())
    throw Error(ErrorCode::invalid_argument, "numbers does not fit: expected int32 [nodes] of -1 where the graph is");
  return nn::LocalIds(ids);
}

Sampling method_of(const std::string& method) {
  for (const auto& [name, known] :
       {std::pair{"node", Sampling::node}, {"edge", Sampling::edge}, {"walk", Sampling::walk}})
    if (method == name) return known;
  throw Error(ErrorCode::invalid_argument, fmt::format("method is {}: expected node, edge or walk", method));
}

Input nodes_in(const Tensor& nodes, Device device) {
  const Input in(torch::stable::contiguous(nodes), "nodes");
  if (in.view().dtype != Dtype::i32 || in.view().device != device)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("nodes is {} on {}: expected i32 on {}, where the graph is", name(in.view().dtype),
                            to_string(in.view().device), to_string(device)));
  return in;
}

/// Numbers that are counted in: none may be negative.
void check_counts(std::initializer_list<std::int64_t> counts) {
  if (std::min(counts) < 0)
    throw Error(ErrorCode::invalid_argument, fmt::format("a count is {}: expected 0 or more", std::min(counts)));
}

}  // namespace

Tensor shuffle_nodes(Tensor nodes, std::int64_t first, std::int64_t count, std::int64_t seed, std::int64_t epoch) {
  const Input from = nodes_in(nodes, device_of(nodes));
  check_counts({first, count, epoch, from.view().shape.rows - first - count});
  const Context context = context_of(nodes);
  const Draws draws{static_cast<std::uint64_t>(seed), epoch, Purpose::shuffling};
  return given_away(nn::shuffled_nodes(context, from, first, count, draws), nodes);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> draw_neighbours(Rows rows, std::int64_t key, std::int64_t num_sources,
                                                           Tensor nodes, std::int64_t fanout, std::int64_t seed,
                                                           std::int64_t step, std::int64_t hop, std::int64_t first,
                                                           Tensor numbers) {
  const auto held = graph_of(rows, key, num_sources);
  const Context context = context_of(nodes);
  nn::LocalIds local = numbers_in(numbers, held->graph());
  const Input in = nodes_in(nodes, held->graph().device());
  check_counts({fanout - all_neighbours, step, hop, first});
  nn::RowDraw draw{.nodes = in, .fanout = fanout, .hop = static_cast<std::uint32_t>(hop)};
  draw.draws = {static_cast<std::uint64_t>(seed), step, Purpose::batches};
  nn::DrawnRows drawn = nn::draw_rows(context, held->graph(), draw, local, first);
  const auto give = [&](weft::Tensor& tensor) { return given_away(std::move(tensor), nodes); };
  return {give(drawn.rows.offsets), give(drawn.rows.cols), give(drawn.rows.places), give(drawn.more)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> draw_subgraph(Rows rows, std::int64_t key, std::int64_t num_sources,
                                                         std::string method, std::int64_t count, std::int64_t length,
                                                         MaybeTensor roots, std::int64_t seed, std::int64_t step,
                                                         bool counting, Tensor numbers) {
  const auto held = graph_of(rows, key, num_sources);
  const Context context = context_of(numbers);
  nn::LocalIds local = numbers_in(numbers, held->graph());
  check_counts({count, length, step});
  nn::MarkArgs mark{method_of(method), held->graph().view(), count, length};
  mark.draws = {static_cast<std::uint64_t>(seed), step, counting ? Purpose::counting : Purpose::batches};
  const Input from = roots && roots->defined() ? nodes_in(*roots, context.device()) : Input();
  if (from.view().given) {
    mark.roots = from.view().as<NodeId>();
    mark.num_roots = from.view().shape.rows;
  }
  nn::DrawnSubgraph drawn = nn::draw_subgraph(context, held->graph(), mark, local, true);
  const auto give = [&](weft::Tensor& tensor) { return given_away(std::move(tensor), numbers); };
  return {give(drawn.nodes), give(drawn.rows.offsets), give(drawn.rows.cols), give(drawn.rows.places)};
}

}  // namespace weft::pytorch
