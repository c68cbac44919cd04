// Graphs from torch's tensors and back.
#include "graphs.hpp"
#include "operators.hpp"
#include "runtime.hpp"
#include "weft/graph.hpp"

namespace weft::pytorch {

Rows rows_from_edges(Tensor sources, Tensor destinations, std::int64_t num_sources, std::int64_t num_destinations) {
  const Input from(sources, "sources"), to(destinations, "destinations");
  const Graph graph = Graph::from_edges({.num_sources = num_sources, .num_destinations = num_destinations},
                                        {.sources = from, .destinations = to}, context_of(sources).stream());
  return rows_of(graph, sources);
}

Rows transposed_rows(Rows rows, std::int64_t key, std::int64_t num_sources) {
  return rows_of(graph_of(rows, {}, key, num_sources)->graph().transpose(), rows.at(0));
}

void check_rows(Rows rows, std::int64_t num_sources) {
  const RowTensors given = row_tensors(rows, "rows");
  Graph::adopt({.num_sources = num_sources, .num_destinations = given.offsets.shape.rows - 1}, given, {}, nullptr,
               Validate::full, context_of(rows.at(0)).stream());
}

}  // namespace weft::pytorch
