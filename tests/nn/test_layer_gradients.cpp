// The gradient of every parameter of every layer, through the whole network and its loss, against differences in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/network_case.hpp"

namespace weft::test {
namespace {

class nn_gradients : public ::testing::TestWithParam<GradientCase> {};

void expect_gradients(const GradientCase& c, std::uint64_t seed) {
  const Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, seed);
  const ModelSpec spec = c.spec(dataset);
  TrainOptions options;
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

TEST_P(nn_gradients, are_those_of_differences) { expect_gradients(GetParam(), 31); }

INSTANTIATE_TEST_SUITE_P(layers, nn_gradients, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace weft::test
