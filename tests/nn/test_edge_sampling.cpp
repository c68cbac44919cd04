// Models over sampled edges: that training and inference with few edges per row stand for those with all.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "nn/gradient_check.hpp"
#include "nn/network_case.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

SampleOptions edges(EdgeSampling method, std::int64_t width) {
  SampleOptions options;
  options.edges = {method, width};
  return options;
}

constexpr Architecture architectures[] = {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat,
                                          Architecture::gatv2};

class nn_edge_sampling : public ::testing::TestWithParam<GradientCase> {};

TEST_P(nn_edge_sampling, has_the_gradients_of_differences) {
  const GradientCase& c = GetParam();
  const Dataset dataset = small_dataset(30, 6, 3, c.sparse, c.several_labels, 91);
  expect_gradients_of_differences(dataset, c.spec(dataset), 17, edges(EdgeSampling::fresh, 2));
}
TEST_P(nn_edge_sampling, has_those_of_a_graph_with_edge_weights) {
  const GradientCase& c = GetParam();
  if (nn::attends(c.architecture)) return;  // has no use for weights
  Dataset dataset = small_dataset(30, 6, 3, c.sparse, c.several_labels, 92);
  add_edge_weights(dataset, 93);
  ModelSpec spec = c.spec(dataset);
  spec.edge_weights = true;
  expect_gradients_of_differences(dataset, spec, 18, edges(EdgeSampling::strata, 3));
}
INSTANTIATE_TEST_SUITE_P(layers, nn_edge_sampling, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(nn_edge_samples, of_as_many_edges_as_any_row_has_train_and_predict_to_the_bit_as_all) {
  const Dataset dataset = small_dataset(200, 12, 4, false, false, 94);
  for (const Architecture a : architectures) {
    const ModelSpec spec = spec_for(dataset, a);
    TrainOptions options;
    options.epochs = 4;
    Context context = Context::cpu(2);
    const TrainResult whole = train(context, dataset, make_model(spec, 3), options);
    options.sample = edges(EdgeSampling::fresh, 1 << 20);
    const TrainResult sampled = train(context, dataset, make_model(spec, 3), options);
    EXPECT_EQ(losses_of(sampled), losses_of(whole)) << name(a);
    const Predictions all = infer(context, dataset, whole.model, InferOptions{});
    const Predictions kept = infer(context, dataset, whole.model, {.edges = {EdgeSampling::fastrand, 1 << 20}});
    EXPECT_EQ(kept.sampling_rate, 1) << name(a);
    EXPECT_EQ(std::memcmp(kept.scores.view().data, all.scores.view().data, all.scores.bytes()), 0) << name(a);
  }
}

TEST(nn_edge_samples, of_fresh_predict_the_scores_of_all_edges_in_the_mean_whatever_the_degree_norm) {
  Dataset dataset = small_dataset(40, 5, 3, false, false, 95);
  struct Case {
    Architecture architecture;
    DegreeNorm norm;
    Reduce aggregate;
    bool weighted;
  };
  const Case cases[] = {{Architecture::gcn, DegreeNorm::both, Reduce::mean, false},
                        {Architecture::gcn, DegreeNorm::left, Reduce::mean, false},
                        {Architecture::gcn, DegreeNorm::right, Reduce::mean, false},
                        {Architecture::gcn, DegreeNorm::none, Reduce::mean, false},
                        {Architecture::gcn, DegreeNorm::both, Reduce::mean, true},
                        {Architecture::sage, DegreeNorm::both, Reduce::mean, false},
                        {Architecture::sage, DegreeNorm::both, Reduce::sum, false}};
  Dataset weighted = small_dataset(40, 5, 3, false, false, 95);
  add_edge_weights(weighted, 96);
  for (const Case& c : cases) {
    const Dataset& data = c.weighted ? weighted : dataset;
    ModelSpec spec = spec_for(data, c.architecture);
    spec.layers = 1;  // which is linear in what the edges bring
    spec.degree_norm = c.norm;
    spec.aggregate = c.aggregate;
    spec.edge_weights = c.weighted;
    const Model model = make_model(spec, 5);
    Context context = Context::cpu(2);
    const Predictions all = infer(context, data, model, {.dtype = Dtype::f64});
    const auto count = static_cast<std::size_t>(all.scores.shape().size());
    std::vector<double> sums(count), squares(count);
    constexpr int steps = 2000;
    double rate = 1;
    for (int step = 0; step < steps; ++step) {
      const Predictions kept =
          infer(context, data, model, {.dtype = Dtype::f64, .edges = {EdgeSampling::fresh, 2, 7, step}});
      rate = kept.sampling_rate;
      for (std::size_t i = 0; i < count; ++i) {
        const double score = kept.scores.span<float>()[i];
        sums[i] += score;
        squares[i] += score * score;
      }
    }
    EXPECT_LT(rate, 0.9);
    for (std::size_t i = 0; i < count; ++i) {
      const double mean = sums[i] / steps, variance = std::max(0.0, squares[i] / steps - mean * mean);
      ASSERT_NEAR(mean, all.scores.span<float>()[i], 4 * std::sqrt(variance / steps) + 1e-5)
          << name(c.architecture) << " norm " << name(c.norm) << " score " << i;
    }
  }
}

TEST(nn_edge_samples, lower_the_loss_with_every_model_and_type) {
  const Dataset dataset = open_dataset("citations:nodes=400,degree=12,seed=3");
  for (const Architecture a : architectures)
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      ModelSpec spec = spec_for(dataset, a);
      spec.normalise_inputs = true;
      TrainOptions options = TrainOptions::of(a);
      options.epochs = 40;
      options.lr = 0.03;
      options.dtype = dtype;
      options.sample = edges(EdgeSampling::fresh, 4);
      Context context = Context::cpu();
      const TrainResult result = train(context, dataset, make_model(spec, 2), options);
      const std::string what = fmt::format("{} {}", name(a), name(dtype));
      EXPECT_EQ(result.batches, 1) << what;
      // Without anything learned it is the logarithm of the number of classes.
      EXPECT_LT(result.epochs.back().val_loss, 0.9 * std::log(static_cast<double>(dataset.classes))) << what;
      EXPECT_EQ(infer(context, dataset, result.model, dtype).val_accuracy, result.val_accuracy)
          << what << ": evaluations see all edges";
    }
}

