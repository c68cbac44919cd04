#include "tune/logistic.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft::tool {
namespace {

using Vector = std::vector<double>;

double sigmoid(double z) { return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }
/// log(1 + exp(z)) without overflow.
double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

/// Features of mean 0 and deviation 1, and a last one that is 1: its weight is the intercept.
struct Standardised {
  std::size_t columns;       // features and the intercept
  Vector means, deviations;  // [features]; a constant feature has deviation 1, and so is 0 throughout
  Vector values;             // [samples, columns]

  explicit Standardised(const LabelledSamples& samples)
      : columns(samples.num_features() + 1), means(samples.num_features()), deviations(samples.num_features(), 1) {
    const auto count = static_cast<double>(samples.size());
    for (std::size_t f = 0; f + 1 < columns; ++f) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < samples.size(); ++i) sum += samples.features(i)[f];
      means[f] = sum / count;
      for (std::size_t i = 0; i < samples.size(); ++i) squares += std::pow(samples.features(i)[f] - means[f], 2);
      const double deviation = std::sqrt(squares / count);
      if (deviation > 1e-12 * std::abs(means[f])) deviations[f] = deviation;
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (std::size_t f = 0; f + 1 < columns; ++f)
        values.push_back((samples.features(i)[f] - means[f]) / deviations[f]);
      values.push_back(1);
    }
  }

  double dot(std::size_t sample, const Vector& weights) const {
    double sum = 0;
    for (std::size_t f = 0; f < columns; ++f) sum += values[sample * columns + f] * weights[f];
    return sum;
  }
};

double loss(const Standardised& x, const LabelledSamples& samples, const Vector& weights, double ridge) {
  double sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double z = x.dot(i, weights);
    sum += softplus(samples.yes(i) ? -z : z);
  }
  for (const double w : weights) sum += ridge / 2 * w * w;
  return sum;
}

/// Solves a x = b in place of b, by the Cholesky factors of a, which is symmetric and positive definite.
void solve(Vector& a, Vector& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k)
      for (std::size_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    const double root = std::sqrt(a[j * n + j]);
    for (std::size_t i = j; i < n; ++i) a[i * n + j] /= root;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

/// The step from `weights` to the minimum of the loss's parabola there, negated.
Vector newton_step(const Standardised& x, const LabelledSamples& samples, const Vector& weights, double ridge) {
  const std::size_t n = x.columns;
  Vector gradient(n), curvature(n * n);
  for (std::size_t f = 0; f < n; ++f) {
    gradient[f] = ridge * weights[f];
    curvature[f * n + f] = ridge;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double* row = &x.values[i * n];
    const double p = sigmoid(x.dot(i, weights)), error = p - (samples.yes(i) ? 1 : 0);
    for (std::size_t f = 0; f < n; ++f) {
      gradient[f] += error * row[f];
      for (std::size_t g = 0; g <= f; ++g) curvature[f * n + g] += p * (1 - p) * row[f] * row[g];
    }
  }
  solve(curvature, gradient);  // which reads the lower triangle alone
  return gradient;
}

}  // namespace

void LabelledSamples::add(std::span<const double> features, bool yes) {
  WEFT_CHECK(features.size() == features_, internal, "a sample has {} features: expected {}", features.size(),
             features_);
  for (const double value : features)
    WEFT_CHECK(std::isfinite(value), invalid_argument, "a sample's feature is {}: expected a finite number", value);
  values_.insert(values_.end(), features.begin(), features.end());
  labels_.push_back(yes ? 1 : 0);
}

LogisticModel LogisticModel::fit(const LabelledSamples& samples, const LogisticOptions& options) {
  WEFT_CHECK(samples.size() > 0, invalid_argument, "no samples: expected at least one to fit a model to");
  WEFT_CHECK(options.ridge > 0, invalid_argument,
             "ridge is {}: expected a positive number, without which weights of samples that a plane parts have no end",
             options.ridge);
  const Standardised x(samples);
  LogisticModel model;
  Vector weights(x.columns);
  double before = loss(x, samples, weights, options.ridge);
  while (model.steps_ < options.most_steps) {
    ++model.steps_;
    const Vector step = newton_step(x, samples, weights, options.ridge);
    // Far from the minimum a whole step may go too far; the loss is convex, so a shorter one never does.
    Vector next(x.columns);
    double after = before;
    for (double share = 1; share > 1e-12; share /= 2) {
      for (std::size_t f = 0; f < x.columns; ++f) next[f] = weights[f] - share * step[f];
      after = loss(x, samples, next, options.ridge);
      if (after <= before) break;
    }
    if (after > before) break;  // no step lowers the loss: rounding is all that is left
    weights = next;
    const double gained = before - after;
    before = after;
    if (gained <= options.tolerance * before) break;
  }
  model.intercept_ = weights.back();
  for (std::size_t f = 0; f + 1 < x.columns; ++f) {
    model.weights_.push_back(weights[f] / x.deviations[f]);
    model.intercept_ -= model.weights_[f] * x.means[f];
  }
  return model;
}

double LogisticModel::log_odds(std::span<const double> features) const {
  double sum = intercept_;
  for (std::size_t f = 0; f < weights_.size(); ++f) sum += weights_[f] * features[f];
  return sum;
}

double LogisticModel::probability(std::span<const double> features) const { return sigmoid(log_odds(features)); }

void YesNoConfusion::add(bool yes, bool predicted) {
  ++(yes ? (predicted ? right_yes : wrong_no) : (predicted ? wrong_yes : right_no));
}

double YesNoConfusion::accuracy() const {
  return total() > 0 ? static_cast<double>(right_yes + right_no) / static_cast<double>(total()) : 0;
}

YesNoConfusion confusion_of(const LogisticModel& model, const LabelledSamples& samples) {
  YesNoConfusion confusion;
  for (std::size_t i = 0; i < samples.size(); ++i) confusion.add(samples.yes(i), model.predict(samples.features(i)));
  return confusion;
}

}  // namespace weft::tool
