// Logistic regression against solutions that are known by other means: closed forms, equations of one unknown, and the
// conditions that hold at the minimum.
#include "tune/logistic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "support/errors.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// Where a function that rises from a negative value to a positive one is zero.
double root_of(const std::function<double(double)>& rising, double low, double high) {
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (rising(middle) < 0 ? low : high) = middle;
  }
  return low;
}

LabelledSamples of_one_feature(std::initializer_list<std::pair<double, bool>> samples) {
  LabelledSamples labelled(1);
  for (const auto& [value, yes] : samples) labelled.add(std::array{value}, yes);
  return labelled;
}

/// Two features, the label by chance: no plane parts them.
LabelledSamples noisy(std::uint32_t seed, int count) {
  std::mt19937 random(seed);  // whose numbers the standard fixes; distributions it does not
  const auto unit = [&] { return static_cast<double>(random()) / 4294967296.0; };
  LabelledSamples samples(2);
  for (int i = 0; i < count; ++i) {
    const std::array features{unit() * 8 - 2, unit() * 100};
    samples.add(features, unit() < sigmoid(1.5 * features[0] - 0.04 * features[1] - 0.5));
  }
  return samples;
}

TEST(logistic, parts_two_samples_as_far_as_the_ridge_allows) {
  // Mean 0 and deviation 1 as they are. The intercept is 0 by symmetry, and the gradient of the weight
  // ridge * w - 2 * sigmoid(-w) is zero at the minimum.
  const LabelledSamples samples = of_one_feature({{-1, false}, {1, true}});
  for (const double ridge : {1.0, 1e-2, 1e-6}) {
    const LogisticModel model = LogisticModel::fit(samples, {.ridge = ridge});
    const double expected = root_of([&](double w) { return ridge * w - 2 * sigmoid(-w); }, 0, 50);
    EXPECT_NEAR(model.weights()[0], expected, 1e-5 * expected) << "ridge " << ridge;
    EXPECT_NEAR(model.intercept(), 0, 1e-9);
    EXPECT_EQ(confusion_of(model, samples), (YesNoConfusion{1, 0, 0, 1}));
  }
}

TEST(logistic, gives_the_log_odds_of_a_table_of_two_by_two) {
  // 2 of 10 are yes at 0 and 9 of 12 at 1: a model of two parameters fits both shares.
  LabelledSamples samples(1);
  for (int i = 0; i < 10; ++i) samples.add(std::array{0.0}, i < 2);
  for (int i = 0; i < 12; ++i) samples.add(std::array{1.0}, i < 9);
  const LogisticModel model = LogisticModel::fit(samples, {.ridge = 1e-10});
  const double at_0 = std::log(2.0 / 8), at_1 = std::log(9.0 / 3);
  EXPECT_NEAR(model.intercept(), at_0, 1e-7);
  EXPECT_NEAR(model.weights()[0], at_1 - at_0, 1e-7);
  EXPECT_NEAR(model.probability(std::array{0.0}), 0.2, 1e-8);
  EXPECT_NEAR(model.probability(std::array{1.0}), 0.75, 1e-8);
  const YesNoConfusion confusion = confusion_of(model, samples);
  EXPECT_EQ(confusion, (YesNoConfusion{.right_yes = 9, .wrong_yes = 3, .wrong_no = 2, .right_no = 8}));
  EXPECT_DOUBLE_EQ(confusion.accuracy(), 17.0 / 22);
}

TEST(logistic, is_where_errors_and_their_products_with_features_add_up_to_nothing) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    const LabelledSamples samples = noisy(seed, 400);
    const LogisticModel model = LogisticModel::fit(samples, {.ridge = 1e-9});
    double errors = 0;
    std::array<double, 2> by_feature{};
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto x = samples.features(i);
      const double z = model.intercept() + model.weights()[0] * x[0] + model.weights()[1] * x[1];
      const double error = sigmoid(z) - (samples.yes(i) ? 1 : 0);
      errors += error;
      for (std::size_t f = 0; f < 2; ++f) by_feature[f] += error * x[f];
    }
    EXPECT_NEAR(errors, 0, 1e-5) << "seed " << seed;
    EXPECT_NEAR(by_feature[0], 0, 1e-5) << "seed " << seed;
    EXPECT_NEAR(by_feature[1], 0, 1e-3) << "seed " << seed;
    EXPECT_LE(model.steps(), 20) << "Newton's method converges in a few steps";
  }
}

