// How many edges rows keep, and where they stand once those are all there is: the index space of a sample.
#pragma once

#include "core/cuda/launcher.hpp"
#include "graph/sample/choice.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// Of one graph and one width, whatever the method and the step.
struct KeptRows {
  std::int64_t width = 0;
  Tensor offsets;  // i64 [rows + 1], where the graph is: the kept edges before each row
  Tensor rows;     // i32 [edges], on a GPU: the row of each kept edge
  std::int64_t edges = 0;

  /// The index space, with the columns and ids of the whole graph, which are read at places (SampledPlaces).
  GraphView over(const GraphView& whole) const;
};

/// A sample written out: a graph of the kept edges, and where each stands in the graph it is of.
struct KeptEdges {
  Graph graph;
  Tensor places;  // i64 [edges]
};
KeptEdges take_edges(const Graph& graph, const EdgeSample& sample, CUstream_st* stream);

namespace cuda {

/// offsets [rows + 1] of rows that keep min(degree, width) edges; waits for their number, which it returns.
WEFT_LAUNCHER(std::int64_t count_kept(Device device, CUstream_st* stream, const GraphView& graph, std::int64_t width,
                                      EdgeId* kept_offsets));
/// Sources and places of the kept edges. `kept.rows` has their rows.
WEFT_LAUNCHER(void take_kept(Device device, CUstream_st* stream, const GraphView& graph, const EdgeChoice& choice,
                             const GraphView& kept, NodeId* cols, EdgeId* places));
/// places[k] becomes the id of the edge there.
WEFT_LAUNCHER(void places_to_ids(Device device, CUstream_st* stream, const EdgeId* edge_ids, std::int64_t count,
                                 EdgeId* places));

}  // namespace cuda
}  // namespace weft
