// Training on a GPU: the gradients of the CPU in f64, the same losses from recorded epochs as from direct ones.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cuda/training_pass.hpp"
#include "nn/large_gradients.hpp"
#include "nn/recomputing.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"

namespace weft::test {
namespace {

class cuda_training : public GpuTest, public ::testing::WithParamInterface<GradientCase> {};
INSTANTIATE_TEST_SUITE_P(layers, cuda_training, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(cuda_training, has_the_losses_and_gradients_of_the_cpu_in_float64) {
  const GradientCase& c = GetParam();
  const Dataset dataset = small_dataset(500, 16, 5, c.sparse, c.several_labels, 51);
  expect_gradients_of_the_cpu(dataset, make_model(c.spec(dataset), 53), {});
}

/// Of as many nodes, and widths as even, as products need to be weft's own, which do what surrounds them.
TEST_P(cuda_training, has_them_in_products_that_do_the_passes_around_them_too) {
  const GradientCase& c = GetParam();
  const Dataset dataset = small_dataset(5000, 16, 5, c.sparse, c.several_labels, 54);
  ModelSpec spec = c.spec(dataset);
  if (spec.hidden != spec.inputs) spec.hidden = spec.hidden > 6 ? 32 : 8;  // wider than the input, or not
  expect_gradients_of_the_cpu(dataset, make_model(spec, 55), {});
}

TEST_P(cuda_training, has_those_of_a_graph_with_edge_weights) {
  const GradientCase& c = GetParam();
  if (nn::attends(c.architecture)) return;  // has no use for weights
  Dataset dataset = small_dataset(500, 16, 5, c.sparse, c.several_labels, 56);
  add_edge_weights(dataset, 57);
  ModelSpec spec = c.spec(dataset);
  spec.edge_weights = true;
  expect_gradients_of_the_cpu(dataset, make_model(spec, 58), {});
}

TEST_P(cuda_training, has_them_where_sums_are_made_on_the_way_into_products) {
  const GradientCase& c = GetParam();
  if (nn::attends(c.architecture)) return;  // has no such sums
  Dataset dataset = small_dataset(5000, 16, 5, c.sparse, c.several_labels, 59);
  ModelSpec spec = c.spec(dataset);
  if (spec.hidden != spec.inputs) spec.hidden = spec.hidden > 6 ? 32 : 8;  // wider than the input, or not
  expect_gradients_of_the_cpu(dataset, make_model(spec, 60), {}, true);
  add_edge_weights(dataset, 61);
  spec.edge_weights = true;
  expect_gradients_of_the_cpu(dataset, make_model(spec, 60), {}, true);
}

class cuda_training_runs : public GpuTest {};

constexpr Architecture architectures[] = {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat,
                                          Architecture::gatv2};

TEST_F(cuda_training_runs, in_f16_learn_where_gradients_are_too_large_even_without_a_scale) {
  Context context = Context::cuda();
  for (const std::int64_t nodes : {300, 5000}) expect_learning_from_gradients_beyond_f16(context, nodes);
}

TEST_F(cuda_training_runs, of_recorded_epochs_give_the_losses_of_direct_ones_to_the_bit) {
  const Dataset dataset = small_dataset(700, 24, 4, true, false, 61);
  for (const Architecture a : architectures)
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      const ModelSpec spec = spec_for(dataset, a);
      TrainOptions options;
      options.epochs = 12;
      options.dtype = dtype;
      OwnContext own;
      nn::Trainer recorded(own.context, dataset, make_model(spec, 1), options),
          direct(own.context, dataset, make_model(spec, 1), options);
      direct.record(false);
      for (int epoch = 0; epoch < 12; ++epoch) {
        recorded.epoch(epoch % 3 == 2);
        direct.epoch(epoch % 3 == 2);
      }
      own.context.synchronise();
      ASSERT_EQ(recorded.done(), 12);
      ASSERT_EQ(direct.done(), 12);
      for (int epoch = 0; epoch < 12; ++epoch) {
        EXPECT_EQ(recorded.published(epoch).loss, direct.published(epoch).loss) << name(a) << " epoch " << epoch;
        EXPECT_EQ(recorded.published(epoch).val_loss, direct.published(epoch).val_loss) << name(a);
      }
      // Dropout is another one in every epoch.
      EXPECT_NE(recorded.published(3).loss, recorded.published(4).loss) << name(a);
    }
}

TEST_F(cuda_training_runs, on_edge_weights_record_allocate_nothing_and_infer_what_was_measured) {
  Dataset dataset = small_dataset(700, 24, 4, false, false, 64);
  add_edge_weights(dataset, 65);
  for (const Architecture a : {Architecture::gcn, Architecture::sage, Architecture::gin})
    for (const Reduce reduce : {Reduce::mean, Reduce::max}) {
      if (a != Architecture::sage && reduce == Reduce::max) continue;
      ModelSpec spec = spec_for(dataset, a);
      spec.aggregate = reduce;
      spec.edge_weights = true;
      TrainOptions options;
      options.epochs = 12;
      OwnContext own;
      nn::Trainer recorded(own.context, dataset, make_model(spec, 1), options),
          direct(own.context, dataset, make_model(spec, 1), options);
      direct.record(false);
      const std::size_t before = memory_stats(gpu).allocations;
      for (int epoch = 0; epoch < 12; ++epoch) {
        recorded.epoch(true);
        direct.epoch(true);
      }
      own.context.synchronise();
      EXPECT_EQ(memory_stats(gpu).allocations, before) << name(a);
      for (int epoch = 0; epoch < 12; ++epoch)
        EXPECT_EQ(recorded.published(epoch).loss, direct.published(epoch).loss) << name(a) << " epoch " << epoch;
      Context context = Context::cuda();
      const TrainResult result = train(context, dataset, make_model(spec, 1), options);
      EXPECT_EQ(infer(context, dataset, result.model).val_accuracy, result.val_accuracy) << name(a);
    }
}

TEST_F(cuda_training_runs, repeat_to_the_bit_and_go_on_from_a_checkpoint_to_the_bit) {
  const Dataset dataset = small_dataset(700, 24, 4, true, false, 62);
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("weft-train-{}.checkpoint", ::getpid())).string();
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    const ModelSpec spec = spec_for(dataset, Architecture::gat);
    TrainOptions options;
    options.epochs = 90;
    options.dtype = dtype;
    Context context = Context::cuda();
    const TrainResult whole = train(context, dataset, make_model(spec, 1), options);
    EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole));
    options.checkpoint = file;
    const TrainResult part =
        train(context, dataset, make_model(spec, 1), options, [](const EpochFigures& f) { return f.epoch < 5; });
    EXPECT_TRUE(part.interrupted);
    options.resume = true;
    EXPECT_EQ(losses_of(train(context, dataset, make_model(spec, 1), options)), losses_of(whole)) << name(dtype);
    std::filesystem::remove(file);
  }
}

