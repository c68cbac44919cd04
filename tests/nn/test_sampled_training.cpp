// Training on batches: that it is training on the graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "nn/network_case.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

/// A batch of everything is the graph: losses and gradients are the same.
class nn_whole_batches : public ::testing::TestWithParam<GradientCase> {};

struct Learned {
  double loss;
  Tensor gradients;
  Learned(const Dataset& dataset, const Model& model, const SampleOptions& sample) {
    TrainOptions options;
    options.dtype = Dtype::f64;
    options.epochs = 1;
    options.sample = sample;
    Context context = Context::cpu(2);
    nn::Trainer trainer(context, dataset, model, options);
    loss = training_loss(trainer);
    gradients = trainer.parameters().grads().clone();
  }
};

void expect_losses_and_gradients_of_the_graph(const Dataset& dataset, ModelSpec spec) {
  spec.dropout = spec.attention_dropout = 0;
  const Model model = make_model(spec, 8);
  const Learned exact(dataset, model, {});
  SampleOptions edge = sampling(Sampling::edge, 4000);
  edge.coverage = 3;
  SampleOptions neighbour = sampling(Sampling::neighbour, 1000);
  neighbour.fanouts = {1000};
  SampleOptions by_its_own_degrees = edge;
  by_its_own_degrees.coverage = 0;
  SampleOptions all = neighbour;
  all.fanouts = {all_neighbours};
  for (const SampleOptions& sample : {edge, by_its_own_degrees, neighbour, all}) {
    // The means of batch norm are over nodes near the training nodes only, then.
    if (sample.method == Sampling::neighbour && spec.norm == LayerNorm::batch) continue;
    const Learned got(dataset, model, sample);
    EXPECT_NEAR(got.loss, exact.loss, 1e-9 * std::fabs(exact.loss)) << name(sample.method);
    for (std::size_t i = 0; i < exact.gradients.span<double>().size(); ++i)
      ASSERT_NEAR(got.gradients.span<double>()[i], exact.gradients.span<double>()[i], 1e-9)
          << name(sample.method) << " element " << i;
  }
}

TEST_P(nn_whole_batches, give_the_losses_and_gradients_of_the_graph) {
  const GradientCase& c = GetParam();
  const Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, 75);
  expect_losses_and_gradients_of_the_graph(dataset, c.spec(dataset));
}

TEST_P(nn_whole_batches, give_those_of_a_graph_with_edge_weights) {
  const GradientCase& c = GetParam();
  if (nn::attends(c.architecture)) return;  // has no use for weights
  Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, 78);
  add_edge_weights(dataset, 79);
  ModelSpec spec = c.spec(dataset);
  spec.edge_weights = true;
  expect_losses_and_gradients_of_the_graph(dataset, spec);
}
INSTANTIATE_TEST_SUITE_P(layers, nn_whole_batches, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(nn_sampled_training, lowers_the_loss_with_every_sampler_and_model) {
  Dataset dataset = open_dataset("citations:nodes=400,seed=3");
  const auto every = [&](std::int64_t first, std::int64_t step) {
    std::vector<NodeId> nodes;
    for (std::int64_t n = first; n < dataset.num_nodes(); n += step) nodes.push_back(static_cast<NodeId>(n));
    Tensor split = Tensor::empty(Shape(static_cast<std::int64_t>(nodes.size())), Dtype::i32);
    std::ranges::copy(nodes, split.span<NodeId>().begin());
    return split;
  };
  // As many as there are in the graphs such batches are for.
  dataset.train = every(0, 2);
  dataset.val = every(1, 4);
  dataset.test = every(3, 4);
  for (const Sampling method : {Sampling::node, Sampling::edge, Sampling::walk, Sampling::neighbour})
    for (const Architecture a :
         {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat, Architecture::gatv2})
      for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
        if (dtype == Dtype::f16 && a != Architecture::gcn && a != Architecture::gin) continue;
        ModelSpec spec = spec_for(dataset, a);
        spec.normalise_inputs = true;
        TrainOptions options;
        options.epochs = 20;
        options.lr = 0.03;
        options.dtype = dtype;
        options.sample = sampling(method, method == Sampling::neighbour ? 8 : method == Sampling::node ? 200 : 100);
        options.sample.coverage = 20;
        Context context = Context::cpu();
        const TrainResult result = train(context, dataset, make_model(spec, 2), options);
        const std::string what = fmt::format("{} {} {}", name(method), name(a), name(dtype));
        ASSERT_EQ(result.epochs.size(), 20u) << what;
        EXPECT_GT(result.batches, 1) << what;
        for (const EpochFigures& f : result.epochs) ASSERT_TRUE(std::isfinite(f.loss)) << what << " epoch " << f.epoch;
        // Without anything learned it is the logarithm of the number of classes.
        EXPECT_LT(result.epochs.back().val_loss, 0.9 * std::log(static_cast<double>(dataset.classes))) << what;
        EXPECT_EQ(infer(context, dataset, result.model, dtype).val_accuracy, result.val_accuracy) << what;
      }
}

