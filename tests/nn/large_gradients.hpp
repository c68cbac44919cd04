// GIN without a norm on a dense graph, whose sums and gradients pass the range of f16.
#pragma once

#include <algorithm>
#include <cmath>

#include "nn/network_case.hpp"

namespace weft::test {

/// Losses stay numbers, the loss scale falls below 1, and from there on steps are made and losses fall. `nodes`: from
/// 4096 on a GPU's products are weft's own.
inline void expect_learning_from_gradients_beyond_f16(Context& context, std::int64_t nodes) {
  Dataset dataset = small_dataset(nodes, 16, 3, false, false, 46);
  PowerlawSpec dense;  // sums over 67 neighbours, six times over
  dense.nodes = nodes;
  dense.edges = 67 * nodes;
  dense.seed = 1;
  dataset.graph = generate(dense);
  for (const bool learn_eps : {false, true}) {
    ModelSpec spec = spec_for(dataset, Architecture::gin);
    spec.layers = 6;
    spec.hidden = 32;
    spec.learn_eps = learn_eps;
    TrainOptions options;
    options.epochs = 60;
    options.seed = 5;
    options.dtype = Dtype::f16;
    options.lr = 1e-3f;
    const TrainResult result = train(context, dataset, make_model(spec, 3), options);
    EXPECT_LT(result.epochs.back().loss_scale, 1) << learn_eps;
    EXPECT_EQ(result.steps(), 60);
    EXPECT_GT(result.skipped_steps, 16) << learn_eps << ": from 65536 to 1 and on";
    EXPECT_LT(result.skipped_steps, 40) << learn_eps;
    double least = result.epochs.front().loss;
    for (const EpochFigures& epoch : result.epochs) {
      EXPECT_TRUE(std::isfinite(epoch.loss)) << learn_eps << " epoch " << epoch.epoch;
      least = std::min(least, epoch.loss);
    }
    EXPECT_LT(least, 0.5 * result.epochs.front().loss) << learn_eps;
  }
  // Other sums that nothing keeps small, before their weights and behind them.
  for (const Architecture a : {Architecture::gcn, Architecture::sage})
    for (const std::int64_t hidden : {12, 20}) {
      ModelSpec spec = spec_for(dataset, a);
      spec.layers = 6;
      spec.hidden = hidden;
      spec.degree_norm = DegreeNorm::none;
      spec.aggregate = Reduce::sum;
      TrainOptions options;
      options.epochs = 20;
      options.dtype = Dtype::f16;
      for (const EpochFigures& epoch : train(context, dataset, make_model(spec, 3), options).epochs)
        ASSERT_TRUE(std::isfinite(epoch.loss)) << name(a) << " hidden " << hidden << " epoch " << epoch.epoch;
    }
}

}  // namespace weft::test
