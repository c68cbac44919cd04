// Gradients of a model's parameters against differences of its loss.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "nn/network_case.hpp"

namespace weft::test {

/// Of the loss by every parameter, through the whole network, in f64.
inline void expect_gradients_of_differences(const Dataset& dataset, const ModelSpec& spec, std::uint64_t seed,
                                            const SampleOptions& sample = {}, std::optional<bool> fuse = {}) {
  TrainOptions options;
  options.sample = sample;
  options.fuse = fuse;
  options.dtype = Dtype::f64;
  options.epochs = 1;
  options.seed = seed;
  Context context = Context::cpu(2);
  const Model model = make_model(spec, seed);
  nn::Trainer trainer(context, dataset, model, options);
  nn::Parameters& parameters = trainer.parameters();
  // Biases away from 0, where ReLU has a corner.
  for (double& value : parameters.values().span<double>()) value += 0.05;
  training_loss(trainer);
  const Tensor analytic = parameters.grads().clone();
  constexpr double h = 1e-6;
  std::size_t wrong = 0, compared = 0;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const auto first = static_cast<std::size_t>(static_cast<const double*>(parameters.value(p).data) -
                                                parameters.values().span<double>().data());
    const auto count = static_cast<std::size_t>(model.parameters[p].value.shape().size());
    for (std::size_t i = first; i < first + count; ++i) {
      double& value = parameters.values().span<double>()[i];
      const double here = value;
      value = here + h;
      const double above = training_loss(trainer);
      value = here - h;
      const double below = training_loss(trainer);
      value = here;
      const double numeric = (above - below) / (2 * h), got = analytic.span<double>()[i];
      ++compared;
      if (std::fabs(got - numeric) > 2e-6 * std::max(1.0, std::fabs(numeric)) && ++wrong <= 3)
        ADD_FAILURE() << model.parameters[p].name << " element " << i - first << ": gradient " << got
                      << ", differences give " << numeric << ", seed " << seed;
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << compared;
  EXPECT_EQ(compared, static_cast<std::size_t>(model.num_parameters()));
}

}  // namespace weft::test
