// Whole graphs with sampled edges, as layers see them.
#pragma once

#include <optional>

#include "graph/sample/redrawn.hpp"
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

  /// Whether blocks can be drawn in place: on a GPU, of fewer than 2^31 edges.
  bool redraws() const;
  /// A block that redraw() draws anew: networks over it are built, and recorded, once. Samples that are the same in
  /// every step stay what they are.
  struct Redrawn {
    Block block;  // to be moved into a network
    std::optional<RedrawnGraph> edges;
    TensorView weights;  // of the block, or none
  };
  Redrawn redrawn(const EdgeSample& sample) const;
  /// That of the step whose number stands at `step`, on the GPU. Asks for no memory and does not wait.
  void redraw(Redrawn& block, const std::int64_t* step) const;

 private:
  bool keeps_all(const EdgeSample& sample) const;
  /// What the edges of a block stand for: by weights where edges have some, or else by degrees.
  void stand_for_all(Block& block, ConstTensorView places) const;
  Weigher::Edges edges_of(const Graph& sample, ConstTensorView places) const;

  const Context& context_;
  const ModelGraph& graph_;
  const ModelSpec& spec_;
  Dtype dtype_;
  Weigher weigher_;
};

}  // namespace weft::nn
