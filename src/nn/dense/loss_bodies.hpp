// Losses of a row of logits, shared by a team of lanes, and the sums they add up to.
#pragma once

#include "nn/dense/passes.hpp"
#include "nn/dense/value.hpp"

namespace weft::nn {

template <class T>
struct LossRow {
  using Acc = AccumulatorOf<T>;
  LossArgs args;

  /// What lane 0 of the team adds to the sums of the row's split; every lane writes its part of the gradient.
  template <class Team>
  WEFT_ANYWHERE SplitSums operator()(const Team& team, std::int64_t row) const {
    const Acc* const logits = static_cast<const Acc*>(args.logits) + row * args.classes;
    T* const grad = args.grad != nullptr ? static_cast<T*>(args.grad) + row * args.classes : nullptr;
    const std::uint8_t split = args.split[row];
    if (split == 0 || (args.labels != nullptr && args.labels[row] < 0)) {
      if (grad != nullptr)
        for (std::int64_t c = team.lane(); c < args.classes; c += team.lanes()) grad[c] = narrow<T>(0);
      return {};
    }
    // Acc before it meets the small weight: the product of both is what half precision can hold.
    const Acc factor =
        split == 1 ? static_cast<Acc>(args.weight * static_cast<double>(args.state->loss_scale)) : Acc(0);
    return args.labels != nullptr ? one_label(team, row, logits, grad, factor)
                                  : several_labels(team, row, logits, grad, factor);
  }

 private:
  template <class Team>
  WEFT_ANYWHERE SplitSums one_label(const Team& team, std::int64_t row, const Acc* logits, T* grad, Acc factor) const {
    const std::int32_t label = args.labels[row];
    Acc best = -INFINITY;
    std::int64_t predicted = 0;
    for (std::int64_t c = team.lane(); c < args.classes; c += team.lanes())
      if (logits[c] > best) {
        best = logits[c];
        predicted = c;
      }
    const Acc top = team.max(best);
    predicted = team.min(best == top ? predicted : args.classes);
    Acc sum = 0;
    for (std::int64_t c = team.lane(); c < args.classes; c += team.lanes()) sum += exponential(logits[c] - top);
    sum = team.sum(sum);
    if (grad != nullptr)
      for (std::int64_t c = team.lane(); c < args.classes; c += team.lanes())
        grad[c] = narrow<T>(factor * (exponential(logits[c] - top) / sum - (c == label ? Acc(1) : Acc(0))));
    const bool right = predicted == label;
    return {static_cast<double>(logarithm(sum) + top - logits[label]), right ? 1.0 : 0.0, right ? 0.0 : 1.0,
            right ? 0.0 : 1.0};
  }
  template <class Team>
  WEFT_ANYWHERE SplitSums several_labels(const Team& team, std::int64_t row, const Acc* logits, T* grad,
                                         Acc factor) const {
    const float* const targets = args.targets + row * args.classes;
    SplitSums sums;
    for (std::int64_t c = team.lane(); c < args.classes; c += team.lanes()) {
      const Acc z = logits[c];
      const bool known = targets[c] == targets[c], wanted = targets[c] > 0.5f;
      const Acc size = z < 0 ? -z : z, away = exponential(-size);  // of exp(-|z|), which does not overflow
      if (grad != nullptr) {
        const Acc p = z < 0 ? away / (1 + away) : 1 / (1 + away);
        grad[c] = narrow<T>(known ? factor * (p - (wanted ? Acc(1) : Acc(0))) : Acc(0));
      }
      if (!known) continue;
      sums.loss += (z > 0 ? z : Acc(0)) - (wanted ? z : Acc(0)) + logarithm(1 + away);
      sums.right += z > 0 && wanted ? 1 : 0;
      sums.wrong += z > 0 && !wanted ? 1 : 0;
      sums.missed += !(z > 0) && wanted ? 1 : 0;
    }
    return {team.sum(sums.loss), team.sum(sums.right), team.sum(sums.wrong), team.sum(sums.missed)};
  }
};

}  // namespace weft::nn