TEST_F(cuda_training_runs, make_outputs_again_to_the_bit_in_less_memory) {
  Context context = Context::cuda();
  for (const std::int64_t nodes : {640, 6400})  // with products of cuBLAS, and of weft's own
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
      for (const bool fuse : {false, true}) expect_outputs_can_be_made_again(context, nodes, dtype, fuse);
}

/// Layers say what they make of their sums; dense/fuses.hpp knows what that is worth.
TEST_F(cuda_training_runs, make_sums_on_the_way_into_products_where_that_pays) {
  struct Case {
    const char* what;
    Architecture architecture;
    Dtype dtype;
    std::int64_t features;  // 200: weights come first, and the way back through the second layer counts
    DegreeNorm norm;
    bool fuses;
  };
  const Case cases[] = {
      {"stores its sums", Architecture::gcn, Dtype::f32, 64, DegreeNorm::none, false},
      {"stores few", Architecture::gcn, Dtype::f32, 32, DegreeNorm::none, true},
      {"stores halves", Architecture::gcn, Dtype::f16, 64, DegreeNorm::none, true},
      {"scales sources, few columns of halves", Architecture::gcn, Dtype::f16, 32, DegreeNorm::both, false},
      {"scales sources", Architecture::gcn, Dtype::f16, 64, DegreeNorm::both, true},
      {"stores its sums", Architecture::sage, Dtype::f32, 64, DegreeNorm::none, false},
      {"stores few", Architecture::sage, Dtype::f32, 32, DegreeNorm::none, true},
      {"adds a row's own", Architecture::gin, Dtype::f32, 64, DegreeNorm::none, true},
      {"stores its sums, back", Architecture::gcn, Dtype::f32, 200, DegreeNorm::none, false},
      {"scales its sums, back", Architecture::gcn, Dtype::f32, 200, DegreeNorm::both, true},
      {"stores halves, back", Architecture::gcn, Dtype::f16, 200, DegreeNorm::none, true},
      {"stores its sums, back", Architecture::sage, Dtype::f32, 200, DegreeNorm::none, false},
      {"stores halves, back", Architecture::sage, Dtype::f16, 200, DegreeNorm::none, true},
  };
  const Graph molecules = battery::molecule_graph(600);
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}, {}", name(c.architecture), name(c.dtype), c.features, c.what));
    Dataset dataset = small_dataset(molecules.num_rows(), c.features, c.features == 200 ? 64 : 4, false, false, 67);
    dataset.graph = molecules;
    ModelSpec spec = spec_for(dataset, c.architecture);
    spec.hidden = 64;
    spec.dropout = 0.5f;  // else the first sums are made once
    spec.self_loops = false;
    if (c.architecture == Architecture::gcn) spec.degree_norm = c.norm;
    TrainOptions options;
    options.epochs = 1;
    options.dtype = c.dtype;
    options.time_operators = true;
    Context context = Context::cuda();
    const TrainResult result = train(context, dataset, make_model(spec, 1), options);
    const bool fuses = std::any_of(result.operators.begin(), result.operators.end(),
                                   [](const OperatorTime& o) { return o.name == "sums into products"; });
    EXPECT_EQ(fuses, c.fuses);
  }
}

