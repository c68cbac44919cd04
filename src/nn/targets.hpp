// What a model is to learn: labels and splits, checked, where the context runs.
#pragma once

#include <vector>

#include "nn/step/passes.hpp"
#include "weft/dataset.hpp"

namespace weft::nn {

class Targets {
 public:
  /// Of a dataset that check_fits has looked at. An Error where there is nothing to learn from.
  Targets(const Context& context, const Dataset& dataset, std::int64_t classes);

  /// Everything but logits, gradient, state, sums and scratch.
  LossArgs args(Dtype dtype) const;
  std::int64_t nodes_in(int split) const { return counts_[split]; }
  /// 1 / the number of losses in a split.
  double weight_of(int split) const;

 private:
  std::int64_t rows_ = 0, classes_ = 0;
  Tensor labels_, targets_, splits_;
  std::int64_t counts_[num_splits] = {}, losses_[num_splits] = {};  // nodes; labels, of which a node may have several
};

/// Nodes of the training split that have a label, in the split's order.
std::vector<NodeId> learned_nodes(const Dataset& dataset);
/// An Error unless the graph is square and features fit the model.
void check_fits(const Dataset& dataset, const ModelSpec& spec);

}  // namespace weft::nn
