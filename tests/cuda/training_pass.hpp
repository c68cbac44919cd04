// One pass of training on either device, and how far apart they may be.
#pragma once

#include <cmath>

#include "core/device.hpp"
#include "cuda/gpu.hpp"
#include "nn/network_case.hpp"
#include "support/oracle.hpp"

namespace weft::test {

struct OwnContext {
  nn::cuda::OwnStream stream{gpu};
  Context context = Context::cuda(0, stream.get());
};

/// One training pass of a model in some storage type: the loss, and the gradients without the loss scale.
struct Pass {
  double loss;
  std::vector<std::vector<double>> gradients;
  Pass(Context& context, const Dataset& dataset, const Model& model, Dtype dtype, const SampleOptions& sample,
       std::optional<bool> fuse = {}) {
    TrainOptions options;
    options.fuse = fuse;
    options.epochs = 1;
    options.seed = 52;
    options.dtype = dtype;
    options.sample = sample;
    nn::Trainer trainer(context, dataset, model, options);
    nn::StepState state = trainer.state();
    state.loss_scale = dtype == Dtype::f16 ? 1024 : 1;
    trainer.set_state(state);
    loss = training_loss(trainer);
    Model copy = model.clone();
    trainer.parameters().copy_to(copy, trainer.parameters().grads(), context.stream());
    for (const Parameter& p : copy.parameters) {
      gradients.push_back(doubles(p.value));
      for (double& g : gradients.back()) g /= static_cast<double>(state.loss_scale);
    }
  }
  /// In the norm: single gradients are sums in which much cancels.
  double distance(const Pass& other, std::size_t p) const {
    double sum = 0;
    for (std::size_t i = 0; i < gradients[p].size(); ++i)
      sum += (gradients[p][i] - other.gradients[p][i]) * (gradients[p][i] - other.gradients[p][i]);
    return std::sqrt(sum);
  }
  double norm(std::size_t p) const {
    double sum = 0;
    for (const double g : gradients[p]) sum += g * g;
    return std::sqrt(sum);
  }
};

/// The loss and every gradient, in all storage types, against those of the CPU in float64. Attention's on batches in
/// f32 alone: weights of losses make some rows count for much, and in half precision scores' gradients, differences of
/// a row's values to their mean, are then all rounding where the values of a row are close.
inline void expect_gradients_of_the_cpu(const Dataset& dataset, const Model& model, const SampleOptions& sample,
                                        std::optional<bool> fuse = {}) {
  OwnContext own;
  Context cpu = Context::cpu();
  const Pass exact(cpu, dataset, model, Dtype::f64, sample);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const Pass there(own.context, dataset, model, dtype, sample, fuse), here(cpu, dataset, model, dtype, sample);
    const double tolerance = dtype == Dtype::f32 ? 2e-5 : dtype == Dtype::f16 ? 1e-2 : 8e-2;
    EXPECT_NEAR(there.loss, exact.loss, tolerance * std::fabs(exact.loss)) << name(dtype);
    const bool ill = sample.method != Sampling::none && nn::attends(model.spec.architecture) && dtype != Dtype::f32;
    for (std::size_t p = 0; p < model.parameters.size(); ++p) {
      for (const double g : there.gradients[p]) ASSERT_TRUE(std::isfinite(g)) << model.parameters[p].name;
      if (ill) continue;
      // A rounding that turns a hub's ReLU changes gradients by percents, wherever it happens: the CPU's own distance
      // in the same type counts. Scores' gradients cancel: of halves they carry more of it.
      const std::string& what = model.parameters[p].name;
      const bool of_scores = what.ends_with("source") || what.ends_with("destination");
      double least = dtype == Dtype::f32 ? 1e-4 : dtype == Dtype::f16 ? 0.01 : 0.08;
      if (of_scores && dtype != Dtype::f32) least *= 6;
      // Destinations' parts of scores cancel in a softmax: those of sources, made of the same terms, give the measure.
      const std::size_t measure = what.ends_with("destination") && dtype == Dtype::f32 ? p - 1 : p;
      EXPECT_LE(there.distance(exact, p), 2 * here.distance(exact, p) + least * exact.norm(measure) + 1e-7)
          << what << " " << name(dtype);
    }
  }
}

}  // namespace weft::test
