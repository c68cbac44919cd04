// Training from the first epoch to the best model.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "nn/large_gradients.hpp"
#include "nn/network_case.hpp"
#include "nn/recomputing.hpp"
#include "nn/step/bodies.hpp"
#include "support/errors.hpp"
#include "support/oracle.hpp"

namespace weft::test {
namespace {

TrainOptions few_epochs(std::int64_t epochs) {
  TrainOptions options;
  options.epochs = epochs;
  options.seed = 5;
  return options;
}

/// Two GCN layers, softmax and Adam, as one would write them down: dense matrices and plain loops.
class PlainGcn {
 public:
  PlainGcn(const Dataset& d, const Model& model, double lr, double decay) : d_(d), lr_(lr), decay_(decay) {
    n_ = static_cast<std::size_t>(d.num_nodes());
    a_.assign(n_ * n_, 0);
    const Graph g = with_self_loops(d.graph, SelfLoops::add).graph;
    std::vector<double> in(n_, 0), out(n_, 0);
    for (std::size_t v = 0; v < n_; ++v)
      for (EdgeId k = g.offsets()[v]; k < g.offsets()[v + 1]; ++k)
        ++in[v], ++out[static_cast<std::size_t>(g.cols()[static_cast<std::size_t>(k)])];
    for (std::size_t v = 0; v < n_; ++v)
      for (EdgeId k = g.offsets()[v]; k < g.offsets()[v + 1]; ++k) {
        const auto u = static_cast<std::size_t>(g.cols()[static_cast<std::size_t>(k)]);
        a_[v * n_ + u] += 1 / std::sqrt(in[v] * out[u]);
      }
    for (const Parameter& p : model.parameters) values.push_back(doubles(p.value));
    m_ = v_ = zeros();
    f_ = static_cast<std::size_t>(model.spec.inputs);
    h_ = static_cast<std::size_t>(model.spec.hidden);
    c_ = static_cast<std::size_t>(model.spec.classes);
    x_ = doubles(d.features);
  }

  double step() {
    const std::vector<double> ax = times(a_, n_, n_, x_, f_);
    std::vector<double> z1 = times(ax, n_, f_, values[0], h_);
    for (std::size_t i = 0; i < z1.size(); ++i) z1[i] += values[1][i % h_];
    std::vector<double> y1 = z1;
    for (double& y : y1) y = std::max(y, 0.0);
    const std::vector<double> ay = times(a_, n_, n_, y1, h_);
    std::vector<double> z2 = times(ay, n_, h_, values[2], c_);
    for (std::size_t i = 0; i < z2.size(); ++i) z2[i] += values[3][i % c_];
    std::vector<double> g2(z2.size(), 0);
    double loss = 0;
    const auto train = d_.train.span<NodeId>();
    for (const NodeId node : train) {
      const auto v = static_cast<std::size_t>(node);
      double sum = 0;
      for (std::size_t c = 0; c < c_; ++c) sum += std::exp(z2[v * c_ + c]);
      const auto label = static_cast<std::size_t>(d_.labels.span<std::int32_t>()[v]);
      loss += (std::log(sum) - z2[v * c_ + label]) / static_cast<double>(train.size());
      for (std::size_t c = 0; c < c_; ++c)
        g2[v * c_ + c] = (std::exp(z2[v * c_ + c]) / sum - (c == label ? 1 : 0)) / static_cast<double>(train.size());
    }
    std::vector<std::vector<double>> grads = zeros();
    grads[2] = times(transposed(ay, n_, h_), h_, n_, g2, c_);
    for (std::size_t i = 0; i < g2.size(); ++i) grads[3][i % c_] += g2[i];
    std::vector<double> g1 =
        times(transposed(a_, n_, n_), n_, n_, times(g2, n_, c_, transposed(values[2], h_, c_), h_), h_);
    for (std::size_t i = 0; i < g1.size(); ++i) g1[i] = z1[i] > 0 ? g1[i] : 0;
    grads[0] = times(transposed(ax, n_, f_), f_, n_, g1, h_);
    for (std::size_t i = 0; i < g1.size(); ++i) grads[1][i % h_] += g1[i];
    ++t_;
    for (std::size_t p = 0; p < values.size(); ++p)
      for (std::size_t i = 0; i < values[p].size(); ++i) {
        const double g = grads[p][i] + (p == 0 ? decay_ * values[p][i] : 0);  // the first layer's matrix alone
        m_[p][i] = 0.9 * m_[p][i] + 0.1 * g;
        v_[p][i] = 0.999 * v_[p][i] + 0.001 * g * g;
        const double mean = m_[p][i] / (1 - std::pow(0.9, t_)), spread = v_[p][i] / (1 - std::pow(0.999, t_));
        values[p][i] -= lr_ * mean / (std::sqrt(spread) + 1e-8);
      }
    return loss;
  }
  std::vector<std::vector<double>> values;