TEST_F(cuda_training_runs, allocate_nothing_once_they_are_built) {
  const Dataset dataset = small_dataset(700, 24, 4, false, false, 63);
  for (const Architecture a : architectures) {
    TrainOptions options;
    options.epochs = 6;
    OwnContext own;
    nn::Trainer trainer(own.context, dataset, make_model(spec_for(dataset, a), 1), options);
    const std::size_t before = memory_stats(gpu).allocations;
    for (int epoch = 0; epoch < 6; ++epoch) trainer.epoch(true);
    own.context.synchronise();
    EXPECT_EQ(memory_stats(gpu).allocations, before) << name(a);
  }
}

TEST_F(cuda_training_runs, stop_at_the_same_epoch_however_far_the_gpu_ran_ahead) {
  const Dataset dataset = open_dataset("citations:nodes=400,seed=4");
  ModelSpec spec = spec_for(dataset, Architecture::gcn);
  spec.normalise_inputs = true;
  TrainOptions options;
  options.epochs = 2000;
  options.patience = 10;
  options.lr = 0.05;
  Context context = Context::cuda();
  const TrainResult result = train(context, dataset, make_model(spec, 3), options);
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(static_cast<std::int64_t>(result.epochs.size()), result.best_epoch + options.patience);
  const Predictions p = infer(context, dataset, result.model);
  EXPECT_EQ(p.val_accuracy, result.val_accuracy);
  EXPECT_EQ(p.test_accuracy, result.test_accuracy);
  expect_refused(
      [&] {
        options.dtype = Dtype::f64;
        train(context, dataset, make_model(spec, 3), options);
      },
      "f64", ErrorCode::unsupported);
}

}  // namespace
}  // namespace weft::test