TEST(nn_edge_samples, repeat_to_the_bit_with_any_threads_and_go_on_from_a_checkpoint) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("weft-edges-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const Dataset dataset = small_dataset(300, 20, 4, true, false, 97);
  const ModelSpec spec = spec_for(dataset, Architecture::gcn);
  TrainOptions options;
  options.epochs = 6;
  options.seed = 4;
  options.sample = edges(EdgeSampling::fresh, 3);
  Context context = Context::cpu(2), other = Context::cpu(5);
  const TrainResult whole = train(context, dataset, make_model(spec, 1), options);
  EXPECT_EQ(losses_of(train(other, dataset, make_model(spec, 1), options)), losses_of(whole));
  options.seed = 5;
  EXPECT_NE(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole));
  options.seed = 4;
  options.checkpoint = (folder / "state").string();
  options.epochs = 3;
  options.checkpoint_every = 3;
  train(context, dataset, make_model(spec, 1), options);
  options.resume = true;
  options.epochs = 6;
  EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole));
  options.sample.edges.width = 4;
  EXPECT_FALSE(refusal_of([&] { train(context, dataset, make_model(spec, 1), options); }).empty());
  std::filesystem::remove_all(folder);
}

TEST(nn_edge_samples, are_refused_beside_batches_or_without_a_width) {
  const Dataset dataset = small_dataset(30, 6, 3, false, false, 98);
  const ModelSpec spec = spec_for(dataset, Architecture::gcn);
  const auto refused = [&](const SampleOptions& sample) {
    TrainOptions options;
    options.sample = sample;
    Context context = Context::cpu();
    return refusal_of([&] { train(context, dataset, make_model(spec, 1), options); });
  };
  SampleOptions both = edges(EdgeSampling::fresh, 3);
  both.method = Sampling::walk;
  EXPECT_NE(refused(both).find("expected one of the two"), std::string::npos);
  EXPECT_NE(refused(edges(EdgeSampling::fresh, -1)).find("sample width is -1"), std::string::npos);
  Context context = Context::cpu();
  EXPECT_NE(refusal_of([&] {
              infer(context, dataset, make_model(spec, 1), {.edges = {EdgeSampling::bucket, -2}});
            }).find("sample width is -2"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::test