 private:
  std::vector<std::vector<double>> zeros() const {
    std::vector<std::vector<double>> all;
    for (const std::vector<double>& v : values) all.emplace_back(v.size(), 0.0);
    return all;
  }
  static std::vector<double> times(const std::vector<double>& a, std::size_t m, std::size_t k,
                                   const std::vector<double>& b, std::size_t n) {
    std::vector<double> c(m * n, 0);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < k; ++j)
        for (std::size_t l = 0; l < n; ++l) c[i * n + l] += a[i * k + j] * b[j * n + l];
    return c;
  }
  static std::vector<double> transposed(const std::vector<double>& a, std::size_t m, std::size_t n) {
    std::vector<double> t(a.size());
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) t[j * m + i] = a[i * n + j];
    return t;
  }
  const Dataset& d_;
  double lr_, decay_;
  std::size_t n_ = 0, f_ = 0, h_ = 0, c_ = 0;
  int t_ = 0;
  std::vector<double> a_, x_;
  std::vector<std::vector<double>> m_, v_;
};

TEST(nn_training, of_a_gcn_takes_the_steps_of_a_plain_implementation) {
  const Dataset dataset = small_dataset(60, 7, 4, false, false, 41);
  ModelSpec spec = spec_for(dataset, Architecture::gcn);
  spec.dropout = 0;
  TrainOptions options = few_epochs(6);
  options.dtype = Dtype::f64;
  options.decay_first_layer_only = true;
  Model model = make_model(spec, 9);
  PlainGcn plain(dataset, model, options.lr, options.weight_decay);
  Context context = Context::cpu();
  nn::Trainer trainer(context, dataset, model, options);
  for (int epoch = 0; epoch < 6; ++epoch) {
    trainer.epoch(false);
    EXPECT_NEAR(trainer.published(epoch).loss, plain.step(), 1e-10) << epoch;
  }
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const std::vector<double> got = doubles(trainer.parameters().value(p));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], plain.values[p][i], 1e-10) << model.parameters[p].name << " " << i;
  }
}

TEST(nn_training, with_the_same_seed_repeats_to_the_bit_and_with_another_does_not) {
  const Dataset dataset = small_dataset(300, 20, 4, true, false, 42);
  for (const Architecture a : {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat}) {
    const ModelSpec spec = spec_for(dataset, a);
    Context context = Context::cpu(), other = Context::cpu();
    TrainOptions options = few_epochs(8);
    const TrainResult first = train(context, dataset, make_model(spec, 1), options);
    const TrainResult again = train(other, dataset, make_model(spec, 1), options);
    EXPECT_EQ(losses_of(first), losses_of(again)) << name(a);
    options.seed = 6;
    EXPECT_NE(losses_of(first), losses_of(train(context, dataset, make_model(spec, 1), options))) << name(a);
  }
}

TEST(nn_training, makes_outputs_again_to_the_bit_in_less_memory) {
  Context context = Context::cpu();
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const bool fuse : {false, true}) expect_outputs_can_be_made_again(context, 640, dtype, fuse);
}

TEST(nn_training, has_the_losses_of_sums_that_are_stored_where_they_are_made_on_the_way_into_products) {
  const Dataset dataset = small_dataset(400, 24, 4, false, false, 45);
  Context context = Context::cpu(2);
  for (const Architecture a : {Architecture::gcn, Architecture::sage, Architecture::gin})
    for (const std::int64_t hidden : {16, 40})  // narrower than the input, and so much wider that sums come first
      for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16}) {
        ModelSpec spec = spec_for(dataset, a);
        spec.layers = 3;
        spec.hidden = hidden;
        TrainOptions options;
        options.epochs = 8;
        options.dtype = dtype;
        std::vector<double> losses[2];
        for (const bool fuse : {false, true}) {
          options.fuse = fuse;
          losses[fuse] = losses_of(train(context, dataset, make_model(spec, 1), options));
        }
        // In halves one rounding turns a ReLU of a hub, and steps go apart: the first epoch counts.
        const double bound = dtype == Dtype::f64 ? 1e-10 : dtype == Dtype::f32 ? 1e-3 : 0.02;
        const std::size_t epochs = dtype == Dtype::bf16 ? 1 : losses[0].size();
        for (std::size_t i = 0; i < epochs; ++i)
          EXPECT_NEAR(losses[1][i], losses[0][i], bound * losses[0][i])
              << name(a) << " " << hidden << " " << name(dtype) << " epoch " << i + 1;
      }
}

