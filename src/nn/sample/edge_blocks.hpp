// Whole graphs with sampled edges, as layers see them.
#pragma once

#include "nn/sample/weigher.hpp"
#include "weft/sample.hpp"

namespace weft::nn {

/// Sums over the kept edges of a row, times what each stands for, are in expectation those over all its edges, by
/// whatever degrees the model divides them; means and attention are over kept edges.
class EdgeBlocks {
 public:
  /// `graph` must outlive this.
  EdgeBlocks(const Context& context, const ModelGraph& graph, const ModelSpec& spec, Dtype dtype);

  /// The whole graph, and its bits, where every row keeps all its edges.
  Block block(const EdgeSample& sample) const;

 private:
  const Context& context_;
  const ModelGraph& graph_;
  const ModelSpec& spec_;
  Dtype dtype_;
  Weigher weigher_;
};

}  // namespace weft::nn