TEST(nn_sampled_training, makes_outputs_again_to_the_bit) {
  const Dataset dataset = small_dataset(600, 20, 4, false, false, 84);
  ModelSpec spec = spec_for(dataset, Architecture::gin);
  spec.layers = 4;
  for (const Sampling method : {Sampling::walk, Sampling::neighbour}) {
    TrainOptions options;
    options.epochs = 4;
    options.sample = sampling(method, 50);
    if (method == Sampling::neighbour) options.sample.fanouts = {4, 4, 4, 4};
    Context context = Context::cpu();
    options.recompute = false;
    const std::vector<double> kept = losses_of(train(context, dataset, make_model(spec, 2), options));
    options.recompute = true;
    EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 2), options)), kept) << name(method);
  }
}

TEST(nn_sampled_training, repeats_to_the_bit_and_goes_on_from_a_checkpoint_to_the_bit) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("weft-batch-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const Dataset dataset = small_dataset(300, 20, 4, true, false, 76);
  for (const Sampling method : {Sampling::walk, Sampling::neighbour}) {
    const ModelSpec spec = spec_for(dataset, Architecture::sage);
    TrainOptions options;
    options.epochs = 6;
    options.seed = 4;
    options.sample = sampling(method, 30);
    Context context = Context::cpu();
    const TrainResult whole = train(context, dataset, make_model(spec, 1), options);
    EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole));
    options.seed = 5;
    EXPECT_NE(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole));
    options.seed = 4;
    options.checkpoint = (folder / std::string(name(method))).string();
    train(context, dataset, make_model(spec, 1), options, [](const EpochFigures& f) { return f.epoch < 3; });
    options.resume = true;
    EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole)) << name(method);
    options.sample.batch = 31;
    expect_refused([&] { train(context, dataset, make_model(spec, 1), options); }, "options");
  }
  std::filesystem::remove_all(folder);
}

TEST(nn_sampled_training, refuses_options_that_make_no_batches) {
  const Dataset dataset = small_dataset(30, 5, 3, false, false, 77);
  Context context = Context::cpu();
  const auto refused = [&](const std::function<void(SampleOptions&)>& change, const char* word) {
    TrainOptions options;
    options.epochs = 1;
    options.sample = sampling(Sampling::neighbour, 8);
    change(options.sample);
    expect_refused([&] { train(context, dataset, make_model(spec_for(dataset, Architecture::gcn), 1), options); },
                   word);
  };
  refused([](SampleOptions& s) { s.batch = -1; }, "batch");
  refused([](SampleOptions& s) { s.walk_length = 0; }, "walk_length");
  refused([](SampleOptions& s) { s.fanouts = {5, 5, 5}; }, "fanouts");
  refused([](SampleOptions& s) { s.fanouts = {0}; }, "fanouts");
  refused([](SampleOptions& s) { s.fanouts = {-2}; }, "1 to 4096 neighbours, or -1 for all");
  refused([](SampleOptions& s) { s.coverage = -1; }, "coverage");
  refused([](SampleOptions& s) { s.fanouts = {4097}; }, "fanouts");
  refused([](SampleOptions& s) { s.method = Sampling::node, s.batch = 1, s.coverage = 100'000; }, "coverage");
  refused([](SampleOptions& s) { s.batches = -1; }, "batches");
}

}  // namespace
}  // namespace weft::test
