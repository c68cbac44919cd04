// Checkpoints that training could not have written, or that are of other data, are refused before anything uses them.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>

#include "core/parallel.hpp"
#include "graph/io/files.hpp"
#include "nn/checkpoint_file.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class checkpoints : public ::testing::Test {
 protected:
  checkpoints() {
    dataset_ = open_dataset("citations:nodes=60,classes=3,words=12,seed=2");
    spec_.inputs = dataset_.num_features();
    spec_.classes = dataset_.classes;
    spec_.hidden = 4;
    options_.epochs = 3;
    options_.checkpoint = file_;
    options_.checkpoint_every = 1;
    train(context_, dataset_, make_model(spec_, 1), options_);
    options_.resume = true;
  }
  void resume() { train(context_, dataset_, make_model(spec_, 1), options_); }
  /// With a checksum that fits, so that nothing but the change is wrong.
  void expect_change_refused(const std::function<void(nn::Checkpoint&)>& change, const char* word,
                             ErrorCode code = ErrorCode::invalid_file) {
    SCOPED_TRACE(word);
    nn::Checkpoint changed = nn::read_checkpoint(file_);
    const std::string before = get(file_);
    change(changed);
    nn::write_checkpoint(file_, changed);
    expect_refused([&] { resume(); }, word, code);
    put(file_, before);
  }

  TempFolder folder_;
  std::string file_ = folder_ / "run.checkpoint";
  Context context_ = Context::cpu(1);
  Dataset dataset_;
  ModelSpec spec_;
  TrainOptions options_;
};

using nn::Checkpoint;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST_F(checkpoints, that_are_right_are_read) { EXPECT_NO_THROW(resume()); }

TEST_F(checkpoints, with_a_best_epoch_past_their_epochs_are_refused) {
  for (const std::int64_t epoch : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    expect_change_refused([&](Checkpoint& c) { c.state.best_epoch = c.figures.back().best_epoch = epoch; },
                          "best_epoch");
    expect_change_refused([&](Checkpoint& c) { c.figures[1].best_epoch = epoch; }, "best_epoch");
  }
  expect_change_refused([](Checkpoint& c) { c.figures[0].best_epoch = 2; }, "figures of epoch 1");
  expect_change_refused([](Checkpoint& c) { c.figures[0].evaluated = 0; }, "not evaluated");
}

TEST_F(checkpoints, with_counts_that_training_does_not_reach_are_refused) {
  expect_change_refused([](Checkpoint& c) { c.state.step = 4; }, "step is 4");
  expect_change_refused([](Checkpoint& c) { c.state.step = 6; }, "step is 6");
  expect_change_refused([](Checkpoint& c) { c.state.step = -3; }, "step is -3");
  expect_change_refused([](Checkpoint& c) { c.state.applied = -1; }, "applied");
  expect_change_refused([](Checkpoint& c) { c.state.applied = 4; }, "applied");
  expect_change_refused([](Checkpoint& c) { c.state.skipped = 1; }, "skipped");
  expect_change_refused([](Checkpoint& c) { c.state.good_steps = 500; }, "good_steps");
  expect_change_refused([](Checkpoint& c) { c.state.since_best = 3; }, "since_best");
  expect_change_refused([](Checkpoint& c) { c.state.epoch = 2; }, "training.figures");
  expect_change_refused([](Checkpoint& c) { c.state.epoch = -1; }, "epoch is -1");
  expect_change_refused([](Checkpoint& c) { c.state.epoch = std::numeric_limits<std::int64_t>::max(); }, "epoch is");
}

TEST_F(checkpoints, with_flags_scales_and_accuracies_out_of_range_are_refused) {
  expect_change_refused([](Checkpoint& c) { c.state.overflow = 1; }, "overflow");
  expect_change_refused([](Checkpoint& c) { c.state.stopped = 2; }, "stopped");
  expect_change_refused([](Checkpoint& c) { c.state.stopped = 1; }, "expected the same");
  expect_change_refused([](Checkpoint& c) { c.state.improved = -1; }, "improved");
  for (const float scale : {0.0f, -1.0f, static_cast<float>(nan), std::numeric_limits<float>::infinity()})
    expect_change_refused([&](Checkpoint& c) { c.state.loss_scale = scale; }, "loss scale");
  expect_change_refused([](Checkpoint& c) { c.state.best_accuracy = nan; }, "best_accuracy");
  expect_change_refused([](Checkpoint& c) { c.figures[1].val_accuracy = 1.5; }, "val_accuracy");
  expect_change_refused([](Checkpoint& c) { c.figures[1].stopped = 1; }, "figures of epoch 3: stopped is 0");
}

TEST_F(checkpoints, with_seconds_that_run_backwards_are_refused) {
  for (const double wrong : {-1.0, nan, std::numeric_limits<double>::infinity(), 0.0})
    expect_change_refused([&](Checkpoint& c) { c.seconds = {0.5, wrong == 0 ? 0.25 : 1.0, wrong}; }, "ended after");
  expect_change_refused([](Checkpoint& c) { c.seconds.pop_back(); }, "training.seconds");
}

