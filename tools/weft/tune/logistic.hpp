// Logistic regression: the log odds of yes over no are linear in a sample's features. Fitted by Newton's method in
// double precision, in the order of the samples: the same model from the same samples, always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::tool {

/// Samples with as many features each, and whether each is a yes.
class LabelledSamples {
 public:
  explicit LabelledSamples(std::size_t features) : features_(features) {}

  void add(std::span<const double> features, bool yes);
  std::size_t size() const { return labels_.size(); }
  std::size_t num_features() const { return features_; }
  std::span<const double> features(std::size_t i) const { return {&values_[i * features_], features_}; }
  bool yes(std::size_t i) const { return labels_[i] != 0; }

 private:
  std::size_t features_;
  std::vector<double> values_;  // [samples, features]
  std::vector<char> labels_;
};

struct LogisticOptions {
  /// Half of it times the squared weights and intercept, of standardised features, is added to the loss. It keeps
  /// weights finite where a plane parts the samples, and where all have one label.
  double ridge = 1e-2;
  double tolerance = 1e-12;  // of the loss, in parts of it
  int most_steps = 200;
};

class LogisticModel {
 public:
  /// Features are shifted and scaled to mean 0 and deviation 1 first; weights are given of the features as they are.
  /// Of at least one sample, finite.
  static LogisticModel fit(const LabelledSamples& samples, const LogisticOptions& options = {});

  double intercept() const { return intercept_; }
  std::span<const double> weights() const { return weights_; }
  /// Newton steps that fitting took.
  int steps() const { return steps_; }

  double log_odds(std::span<const double> features) const;
  /// Of a yes.
  double probability(std::span<const double> features) const;
  bool predict(std::span<const double> features) const { return log_odds(features) > 0; }

 private:
  double intercept_ = 0;
  std::vector<double> weights_;
  int steps_ = 0;
};

/// Predictions by what they should have been.
struct YesNoConfusion {
  std::int64_t right_yes = 0, wrong_yes = 0, wrong_no = 0, right_no = 0;

  void add(bool yes, bool predicted);
  std::int64_t total() const { return right_yes + wrong_yes + wrong_no + right_no; }
  /// Share of right ones; 0 of none.
  double accuracy() const;
  friend bool operator==(const YesNoConfusion&, const YesNoConfusion&) = default;
};
YesNoConfusion confusion_of(const LogisticModel& model, const LabelledSamples& samples);

}  // namespace weft::tool
