// A sample of a graph's edges whose edges are drawn anew in place: for work on a GPU that is planned and recorded once
// and runs over another sample each time.
#pragma once

#include "core/device.hpp"
#include "graph/sample/kept_rows.hpp"

namespace weft {

/// How many edges rows keep does not depend on the step, so that every array has its size for good. The order of
/// clusters is drawn along; a plan by it stays good. (4 bytes per kept edge for the sample, and some 20 for the
/// transpose and its sort; 24 more where all is known.)
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

}  // namespace weft