TEST(nn_training, lowers_the_loss_with_every_model_type_and_optimiser) {
  const Dataset dataset = open_dataset("citations:nodes=400,seed=3");
  for (const Architecture a :
       {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat, Architecture::gatv2})
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64})
      for (const Optimiser optimiser : {Optimiser::adam, Optimiser::adamw, Optimiser::sgd}) {
        if (dtype != Dtype::f32 && optimiser != Optimiser::adam) continue;
        ModelSpec spec = spec_for(dataset, a);
        spec.normalise_inputs = true;
        TrainOptions options = few_epochs(30);
        options.dtype = dtype;
        options.optimiser = optimiser;
        if (optimiser == Optimiser::sgd) spec.normalise_inputs = false, options.lr = 0.02;
        Context context = Context::cpu();
        const TrainResult result = train(context, dataset, make_model(spec, 2), options);
        const std::string what = fmt::format("{} {} {}", name(a), name(dtype), name(optimiser));
        ASSERT_EQ(result.epochs.size(), 30u) << what;
        for (const EpochFigures& f : result.epochs) ASSERT_TRUE(std::isfinite(f.loss)) << what << " epoch " << f.epoch;
        EXPECT_LT(result.epochs.back().loss, 0.9 * result.epochs.front().loss) << what;
      }
}

TEST(nn_training, from_a_checkpoint_goes_on_to_the_same_losses_to_the_bit) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("weft-nn-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const Dataset dataset = small_dataset(300, 20, 4, true, false, 43);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    const std::string file = (folder / fmt::format("{}.checkpoint", name(dtype))).string();
    const ModelSpec spec = spec_for(dataset, Architecture::gat);
    TrainOptions options = few_epochs(12);
    options.dtype = dtype;
    Context context = Context::cpu();
    const TrainResult whole = train(context, dataset, make_model(spec, 1), options);
    options.checkpoint = file;
    const TrainResult part =
        train(context, dataset, make_model(spec, 1), options, [](const EpochFigures& f) { return f.epoch < 5; });
    EXPECT_TRUE(part.interrupted);
    EXPECT_EQ(part.epochs.size(), 5u);
    options.resume = true;
    const TrainResult rest = train(context, dataset, make_model(spec, 1), options);
    EXPECT_EQ(losses_of(rest), losses_of(whole)) << name(dtype);
    EXPECT_EQ(rest.best_epoch, whole.best_epoch);
    for (std::size_t p = 0; p < whole.model.parameters.size(); ++p)
      EXPECT_TRUE(bitwise_equal(rest.model.parameters[p].value, whole.model.parameters[p].value));
    // Other data, other options, another model.
    const Dataset larger = small_dataset(301, 20, 4, true, false, 43);
    expect_refused([&] { train(context, larger, make_model(spec, 1), options); }, "other data ('300 nodes");
    TrainOptions other = options;
    other.lr = 0.5;
    expect_refused([&] { train(context, dataset, make_model(spec, 1), other); }, "options");
    ModelSpec wider = spec;
    wider.hidden = 9;
    expect_refused([&] { train(context, dataset, make_model(wider, 1), options); }, "another model");
  }
  std::filesystem::remove_all(folder);
}

TEST(nn_training, ends_early_and_keeps_the_best_epoch) {
  const Dataset dataset = open_dataset("citations:nodes=400,seed=4");
  ModelSpec spec = spec_for(dataset, Architecture::gcn);
  spec.normalise_inputs = true;
  TrainOptions options = few_epochs(2000);
  options.patience = 10;
  options.lr = 0.05;
  Context context = Context::cpu();
  const TrainResult result = train(context, dataset, make_model(spec, 3), options);
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(static_cast<std::int64_t>(result.epochs.size()), result.best_epoch + options.patience);
  double lowest = result.epochs.front().val_loss;
  for (const EpochFigures& f : result.epochs) lowest = std::min(lowest, f.val_loss);
  EXPECT_EQ(result.epochs[static_cast<std::size_t>(result.best_epoch - 1)].val_loss, lowest);
  // The model is that epoch's.
  const Predictions p = infer(context, dataset, result.model);
  EXPECT_EQ(p.val_accuracy, result.val_accuracy);
  EXPECT_EQ(p.test_accuracy, result.test_accuracy);
}