TEST(logistic, finds_the_coefficients_that_the_labels_were_drawn_with) {
  const LogisticModel model = LogisticModel::fit(noisy(7, 20000));
  EXPECT_NEAR(model.weights()[0], 1.5, 0.1);
  EXPECT_NEAR(model.weights()[1], -0.04, 0.003);
  EXPECT_NEAR(model.intercept(), -0.5, 0.15);
}

TEST(logistic, answers_one_label_with_a_finite_intercept) {
  // 40 times yes at two values: n * sigmoid(-b) = ridge * b, and nothing for the feature to explain.
  LabelledSamples samples(1);
  for (int i = 0; i < 40; ++i) samples.add(std::array{i % 2 == 0 ? 3.0 : 5.0}, true);
  const LogisticModel model = LogisticModel::fit(samples, {.ridge = 0.01});
  const double expected = root_of([](double b) { return 0.01 * b - 40 * sigmoid(-b); }, 0, 100);
  EXPECT_NEAR(model.intercept(), expected, 1e-4);
  EXPECT_NEAR(model.weights()[0], 0, 1e-9);
  EXPECT_TRUE(model.predict(std::array{-100.0}));
}

TEST(logistic, gives_a_feature_that_never_changes_no_weight) {
  LabelledSamples samples(2);
  for (int i = 0; i < 30; ++i) samples.add(std::array{static_cast<double>(i), 64.0}, i >= 12 && i != 20);
  const LogisticModel model = LogisticModel::fit(samples);
  EXPECT_EQ(model.weights()[1], 0);
  EXPECT_GT(model.weights()[0], 0);
}

TEST(logistic, does_not_care_in_which_unit_a_feature_is) {
  const LabelledSamples samples = noisy(11, 300);
  LabelledSamples scaled(2);
  for (std::size_t i = 0; i < samples.size(); ++i)
    scaled.add(std::array{1e6 + 1000 * samples.features(i)[0], samples.features(i)[1] / 512}, samples.yes(i));
  const LogisticModel one = LogisticModel::fit(samples), other = LogisticModel::fit(scaled);
  EXPECT_NEAR(other.weights()[0] * 1000, one.weights()[0], 1e-6);
  EXPECT_NEAR(other.weights()[1] / 512, one.weights()[1], 1e-6);
  EXPECT_EQ(confusion_of(one, samples), confusion_of(other, scaled));
}

TEST(logistic, is_the_same_to_the_bit_from_the_same_samples) {
  const LogisticModel one = LogisticModel::fit(noisy(5, 200)), other = LogisticModel::fit(noisy(5, 200));
  EXPECT_EQ(one.intercept(), other.intercept());
  EXPECT_EQ(one.weights()[0], other.weights()[0]);
  EXPECT_EQ(one.weights()[1], other.weights()[1]);
}

TEST(logistic, refuses_what_no_model_fits) {
  expect_refused([] { LogisticModel::fit(LabelledSamples(2)); }, "no samples");
  expect_refused([] { LogisticModel::fit(of_one_feature({{1, true}}), {.ridge = 0}); }, "ridge is 0");
  expect_refused([] { of_one_feature({{std::numeric_limits<double>::infinity(), true}}); }, "finite");
}

TEST(yes_no_confusion, of_nothing_has_no_accuracy) {
  EXPECT_EQ(YesNoConfusion{}.accuracy(), 0);
  EXPECT_EQ(YesNoConfusion{}.total(), 0);
}

}  // namespace
}  // namespace weft::test
