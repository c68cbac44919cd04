// A sample of a graph's edges whose edges are drawn anew in place: for work on a GPU that is planned and recorded once
// and runs over another sample each time.
#pragma once

#include "core/device.hpp"
#include "graph/sample/kept_rows.hpp"

namespace weft {

/// How many edges rows keep does not depend on the step, so that every array has its size for good. The order of
/// clusters is drawn along; a plan by it stays good. (4 bytes a kept edge for the sample, and some 20 for the transpose
/// and its sort; 24 more where all is known.)
class RedrawnGraph {
 public:
  /// What is known of kept edges beside their ends.
  struct Knows {
    bool places = true;  // in the whole graph
    bool ids = true;     // of the transpose's edges; without them, an Error where a plan or a view asks
  };
  /// `whole` is on a GPU and has fewer than 2^31 edges. Begins with the sample as it is given.
  RedrawnGraph(const Graph& whole, const EdgeSample& sample, Knows knows, CUstream_st* stream);

  /// With its transpose. Plans may be made for both at any time.
  const Graph& graph() const { return graph_; }
  /// i64 [edges]: where each kept edge stands in the whole graph; none where that is not known.
  const Tensor& places() const;
  /// Another sample: that of the step whose number stands at `step`, on the GPU. Asks for no memory and does not wait.
  void redraw(const std::int64_t* step, CUstream_st* stream);

 private:
  struct Arrays;
  void draw(const std::int64_t* step, CUstream_st* stream);

  EdgeSample sample_;
  std::shared_ptr<Arrays> arrays_;
  Graph graph_;  // holds the arrays as well
};

namespace cuda {

/// The arrays that a graph is reversed into, without any to be asked for.
struct ReversedArrays {
  EdgeId* offsets;  // [columns + 1]
  NodeId *rows, *cols;
  // Null: ids are not wanted.
  EdgeId* ids;
  const std::int32_t* positions;  // [edges] 0, 1, 2, ...
  std::int32_t* sorted_positions;
  void* scratch;
  std::size_t scratch_bytes;
};
WEFT_LAUNCHER(void number_edges(Device device, CUstream_st* stream, std::int32_t* positions, std::int64_t count));
WEFT_LAUNCHER(std::size_t reverse_scratch_bytes(Device device, const GraphView& graph));
/// Of a graph of fewer than 2^31 edges, with rows; edge k's id is k.
WEFT_LAUNCHER(void reverse_into(Device device, CUstream_st* stream, const GraphView& graph,
                                const ReversedArrays& arrays));

}  // namespace cuda
}  // namespace weft
