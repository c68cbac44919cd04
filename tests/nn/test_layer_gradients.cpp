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

TEST_P(nn_gradients, are_those_of_differences_where_sums_are_made_on_the_way_into_products) {
  const GradientCase& c = GetParam();
  if (nn::attends(c.architecture)) return;  // has no such sums
  Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, 33);
  expect_gradients_of_differences(dataset, c.spec(dataset), 33, {}, true);
  add_edge_weights(dataset, 34);
  ModelSpec weighted = c.spec(dataset);
  weighted.edge_weights = true;
  expect_gradients_of_differences(dataset, weighted, 33, {}, true);
}

INSTANTIATE_TEST_SUITE_P(layers, nn_gradients, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace weft::test