TEST(nn_training, of_a_model_with_batch_norm_is_inferred_to_the_same_accuracy) {
  const Dataset dataset = open_dataset("citations:nodes=400,seed=5");
  ModelSpec spec = spec_for(dataset, Architecture::sage);
  spec.norm = LayerNorm::batch;
  Context context = Context::cpu();
  const TrainResult result = train(context, dataset, make_model(spec, 3), few_epochs(20));
  const Predictions p = infer(context, dataset, result.model);
  EXPECT_EQ(p.val_accuracy, result.val_accuracy);
  EXPECT_EQ(p.test_accuracy, result.test_accuracy);
}

/// What is kept from epoch to epoch, such as sums over an input that stays the same, must not outlive what it is of.
TEST(nn_training, evaluates_to_the_loss_that_a_fresh_network_gives) {
  const Dataset dataset = small_dataset(200, 6, 3, false, false, 48);
  for (const GradientCase& c : gradient_cases()) {
    if (c.sparse || c.several_labels) continue;
    ModelSpec spec = c.spec(dataset);
    spec.dropout = spec.attention_dropout = 0;
    TrainOptions options = few_epochs(4);
    options.lr = 0.05;
    options.dtype = Dtype::f64;
    options.best_by = BestBy::loss;
    Context context = Context::cpu();
    const TrainResult result = train(context, dataset, make_model(spec, 4), options);
    const Predictions p = infer(context, dataset, result.model, Dtype::f64);
    double loss = 0;
    const std::span<const NodeId> val = dataset.val.span<NodeId>();
    for (const NodeId node : val) {
      const float* const row = p.scores.span<float>().data() + node * 3;
      const auto label = dataset.labels.span<std::int32_t>()[static_cast<std::size_t>(node)];
      double sum = 0;
      for (int k = 0; k < 3; ++k) sum += std::exp(static_cast<double>(row[k]) - static_cast<double>(row[label]));
      loss += std::log(sum) / static_cast<double>(val.size());
    }
    EXPECT_NEAR(result.epochs[static_cast<std::size_t>(result.best_epoch - 1)].val_loss, loss, 1e-5 * (1 + loss))
        << c.name;
  }
}

