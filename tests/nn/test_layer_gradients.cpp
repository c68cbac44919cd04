// The gradient of every parameter of every layer, through the whole network and its loss, against differences in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/network_case.hpp"

namespace weft::test {
namespace {

struct GradientCase {
  std::string name;
  Architecture architecture;
  bool sparse = false, several_labels = false;
  void (*change)(ModelSpec&) = [](ModelSpec&) {};
};
std::string name_of(const GradientCase& c) { return c.name; }

class nn_gradients : public ::testing::TestWithParam<GradientCase> {};

void expect_gradients(const GradientCase& c, std::uint64_t seed) {
  const Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, seed);
  ModelSpec spec = spec_for(dataset, c.architecture);
  spec.hidden = 5;
  if (nn::attends(c.architecture)) spec.hidden = 3, spec.heads = 2, spec.output_heads = 2;
  c.change(spec);
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

INSTANTIATE_TEST_SUITE_P(
    layers, nn_gradients,
    ::testing::Values(
        GradientCase{"gcn", Architecture::gcn}, GradientCase{"gcn_of_sparse_features", Architecture::gcn, true},
        GradientCase{"gcn_of_several_labels", Architecture::gcn, false, true},
        GradientCase{"gcn_summing_first", Architecture::gcn, false, false, [](ModelSpec& s) { s.hidden = 12; }},
        GradientCase{"gcn_of_three_layers_with_elu", Architecture::gcn, false, false,
                     [](ModelSpec& s) { s.layers = 3, s.activation = Activation::elu; }},
        GradientCase{"gcn_divided_left", Architecture::gcn, false, false,
                     [](ModelSpec& s) { s.degree_norm = DegreeNorm::left; }},
        GradientCase{"gcn_divided_right", Architecture::gcn, false, false,
                     [](ModelSpec& s) { s.degree_norm = DegreeNorm::right; }},
        GradientCase{"gcn_undivided_without_self_loops", Architecture::gcn, false, false,
                     [](ModelSpec& s) { s.degree_norm = DegreeNorm::none, s.self_loops = false, s.dropout = 0; }},
        GradientCase{"sage", Architecture::sage}, GradientCase{"sage_of_sparse_features", Architecture::sage, true},
        GradientCase{"sage_of_sums", Architecture::sage, false, false, [](ModelSpec& s) { s.aggregate = Reduce::sum; }},
        GradientCase{"sage_of_maxima", Architecture::sage, false, false,
                     [](ModelSpec& s) { s.aggregate = Reduce::max, s.layers = 3; }},
        GradientCase{"sage_of_maxima_of_sparse_features", Architecture::sage, true, false,
                     [](ModelSpec& s) { s.aggregate = Reduce::max; }},
        GradientCase{"sage_summing_first", Architecture::sage, false, false,
                     [](ModelSpec& s) { s.hidden = 12, s.layers = 3; }},
        GradientCase{"gin", Architecture::gin}, GradientCase{"gin_of_sparse_features", Architecture::gin, true},
        GradientCase{"gin_with_lambda", Architecture::gin, false, false, [](ModelSpec& s) { s.lambda = 0.1f; }},
        GradientCase{"gin_with_fixed_eps", Architecture::gin, false, false,
                     [](ModelSpec& s) { s.learn_eps = false, s.layers = 3; }},
        GradientCase{"gin_summing_first", Architecture::gin, false, false, [](ModelSpec& s) { s.hidden = 14; }},
        GradientCase{"gat", Architecture::gat}, GradientCase{"gat_of_sparse_features", Architecture::gat, true},
        GradientCase{"gat_of_three_layers_and_one_head", Architecture::gat, false, false,
                     [](ModelSpec& s) { s.layers = 3, s.heads = s.output_heads = 1; }},
        GradientCase{"gatv2", Architecture::gatv2},
        GradientCase{"gatv2_of_sparse_features", Architecture::gatv2, true}),
    [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace weft::test
