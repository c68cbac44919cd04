// What is trained does not depend on the number of threads.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "nn/network_case.hpp"
#include "weft/dataset.hpp"
#include "weft/nn.hpp"

namespace weft {
namespace {

constexpr Architecture models[] = {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat,
                                   Architecture::gatv2};

TrainOptions epochs(int count, Dtype dtype = Dtype::f32) {
  TrainOptions options;
  options.epochs = count;
  options.patience = 0;
  options.dtype = dtype;
  return options;
}

void expect_same_bits(const Model& a, const Model& b, const std::string& where) {
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    const Tensor &x = a.parameters[i].value, &y = b.parameters[i].value;
    ASSERT_EQ(x.bytes(), y.bytes());
    EXPECT_EQ(std::memcmp(x.view().data, y.view().data, x.bytes()), 0) << a.parameters[i].name << ", " << where;
  }
}

void expect_threads_do_not_matter(const Dataset& dataset, Architecture model, const TrainOptions& options) {
  const ModelSpec spec = test::spec_for(dataset, model);
  Context one = Context::cpu(1);
  const TrainResult alone = train(one, dataset, make_model(spec, 1), options);
  for (const int threads : {2, 3, 7}) {
    Context several = Context::cpu(threads);
    const TrainResult result = train(several, dataset, make_model(spec, 1), options);
    const std::string where = std::string(name(model)) + " in " + std::string(name(options.dtype)) + " with " +
                              std::to_string(dataset.graph.num_rows()) + " nodes by " + std::to_string(threads) +
                              " threads";
    expect_same_bits(alone.model, result.model, where);
    ASSERT_EQ(alone.epochs.size(), result.epochs.size());
    for (std::size_t i = 0; i < alone.epochs.size(); ++i)
      EXPECT_EQ(alone.epochs[i].loss, result.epochs[i].loss) << where << ", epoch " << i + 1;
  }
}

TEST(thread_counts, give_the_same_weights_for_every_model_and_size) {
  for (const char* data : {"citations:nodes=300,seed=1", "citations:nodes=1500,seed=2"}) {
    const Dataset dataset = open_dataset(data);
    for (const Architecture model : models) expect_threads_do_not_matter(dataset, model, epochs(4));
  }
  const Dataset larger = open_dataset("citations:nodes=6000,seed=3");
  for (const Architecture model : {Architecture::sage, Architecture::gin})
    expect_threads_do_not_matter(larger, model, epochs(2));
}

TEST(thread_counts, give_the_same_weights_in_every_storage_type) {
  const Dataset dataset = open_dataset("citations:nodes=900,seed=4");
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f64})
    for (const Architecture model : models) expect_threads_do_not_matter(dataset, model, epochs(3, dtype));
}

TEST(thread_counts, give_the_same_weights_with_sampled_batches) {
  const Dataset dataset = open_dataset("citations:nodes=900,seed=5");
  TrainOptions options = epochs(2);
  options.sample.method = Sampling::neighbour;
  options.sample.batch = 128;
  options.sample.fanouts = {5, 5};
  for (const Architecture model : {Architecture::sage, Architecture::gat})
    expect_threads_do_not_matter(dataset, model, options);
}

TEST(thread_counts, may_change_where_training_is_resumed) {
  const Dataset dataset = open_dataset("citations:nodes=1500,seed=6");
  const ModelSpec spec = test::spec_for(dataset, Architecture::sage);
  TrainOptions options = epochs(8);
  Context one = Context::cpu(1), seven = Context::cpu(7);
  const TrainResult whole = train(one, dataset, make_model(spec, 1), options);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("weft-threads-" + std::to_string(::getpid()) + ".checkpoint");
  options.checkpoint = file.string();
  train(one, dataset, make_model(spec, 1), options, [](const EpochFigures& figures) { return figures.epoch < 3; });
  options.resume = true;
  const TrainResult rest = train(seven, dataset, make_model(spec, 1), options);
  std::filesystem::remove(file);
  ASSERT_EQ(rest.epochs.size(), 8u);
  expect_same_bits(whole.model, rest.model, "resumed by 7 threads");
}

}  // namespace
}  // namespace weft
