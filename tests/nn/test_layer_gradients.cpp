// The gradient of every parameter of every layer, through the whole network and its loss, against differences in f64.
#include "nn/gradient_check.hpp"

namespace weft::test {
namespace {

class nn_gradients : public ::testing::TestWithParam<GradientCase> {};

TEST_P(nn_gradients, are_those_of_differences) {
  const GradientCase& c = GetParam();
  const Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, 31);
  expect_gradients_of_differences(dataset, c.spec(dataset), 31);
}

INSTANTIATE_TEST_SUITE_P(layers, nn_gradients, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace weft::test