TEST_F(checkpoints, go_on_with_the_seconds_they_took) {
  Checkpoint saved = nn::read_checkpoint(file_);
  ASSERT_EQ(saved.seconds.size(), 3u);
  saved.seconds = {10, 20, 30};
  nn::write_checkpoint(file_, saved);
  options_.epochs = 5;
  std::vector<EpochFigures> epochs = train(context_, dataset_, make_model(spec_, 1), options_).epochs;
  ASSERT_EQ(epochs.size(), 5u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(epochs[i].seconds, saved.seconds[i]);
  EXPECT_GE(epochs[3].seconds, 30);
  EXPECT_GE(epochs[4].seconds, epochs[3].seconds);
  EXPECT_EQ(nn::read_checkpoint(file_).seconds.back(), epochs[4].seconds);
  saved.seconds.clear();  // as earlier versions wrote them
  nn::write_checkpoint(file_, saved);
  EXPECT_LT(train(context_, dataset_, make_model(spec_, 1), options_).epochs.back().seconds, 10);
}

TEST_F(checkpoints, with_arrays_of_other_sizes_are_refused) {
  expect_change_refused([](Checkpoint& c) { c.best = Tensor::zeros(Shape(3), Dtype::f32, "test"); }, "training.best");
  expect_change_refused([](Checkpoint& c) { c.first = Tensor::zeros(c.first.shape(), Dtype::f64, "test"); },
                        "training.first");
  expect_change_refused(
      [](Checkpoint& c) {
        for (Tensor* t : {&c.values, &c.first, &c.second, &c.best}) *t = Tensor::zeros(Shape(64), Dtype::f32, "test");
      },
      "another model");
}

TEST_F(checkpoints, of_other_options_say_which_without_repeating_what_a_terminal_obeys) {
  options_.lr = 0.02;
  expect_refused([&] { resume(); }, "'lr=0.01' where this run has 'lr=0.02'", ErrorCode::invalid_argument);
  options_.lr = 0.01;
  expect_change_refused([](Checkpoint& c) { c.options = "\x1b[2J"; }, "'\\x1b[2J'", ErrorCode::invalid_argument);
  expect_change_refused([](Checkpoint& c) { c.data = "\x1b[2J"; }, "'\\x1b[2J'", ErrorCode::invalid_argument);
}

TEST_F(checkpoints, without_a_checksum_or_of_the_version_without_a_fingerprint_are_refused) {
  const std::string before = get(file_);
  std::string unsealed = before;
  for (const std::string key : {"weft.checksum\"", "weft.checksum_"}) unsealed[unsealed.find(key) + 5] = 'x';
  put(file_, unsealed);
  expect_refused([&] { resume(); }, "has no 'weft.checksum'", ErrorCode::invalid_file);
  put(file_, before);
  nn::TensorFile file = nn::read_tensors(file_);
  file.metadata["weft.version"] = "1";
  nn::write_tensors(file_, file);
  expect_refused([&] { resume(); }, "train from the start", ErrorCode::invalid_file);
}

TEST_F(checkpoints, of_other_data_of_the_same_size_are_refused_by_the_part_that_differs) {
  const auto expect_part = [&](const char* part) {
    SCOPED_TRACE(part);
    expect_refused([&] { resume(); }, part, ErrorCode::invalid_argument);
  };
  std::swap(dataset_.train.span<std::int32_t>()[0], dataset_.train.span<std::int32_t>()[1]);
  expect_part("differs in: split;");
  std::swap(dataset_.train.span<std::int32_t>()[0], dataset_.train.span<std::int32_t>()[1]);
  EXPECT_NO_THROW(resume());
  auto label = dataset_.labels.span<std::int32_t>().begin();
  *label = (*label + 1) % 3;
  expect_part("differs in: labels;");
  *label = (*label + 2) % 3;
  ASSERT_TRUE(dataset_.sparse_features.offsets && !dataset_.sparse_features.values);
  dataset_.sparse_features.values = Tensor::zeros(dataset_.sparse_features.columns.shape(), Dtype::f32, "test");
  expect_part("differs in: features;");
  dataset_.sparse_features.values = {};
  const Graph graph = dataset_.graph;
  dataset_.graph = graph.transpose();
  expect_part("differs in: graph");
  dataset_.graph = graph;
}

TEST_F(checkpoints, of_other_edge_values_are_refused) {
  dataset_.values = Tensor::empty(Shape(dataset_.graph.num_edges()), Dtype::f32, "test");
  std::ranges::fill(dataset_.values.span<float>(), 0.5f);
  std::filesystem::remove(file_);
  resume();  // trains from the start and leaves a checkpoint
  EXPECT_NO_THROW(resume());
  dataset_.values.span<float>()[0] = 0.25f;
  expect_refused([&] { resume(); }, "differs in: edge_values;", ErrorCode::invalid_argument);
}

TEST(data_fingerprint, is_the_same_for_any_number_of_threads_and_comes_back_from_its_text) {
  const Dataset dataset = open_dataset("citations:nodes=3000,seed=2");
  const nn::DataFingerprint one = nn::fingerprint_of(dataset);
  EXPECT_EQ(nn::parse_fingerprint(to_string(one)), one);
  for (const int threads : {1, 2, 3, 7}) {
    set_default_threads(threads);
    EXPECT_EQ(nn::fingerprint_of(dataset), one) << threads;
  }
  set_default_threads(0);
  expect_refused([&] { nn::parse_fingerprint(to_string(one) + "0"); }, "ends in", ErrorCode::invalid_file);
  expect_refused([&] { nn::parse_fingerprint(to_string(one).substr(1)); }, "fingerprint", ErrorCode::invalid_file);
}

}  // namespace
}  // namespace weft::test
