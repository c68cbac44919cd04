// Draws parts of graphs for batches, with the code that weft's own training uses.
#include <fmt/format.h>

#include <algorithm>

#include "graphs.hpp"
#include "nn/sample/cut.hpp"
#include "operators.hpp"
#include "runtime.hpp"

namespace weft::pytorch {
namespace {

/// A weft tensor as a torch tensor over the same memory.
Tensor given_away(weft::Tensor tensor, const Tensor& like) {
  const auto kept = std::make_shared<const weft::Tensor>(std::move(tensor));
  return lent(kept->view(), kept, like);
}

/// A loader's scratch memory: each node's number in the batch being drawn.
nn::LocalIds numbers_in(const Tensor& numbers, const Graph& graph) {
  if (!graph.is_square())
    throw Error(ErrorCode::invalid_argument, fmt::format("the graph has {} sources and {} targets: expected one set of "
                                                         "nodes, of which batches are drawn",
                                                         graph.num_cols(), graph.num_rows()));
  const TensorView ids = writable(numbers);
  if (ids.dtype != Dtype::i32 || ids.shape != Shape(graph.num_rows()) || ids.device != graph.device() ||
      (numbers.numel() > 1 && numbers.stride(0) != 1))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("numbers is {} {} on {}: expected i32 [{}] of -1, side by side, on {}", name(ids.dtype),
                            to_string(ids.shape), to_string(ids.device), graph.num_rows(), to_string(graph.device())));
  return nn::LocalIds(ids);
}

Sampling method_of(const std::string& method) {
  for (const auto& [name, known] :
       {std::pair{"node", Sampling::node}, {"edge", Sampling::edge}, {"walk", Sampling::walk}})
    if (method == name) return known;
  throw Error(ErrorCode::invalid_argument, fmt::format("method is {}: expected node, edge or walk", method));
}

/// Node ids; on a CPU their range is checked if the number of nodes is known.
Input nodes_in(const Tensor& nodes, Device device, std::int64_t known = -1) {
  const Input in(torch::stable::contiguous(nodes), "nodes");
  if (in.view().dtype != Dtype::i32 || in.view().device != device)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("nodes is {} on {}: expected i32 on {}, where the graph is", name(in.view().dtype),
                            to_string(in.view().device), to_string(device)));
  if (known < 0 || device.kind != DeviceKind::cpu) return in;
  const auto* const ids = in.view().as<NodeId>();
  for (std::int64_t i = 0; i < in.view().shape.rows; ++i)
    if (ids[i] < 0 || ids[i] >= known)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("nodes[{}] is {}: expected the id of one of {} nodes", i, ids[i], known));
  return in;
}

/// An Error if a count is negative.
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
  const Input in = nodes_in(nodes, held->graph().device(), held->graph().num_rows());
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
  const std::int64_t num_nodes = held->graph().num_rows();
  const Input from = roots && roots->defined() ? nodes_in(*roots, context.device(), num_nodes) : Input();
  if (num_nodes == 0) throw Error(ErrorCode::invalid_argument, "the graph has no nodes: expected some to draw from");
  if (mark.method == Sampling::walk && (!from.view().given || from.view().shape.rows == 0))
    throw Error(ErrorCode::invalid_argument, "roots are missing: expected nodes that walks begin at");
  if (from.view().given) {
    mark.roots = from.view().as<NodeId>();
    mark.num_roots = from.view().shape.rows;
  }
  nn::DrawnSubgraph drawn = nn::draw_subgraph(context, held->graph(), mark, local, true);
  const auto give = [&](weft::Tensor& tensor) { return given_away(std::move(tensor), numbers); };
  return {give(drawn.nodes), give(drawn.rows.offsets), give(drawn.rows.cols), give(drawn.rows.places)};
}

}  // namespace weft::pytorch
