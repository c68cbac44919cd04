// Graphs from torch's tensors, and their rows as torch's tensors.
#include <array>

#include "graphs.hpp"
#include "operators.hpp"
#include "runtime.hpp"
#include "weft/error.hpp"
#include "weft/graph.hpp"

namespace weft::pytorch {
namespace {

Graph graph_of_edges(const Tensor& sources, const Tensor& destinations, std::int64_t num_sources,
                     std::int64_t num_destinations) {
  const Tensor from = torch::stable::contiguous(sources), to = torch::stable::contiguous(destinations);
  return Graph::from_edges({.num_sources = num_sources, .num_destinations = num_destinations},
                           {.sources = Input(from, "sources"), .destinations = Input(to, "destinations")},
                           context_of(sources).stream());
}

/// 0, 1, 2 and so on.
Tensor sequence(std::int64_t count, const Tensor& like) {
  Tensor steps = empty(Shape(count), Dtype::i64, like);
  if (count == 0) return steps;
  torch::stable::fill_(steps, 1);
  Tensor first = torch::stable::narrow(steps, 0, 0, 1);
  torch::stable::fill_(first, 0);
  std::array<StableIValue, 3> stack{torch::stable::detail::from(steps), torch::stable::detail::from(std::int64_t{0}),
                                    torch::stable::detail::from(std::nullopt)};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::cumsum", "", stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

}  // namespace

std::int64_t graph_hold(Rows rows, std::int64_t num_sources) { return hold_graph(rows, num_sources); }

std::tuple<std::int64_t, Rows> graph_from_edges(Tensor sources, Tensor destinations, std::int64_t num_sources,
                                                std::int64_t num_destinations) {
  const Graph graph = graph_of_edges(sources, destinations, num_sources, num_destinations);
  Rows rows = rows_of(graph, sources);
  const std::int64_t key = hold_graph(graph, rows, num_sources);
  return {key, std::move(rows)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> graph_rows(Tensor edge_index, std::int64_t num_sources,
                                                      std::int64_t num_destinations) {
  if (edge_index.dim() != 2 || edge_index.size(0) != 2)
    throw Error(ErrorCode::invalid_argument, "edge_index has another shape than [2, edges]");
  const Graph graph = graph_of_edges(torch::stable::select(edge_index, 0, 0), torch::stable::select(edge_index, 0, 1),
                                     num_sources, num_destinations);
  Rows rows = rows_of(graph, edge_index);
  if (rows.size() == 2) rows.push_back(sequence(graph.num_edges(), edge_index));
  const Tensor handle = hold_by_handle(graph, rows, num_sources);
  return {rows[0], rows[1], rows[2], handle};
}

std::tuple<std::int64_t, Rows> graph_transposed(Rows rows, std::int64_t key, std::int64_t num_sources) {
  const Tensor& offsets = offsets_of(rows);
  const Graph reversed = graph_of(rows, key, num_sources)->graph().transpose();
  Rows transposed = rows_of(reversed, offsets);
  const std::int64_t of_transposed = hold_graph(reversed, transposed, offsets.numel() - 1);
  return {of_transposed, std::move(transposed)};
}

void check_rows(Rows rows, std::int64_t num_sources) {
  const Tensor& offsets = offsets_of(rows);
  const RowInputs given(rows);
  Graph::adopt({.num_sources = num_sources, .num_destinations = offsets.numel() - 1}, given.tensors, {}, nullptr,
               Validate::full, context_of(offsets).stream());
}

}  // namespace weft::pytorch

/// For Python's finalizers, which may run while torch traces a program and must not be recorded in it.
extern "C" __attribute__((visibility("default"))) void weft_graph_release(std::int64_t key) {
  weft::pytorch::release_graph(key);
}