TEST(nn_training, in_f16_divides_sums_before_they_leave_its_range) {
  Dataset dataset = small_dataset(20'001, 4, 2, false, false, 45);
  dataset.graph = generate(StarSpec{20'001});  // a sum of 20,000 times 5 is past the range
  for (float& value : dataset.features.span<float>()) value = 5;
  Context context = Context::cpu();
  for (const Architecture a : {Architecture::gcn, Architecture::gin}) {
    ModelSpec spec = spec_for(dataset, a);
    spec.self_loops = false;
    spec.degree_norm = DegreeNorm::right;
    spec.lambda = a == Architecture::gin ? 0.1f : 0;
    const Model model = make_model(spec, 3);
    const Predictions wide = infer(context, dataset, model), half = infer(context, dataset, model, Dtype::f16);
    for (std::size_t c = 0; c < 2; ++c)
      EXPECT_NEAR(half.scores.span<float>()[c], wide.scores.span<float>()[c],
                  1e-2 * (1 + std::fabs(wide.scores.span<float>()[c])))
          << name(a);
  }
}

TEST(nn_training, finds_gradients_in_f16_that_overflowed_whatever_pass_they_came_through) {
  const Dataset dataset = small_dataset(300, 8, 3, false, false, 46);
  for (const Architecture a :
       {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat, Architecture::gatv2}) {
    ModelSpec spec = spec_for(dataset, a);
    spec.layers = 3;
    TrainOptions options = few_epochs(1);
    options.dtype = Dtype::f16;
    Context context = Context::cpu();
    const Model model = make_model(spec, 3);
    nn::Trainer trainer(context, dataset, model, options);
    nn::StepState state = trainer.state();
    state.loss_scale = 1e9f;
    trainer.set_state(state);
    trainer.epoch(false);
    EXPECT_EQ(trainer.state().applied, 0) << name(a);
    EXPECT_EQ(trainer.state().loss_scale, 5e8f) << name(a);
    Model after = model.clone();
    trainer.parameters().copy_to(after, trainer.parameters().values(), nullptr);
    for (std::size_t p = 0; p < model.parameters.size(); ++p)
      EXPECT_TRUE(bitwise_equal(after.parameters[p].value, model.parameters[p].value)) << name(a);
  }
}

TEST(nn_training, in_f16_learns_where_gradients_are_too_large_even_without_a_scale) {
  Context context = Context::cpu();
  expect_learning_from_gradients_beyond_f16(context, 300);
}

TEST(nn_training, halves_the_loss_scale_no_further_than_gradients_could_need) {
  nn::StepState state;
  nn::SplitSums sums, total;
  nn::EndStepArgs args;
  args.state = &state;
  args.sums = &sums;
  args.total = &total;
  args.ends_epoch = false;
  args.scales = true;
  args.least_scale = 0.3f;
  state.loss_scale = 2;
  const auto after = [&](int overflows) {
    for (int step = 0; step < overflows; ++step) {
      state.overflow = 1;
      nn::EndStep{args}([](auto&&...) {});
    }
    return state.loss_scale;
  };
  EXPECT_EQ(after(1), 1.0f);
  EXPECT_EQ(after(100), 0.3f);
  EXPECT_EQ(state.skipped, 101);
  EXPECT_EQ(state.applied, 0);
  state.stopped = 1;
  after(1);
  EXPECT_EQ(state.skipped, 101) << "after the end";
  EXPECT_EQ(nn::smallest_loss_scale(1.0 / 1024), 0x1p-12f);
  EXPECT_EQ(nn::smallest_loss_scale(1e-9), 1.0f) << "gradients of logits are as small as f16 has numbers";
  EXPECT_EQ(nn::smallest_loss_scale(1e3), 0x1p-24f);
}

TEST(nn_training, refuses_a_model_whose_tensors_are_not_its_specs) {
  const Dataset dataset = small_dataset(30, 5, 3, false, false, 47);
  ModelSpec spec = spec_for(dataset, Architecture::gcn);
  spec.norm = LayerNorm::layer;
  Context context = Context::cpu();
  Model model = make_model(spec, 1);
  model.spec.norm = LayerNorm::none;
  expect_refused([&] { infer(context, dataset, model); }, "tensors");
  model = make_model(spec, 1);
  model.parameters[0].value = Tensor::zeros(Shape(5, 7), Dtype::f32);
  expect_refused([&] { train(context, dataset, std::move(model), few_epochs(1)); }, "layers.0.weight");
}

TEST(nn_training, refuses_what_it_cannot_learn_from) {
  Context context = Context::cpu();
  const auto refused = [&](const std::function<void(Dataset&, ModelSpec&, TrainOptions&)>& change, const char* word) {
    Dataset dataset = small_dataset(30, 5, 3, false, false, 44);
    ModelSpec spec = spec_for(dataset, Architecture::gcn);
    TrainOptions options = few_epochs(2);
    Model model = make_model(spec, 1);
    change(dataset, model.spec, options);
    expect_refused([&] { train(context, dataset, std::move(model), options); }, word);
  };
  refused([](Dataset& d, ModelSpec&, TrainOptions&) { d.labels = {}; }, "labels");
  refused([](Dataset& d, ModelSpec&, TrainOptions&) { d.train = {}; }, "training split");
  refused([](Dataset& d, ModelSpec&, TrainOptions&) { d.features = {}; }, "features");
  refused([](Dataset& d, ModelSpec&, TrainOptions&) { d.features.span<float>()[7] = NAN; }, "node 1, feature 2");
  refused([](Dataset& d, ModelSpec&, TrainOptions&) { d.labels.span<std::int32_t>()[4] = 3; }, "label of node 4 is 3");
  refused([](Dataset& d, ModelSpec&, TrainOptions&) { d.classes = 4; }, "classes");
  refused([](Dataset&, ModelSpec& s, TrainOptions&) { s.inputs = 6; }, "features");
  refused([](Dataset&, ModelSpec& s, TrainOptions&) { s.dropout = 1; }, "dropout");
  refused([](Dataset&, ModelSpec&, TrainOptions& o) { o.epochs = 0; }, "epochs");
  refused([](Dataset&, ModelSpec&, TrainOptions& o) { o.lr = NAN; }, "lr");
  refused([](Dataset&, ModelSpec&, TrainOptions& o) { o.resume = true; }, "checkpoint");
}

}  // namespace
}  // namespace weft::test
