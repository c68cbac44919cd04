// Batches drawn on a GPU: those of the CPU to the bit, and training on them.
#include <filesystem>

#include "cuda/training_pass.hpp"
#include "nn/sample/batch.hpp"
#include "support/values.hpp"

namespace weft::test {
namespace {

std::vector<SampleOptions> all_samplers() {
  std::vector<SampleOptions> all;
  for (const Sampling method : {Sampling::node, Sampling::edge, Sampling::walk, Sampling::neighbour}) {
    SampleOptions options = sampling(method, method == Sampling::neighbour ? 40 : 200);
    options.coverage = 5;
    if (method == Sampling::neighbour) options.fanouts = {5, 3};
    all.push_back(options);
  }
  for (const EdgeSampling method :
       {EdgeSampling::bucket, EdgeSampling::fastrand, EdgeSampling::strata, EdgeSampling::fresh}) {
    SampleOptions options;
    options.edges = {method, 3};
    all.push_back(options);
  }
  return all;
}

class cuda_sampling : public GpuTest {};

TEST_F(cuda_sampling, draws_the_batches_of_the_cpu_to_the_bit) {
  Dataset plain = small_dataset(3000, 8, 3, false, false, 81), weighted = small_dataset(3000, 8, 3, false, false, 81);
  add_edge_weights(weighted, 87);
  OwnContext own;
  Context cpu = Context::cpu();
  std::vector<SampleOptions> samplers = all_samplers();
  samplers.push_back(samplers.front());
  samplers.back().coverage = 0;
  for (const SampleOptions& options : samplers)
    for (const auto& [a, weighs] : {std::pair{Architecture::gcn, false},
                                    {Architecture::gcn, true},
                                    {Architecture::sage, false},
                                    {Architecture::sage, true},
                                    {Architecture::gat, false}}) {
      const Dataset& dataset = weighs ? weighted : plain;
      ModelSpec spec = spec_for(dataset, a);
      spec.edge_weights = weighs;
      const nn::ModelGraph graph = nn::graph_for(cpu, dataset, spec, Dtype::f32),
                           copied = nn::graph_for(own.context, dataset, spec, Dtype::f32);
      const auto make = [&](Context& context, const nn::ModelGraph& of) {
        return nn::make_sampler({context, of, spec, Dtype::f32, 9, nn::learned_nodes(dataset)}, options);
      };
      const auto here = make(cpu, graph), there = make(own.context, copied);
      ASSERT_EQ(here->batches(), there->batches()) << name(options.method);
      for (std::int64_t b = 0; b < std::min<std::int64_t>(4, here->batches()); ++b) {
        const nn::Batch expected = here->draw(1, b), got = there->draw(1, b);
        own.context.synchronise();
        const std::string what =
            fmt::format("{} {}{} batch {}", name(options.method), name(a), weighs ? " with weights" : "", b);
        const auto same = [&](const Tensor& x, const Tensor& y, const char* part) {
          ASSERT_EQ(static_cast<bool>(x), static_cast<bool>(y)) << what << " " << part;
          if (!x) return;
          EXPECT_TRUE(bitwise_equal(x, y.to(Device{}, own.stream.get()))) << what << " " << part;
        };
        same(expected.nodes, got.nodes, "nodes");
        same(expected.loss_weights, got.loss_weights, "weights of losses");
        EXPECT_EQ(expected.weight, got.weight) << what;
        EXPECT_EQ(expected.share, got.share) << what;
        ASSERT_EQ(expected.blocks.size(), got.blocks.size());
        for (std::size_t l = 0; l < got.blocks.size(); ++l) {
          const Graph block = got.blocks[l].graph.to(Device{}, own.stream.get());
          EXPECT_TRUE(std::ranges::equal(block.offsets(), expected.blocks[l].graph.offsets())) << what;
          EXPECT_TRUE(std::ranges::equal(block.cols(), expected.blocks[l].graph.cols())) << what;
          same(expected.blocks[l].weights, got.blocks[l].weights, "weights of edges");
        }
      }
    }
}

class cuda_sampled_training : public GpuTest, public ::testing::WithParamInterface<GradientCase> {};
INSTANTIATE_TEST_SUITE_P(layers, cuda_sampled_training, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(cuda_sampled_training, has_the_losses_and_gradients_of_the_cpu_in_float64) {
  const GradientCase& c = GetParam();
  const Dataset dataset = small_dataset(900, 16, 5, c.sparse, c.several_labels, 82);
  const ModelSpec spec = c.spec(dataset);
  for (const SampleOptions& options : all_samplers())
    if (options.method == Sampling::walk || options.method == Sampling::neighbour ||
        (options.edges.width > 0 && options.edges.method == EdgeSampling::fresh))
      expect_gradients_of_the_cpu(dataset, make_model(spec, 83), options);
}

/// As many nodes are read as products need to be weft's own, and fewer are written.
TEST_P(cuda_sampled_training, has_them_in_products_that_do_the_passes_around_them_too) {
  const GradientCase& c = GetParam();
  Dataset dataset = small_dataset(9000, 16, 5, c.sparse, c.several_labels, 85);
  // GIN's stay within the range of f16 after three sums over neighbours that stand for many. (Of others, small features
  // would make all predictions alike, whose gradients cancel but for their rounding.)
  if (c.architecture == Architecture::gin) {
    Tensor& features = c.sparse ? dataset.sparse_features.values : dataset.features;
    for (float& value : features.span<float>()) value *= 0.02f;
  }
  ModelSpec spec = c.spec(dataset);
  if (spec.hidden != spec.inputs) spec.hidden = spec.hidden > 6 ? 32 : 8;
  SampleOptions options = sampling(Sampling::neighbour, 2000);
  options.fanouts = {4, 3};
  expect_gradients_of_the_cpu(dataset, make_model(spec, 86), options);
}

class cuda_sampled_runs : public GpuTest {};

TEST_F(cuda_sampled_runs, repeat_to_the_bit_and_go_on_from_a_checkpoint_to_the_bit) {
  const Dataset dataset = small_dataset(2000, 24, 4, true, false, 84);
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("weft-batch-{}.checkpoint", ::getpid())).string();
  for (const SampleOptions& sample : all_samplers())
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      const ModelSpec spec = spec_for(dataset, Architecture::gat);
      TrainOptions options;
      options.epochs = 8;
      options.dtype = dtype;
      options.sample = sample;
      Context context = Context::cuda();
      const TrainResult whole = train(context, dataset, make_model(spec, 1), options);
      for (const EpochFigures& f : whole.epochs) ASSERT_TRUE(std::isfinite(f.loss)) << name(sample.method);
      EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole));
      options.checkpoint = file;
      train(context, dataset, make_model(spec, 1), options, [](const EpochFigures& f) { return f.epoch < 3; });
      options.resume = true;
      EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole))
          << name(sample.method);
      std::filesystem::remove(file);
    }
}

}  // namespace
}  // namespace weft::test
