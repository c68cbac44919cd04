// Losses of a row of logits, shared by a team of lanes, and the sums they add up to.
#pragma once

#include "core/loops/value.hpp"
#include "nn/step/passes.hpp"

namespace weft::nn {

template <class T>
struct LossRow {
  using Acc = AccumulatorOf<T>;
  using Sums = SplitSums;
  static constexpr int groups = num_splits;
  LossArgs args;

  WEFT_ANYWHERE int group_of(std::int64_t row) const { return args.split[args.node(row)]; }
  /// What the team adds to the sums of the row's split; every lane writes its part of the gradient. A team holds up to
  /// Team::held logits a lane in registers; rows of more are read again.
  template <class Team>
  WEFT_ANYWHERE SplitSums operator()(const Team& team, std::int64_t row) const {
    const Acc* const logits = static_cast<const Acc*>(args.logits) + row * args.stride;
    T* const grad = args.grad != nullptr ? static_cast<T*>(args.grad) + row * args.stride : nullptr;
    const std::int64_t node = args.node(row);
    const std::uint8_t split = args.split[node];
    const bool counts = split != 0 && (args.labels == nullptr || args.labels[node] >= 0);
    const bool trains = counts && split == 1;  // others' gradients are 0, and they do not count beside them
    if (grad != nullptr)
      for (std::int64_t c = team.lane() + (trains ? args.classes : 0); c < args.stride; c += team.lanes())
        grad[c] = narrow<T>(0);
    if (!counts || (grad != nullptr && !trains)) return {};
    // Acc before it meets the small weight: the product of both is what half precision can hold.
    const double weight = args.row_weights != nullptr ? static_cast<double>(args.row_weights[row]) : 1;
    const auto factor = static_cast<Acc>(weight * args.weight * static_cast<double>(args.state->loss_scale));
    SplitSums sums = of_row(team, node, logits, grad, factor);
    sums.loss *= weight;
    return sums;
  }

 private:
  template <class Team>
  WEFT_ANYWHERE SplitSums of_row(const Team& team, std::int64_t node, const Acc* logits, T* grad, Acc factor) const {
    if (args.labels == nullptr) return several_labels(team, node, logits, grad, factor);
    if constexpr (Team::held > 0)
      if (args.classes <= Team::held * team.lanes())
        return one_label<Team::held>(team, args.labels[node], logits, grad, factor);
    return one_label<0>(team, args.labels[node], logits, grad, factor);
  }
  /// f(c, k) for this lane's classes, the k-th of which is c; k is known when this is compiled where Held is not 0.
  template <int Held, class Team, class F>
  WEFT_ANYWHERE void each_class(const Team& team, const F& f) const {
    if constexpr (Held > 0) {
      WEFT_UNROLLED
      for (int k = 0; k < Held; ++k) {
        const std::int64_t c = team.lane() + k * team.lanes();
        if (c < args.classes) f(c, k);
      }
    } else {
      for (std::int64_t c = team.lane(); c < args.classes; c += team.lanes()) f(c, 0);
    }
  }
  template <int Held, class Team>
  WEFT_ANYWHERE SplitSums one_label(const Team& team, std::int32_t label, const Acc* logits, T* grad,
                                    Acc factor) const {
    Acc held[Held > 0 ? Held : 1];
    Acc best = -INFINITY, sum = 0, wanted = 0;
    std::int64_t predicted = args.classes;
    each_class<Held>(team, [&](std::int64_t c, int k) {
      const Acc z = logits[c];
      if constexpr (Held > 0) held[k] = z;
      if (c == label) wanted = z;  // gradients may take the place of logits
      if (z > best) {
        best = z;
        predicted = c;
      }
    });
    const Acc top = team.max(best);
    predicted = team.min(best == top ? predicted : args.classes);
    const auto weight = [&](std::int64_t c, int k) {
      if constexpr (Held > 0) return held[k];
      return exponential(logits[c] - top);
    };
    each_class<Held>(team, [&](std::int64_t c, int k) {
      if constexpr (Held > 0) held[k] = exponential(held[k] - top);
      sum += weight(c, k);
    });
    sum = team.sum(sum);
    wanted = team.sum(wanted);
    if (grad != nullptr) {
      const Acc per = factor / sum;
      each_class<Held>(team, [&](std::int64_t c, int k) {
        grad[c] = narrow<T>(per * weight(c, k) - (c == label ? factor : Acc(0)));
      });
    }
    const bool right = predicted == label;
    return {static_cast<double>(logarithm(sum) + top - wanted), right ? 1.0 : 0.0, right ? 0.0 : 1.0,
            right ? 0.0 : 1.0};
  }
  template <class Team>
  WEFT_ANYWHERE SplitSums several_labels(const Team& team, std::int64_t node, const Acc* logits, T* grad,
                                         Acc factor) const {
    const float* const targets = args.targets + node * args.classes;
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
