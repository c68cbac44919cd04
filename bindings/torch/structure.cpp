// Graphs from torch's tensors and back.
#include "graphs.hpp"
#include "operators.hpp"
#include "runtime.hpp"
#include "weft/graph.hpp"

namespace weft::pytorch {

std::int64_t graph_hold(Rows rows, std::int64_t num_sources) { return hold_graph(rows, num_sources); }

std::tuple<std::int64_t, Rows> graph_from_edges(Tensor sources, Tensor destinations, std::int64_t num_sources,
                                                std::int64_t num_destinations) {
  const Tensor from = torch::stable::contiguous(sources), to = torch::stable::contiguous(destinations);
  const Graph graph = Graph::from_edges({.num_sources = num_sources, .num_destinations = num_destinations},
                                        {.sources = Input(from, "sources"), .destinations = Input(to, "destinations")},
                                        context_of(sources).stream());
  Rows rows = rows_of(graph, sources);
  const std::int64_t key = hold_graph(graph, rows, num_sources);
  return {key, std::move(rows)};
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

/// For Python's finalizers, which may run while torch traces a program and must leave nothing in it.
extern "C" __attribute__((visibility("default"))) void weft_graph_release(std::int64_t key) {
  weft::pytorch::release_graph(key);
}
