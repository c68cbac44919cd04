// How many edges rows keep, and where they stand once those are all there is: the index space of a sample.
#pragma once

#include "core/cuda/launcher.hpp"
#include "graph/graph_internals.hpp"
#include "graph/sample/choice.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// Of one graph and one width, whatever the method and the step.
struct KeptRows {
  std::int64_t width = 0;
  Tensor offsets;  // i64 [rows + 1], where the graph is: the kept edges before each row
  Tensor rows;     // i32 [edges], on a GPU: the row of each kept edge; none: all edges are kept
  std::int64_t edges = 0;
  std::shared_ptr<const EdgeOrder> clustered;  // on a GPU, once a plan wants it (GraphInternals::clustered_kept_rows)

  /// The index space, with the columns and ids of the whole graph, which are read at places (SampledPlaces).
  /// `longest_row` is a bound of it.
  GraphView over(const GraphView& whole) const;
  std::size_t bytes() const;
};

/// A sample written out: a graph of the kept edges, and which edge of the graph it is of each comes from, by its place
/// there or by its id.
struct KeptEdges {
  Graph graph;
  Tensor origin;  // i64 [edges]
};
enum class KnownBy { place, id };
KeptEdges take_edges(const Graph& graph, const EdgeSample& sample, KnownBy known_by, CUstream_st* stream);

namespace cuda {

/// offsets [rows + 1] of rows that keep min(degree, width) edges; waits for their number, which it returns.
WEFT_LAUNCHER(std::int64_t count_kept(Device device, CUstream_st* stream, const GraphView& graph, std::int64_t width,
                                      EdgeId* kept_offsets));
/// Sources of the edges that a sample keeps, and their ids unless those are null. `space` is the index space over the
/// whole graph's columns and ids (KeptRows::over), its rows in sequence or in an order of their own, row v beginning at
/// starts[v]. `step`, on the GPU: that of the choice, instead of its own. Puts one kernel into the stream.
WEFT_LAUNCHER(void take_kept(Device device, CUstream_st* stream, const SampledPlaces& sample, const GraphView& space,
                             const EdgeId* starts, NodeId* cols, EdgeId* ids, const std::int64_t* step = nullptr));
/// scales[v] becomes degree / kept, times the row's own scale where there are some: f32, or f64 where `wide`.
WEFT_LAUNCHER(void unbiased_scales(Device device, CUstream_st* stream, const SampledPlaces& sample,
                                   const GraphView& space, bool wide, const void* row_scales, void* scales));

}  // namespace cuda
}  // namespace weft
