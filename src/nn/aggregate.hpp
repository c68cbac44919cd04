// Sums over neighbours and their gradients, planned once: what every layer without attention does along the edges.
#pragma once

#include <optional>

#include "dense/fuses.hpp"
#include "dense/neighbour_rows.hpp"
#include "nn/build.hpp"
#include "weft/ops.hpp"
#include "weft/plan.hpp"

namespace weft::nn {

/// What a row of the sum, and what each of its terms, is multiplied by.
struct DegreeScales {
  Tensor row, col;  // in what the storage type is accumulated in, or none
  static DegreeScales of(const Build& build, DegreeNorm norm);
  /// The same where rows are means already: sums over many neighbours would leave the range of f16 before a scale could
  /// bring them back.
  static DegreeScales of_means(const Build& build, DegreeNorm norm);
};

class Aggregate {
 public:
  /// `goes_back`: backward will be called, too, if the network trains. `spends`: it may change out_grad.
  Aggregate(const Build& build, std::int64_t width, Reduce reduce, bool goes_back, bool spends);

  /// x has a row for every source, out one for every node that is written.
  void forward(ConstTensorView x, TensorView out);
  /// What x holds is read by the gradient of a max alone.
  void backward(ConstTensorView x, TensorView out_grad, TensorView x_grad);

  /// Whether such a sum, or that of a backward, is better made on the way into a product that follows with [width, out]
  /// weights. `goes_back` must have been said of the second. `sums`: what the layer makes of those that rows() and
  /// rows_back() give.
  bool fuses(const Build& build, std::int64_t out, dense::FusedSums sums) const;
  bool fuses_back(const Build& build, std::int64_t out, dense::FusedSums sums) const;
  /// The rows that forward and backward would store, for such a product. (Where sums of a sample are scaled up,
  /// row_scale is taken.)
  dense::NeighbourRows rows(ConstTensorView x) const;
  dense::NeighbourRows rows_back(ConstTensorView out_grad) const;

 private:
  /// Of the sum or max that the gradients come back through; a mean's are divided before.
  SpmmOptions backward_options();

  dense::NeighbourRows rows_of(const Graph& graph, ConstTensorView x) const;

  Context& context_;
  Graph graph_, reversed_;  // the second where gradients go back
  std::int64_t width_;
  Reduce reduce_;
  bool spends_;
  Slots& slots_;
  ConstTensorView weights_;  // as Build has them; a mean is among them
  /// What a row of the sum is multiplied by: 1 / degree, for the gradient of a mean, or what the edges of a sample
  /// stand for.
  Tensor factors_;
  Plan forward_;
  SpmmBackwardPlan backward_;
  Tensor winners_;  // max: edge ids
};

}  // namespace weft::nn
