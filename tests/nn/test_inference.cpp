// What inference gives besides classes: the representation of the last hidden layer, and probabilities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/network_case.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

/// The last layer of a model as a model of its own, which reads embeddings as features.
Model last_layer_of(const Model& model, std::int64_t width) {
  ModelSpec spec = model.spec;
  spec.inputs = width;
  spec.layers = 1;
  spec.normalise_inputs = false;
  Model last = make_model(spec, 0);
  const std::string from = "layers." + std::to_string(model.spec.layers - 1) + ".", to = "layers.0.";
  for (Parameter& parameter : last.parameters) {
    const std::string wanted = from + parameter.name.substr(to.size());
    const auto at = std::ranges::find(model.parameters, wanted, &Parameter::name);
    if (at == model.parameters.end()) throw std::runtime_error("no parameter " + wanted);
    std::ranges::copy(at->value.span<float>(), parameter.value.span<float>().begin());
  }
  return last;
}

TEST(inference, embeddings_are_what_the_last_layer_makes_the_scores_of) {
  Context context = Context::cpu(2);
  for (const GradientCase& c : gradient_cases()) {
    if (c.several_labels) continue;
    SCOPED_TRACE(c.name);
    Dataset dataset = small_dataset(150, 9, 4, c.sparse, false, 61);
    ModelSpec spec = c.spec(dataset);
    if (spec.layers < 2) continue;
    const Model model = make_model(spec, 5);
    const Predictions p = infer(context, dataset, model, InferOptions{.embeddings = true});
    const std::int64_t width =
        nn::attends(spec.architecture) && !spec.mean_heads ? spec.hidden * spec.heads : spec.hidden;
    ASSERT_EQ(to_string(p.embeddings.shape()), to_string(Shape(150, width)));
    ASSERT_EQ(p.embeddings.dtype(), Dtype::f32);
    Dataset hidden = small_dataset(150, 9, 4, false, false, 61);
    hidden.features = p.embeddings.clone();
    const Predictions again = infer(context, hidden, last_layer_of(model, width));
    for (std::size_t i = 0; i < p.scores.span<float>().size(); ++i) {
      const float score = p.scores.span<float>()[i];
      ASSERT_NEAR(again.scores.span<float>()[i], score, 1e-4f * (1 + std::fabs(score))) << i;
    }
  }
}

TEST(inference, embeddings_cost_the_scores_not_a_bit_and_are_absent_unless_asked_for) {
  Context context = Context::cpu(2);
  const Dataset dataset = small_dataset(150, 9, 4, false, false, 62);
  const Model model = make_model(spec_for(dataset, Architecture::gcn), 5);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64}) {
    const Predictions with = infer(context, dataset, model, {dtype, true}),
                      without = infer(context, dataset, model, dtype);
    EXPECT_FALSE(static_cast<bool>(without.embeddings));
    EXPECT_EQ(with.embeddings.dtype(), Dtype::f32);
    EXPECT_TRUE(std::ranges::equal(with.scores.span<float>(), without.scores.span<float>())) << name(dtype);
    // After the activation, which is a ReLU here.
    EXPECT_TRUE(std::ranges::all_of(with.embeddings.span<float>(), [](float value) { return value >= 0; }));
  }
}

TEST(inference, a_model_without_a_hidden_layer_has_no_embeddings) {
  Context context = Context::cpu(1);
  const Dataset dataset = small_dataset(20, 9, 4, false, false, 63);
  ModelSpec spec = spec_for(dataset, Architecture::gcn);
  spec.layers = 1;
  const Model model = make_model(spec, 5);
  EXPECT_EQ(infer(context, dataset, model).scores.shape().rows, 20);
  expect_refused([&] { infer(context, dataset, model, InferOptions{.embeddings = true}); }, "1 layer");
}

Tensor scores_of(std::int64_t rows, const std::vector<float>& values) {
  Tensor scores = Tensor::empty(Shape(rows, static_cast<std::int64_t>(values.size()) / rows), Dtype::f32);
  std::ranges::copy(values, scores.span<float>().begin());
  return scores;
}

TEST(inference, probabilities_of_one_label_are_the_softmax_of_a_row) {
  const float huge = std::numeric_limits<float>::max();
  const Tensor p =
      probabilities(scores_of(4, {0, std::log(2.0f), 0, 1e4f, -1e4f, 0, huge, 0, -huge, -90, -90, -90}), false);
  const std::vector<float> wanted{0.25f, 0.5f, 0.25f, 1, 0, 0, 1, 0, 0, 1 / 3.0f, 1 / 3.0f, 1 / 3.0f};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(p.span<float>()[i], wanted[i], 1e-6f) << i;
}

TEST(inference, probabilities_of_several_labels_are_sigmoids) {
  const float huge = std::numeric_limits<float>::max();
  const Tensor p = probabilities(scores_of(2, {0, std::log(3.0f), -std::log(3.0f), huge, -huge, -20}), true);
  const std::vector<float> wanted{0.5f, 0.75f, 0.25f, 1, 0, 2.0611537e-9f};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(p.span<float>()[i], wanted[i], 1e-6f * wanted[i]) << i;
  EXPECT_THROW(probabilities(Tensor::empty(Shape(2, 2), Dtype::f64), true), Error);
}

}  // namespace
}  // namespace weft::test
