// What ends a step: the optimiser's share of it for one parameter, and the bookkeeping of one thread.
#pragma once

#include "core/loops/value.hpp"
#include "nn/step/passes.hpp"

namespace weft::nn {

template <class Acc>
struct FindOverflow {
  FindOverflowArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const Acc g = static_cast<const Acc*>(args.grads)[i];
    if (g - g == 0) return;
#ifdef __CUDA_ARCH__
    args.state->overflow = 1;  // all write the same
#else
    __atomic_store_n(&args.state->overflow, 1, __ATOMIC_RELAXED);
#endif
  }
};

template <class T>
struct Optimise {
  using Acc = AccumulatorOf<T>;
  OptimiseArgs args;
  /// The same for all parameters, computed once per thread.
  struct Common {
    double rate, first_correction, second_correction;
    Acc unscale;
  };
  WEFT_ANYWHERE Common common() const {
    const StepState& state = *args.state;
    const auto t = static_cast<double>(state.applied + 1);
    return {args.rate.at(state.epoch), 1 / (1 - pow(args.beta1, t)), 1 / (1 - pow(args.beta2, t)),
            1 / static_cast<Acc>(state.loss_scale)};
  }
  WEFT_ANYWHERE bool applies() const { return args.state->overflow == 0 && args.state->stopped == 0; }

  WEFT_ANYWHERE void operator()(std::int64_t i, const Common& c) const {
    Acc& parameter = static_cast<Acc*>(args.parameters)[i];
    Acc grad = static_cast<const Acc*>(args.grads)[i] * c.unscale;
    const Acc decay = args.decays[i] != 0 ? static_cast<Acc>(args.weight_decay) : Acc(0);
    const auto rate = static_cast<Acc>(c.rate);
    Acc& first = static_cast<Acc*>(args.first)[i];
    if (args.optimiser == Optimiser::adamw) {
      parameter -= rate * decay * parameter;
    } else {
      grad += decay * parameter;
    }
    if (args.optimiser == Optimiser::sgd) {
      first = static_cast<Acc>(args.momentum) * first + grad;
      parameter -= rate * first;
    } else {
      Acc& second = static_cast<Acc*>(args.second)[i];
      const auto b1 = static_cast<Acc>(args.beta1), b2 = static_cast<Acc>(args.beta2);
      first = b1 * first + (1 - b1) * grad;
      second = b2 * second + (1 - b2) * grad * grad;
      const Acc mean = first * static_cast<Acc>(c.first_correction);
      const Acc spread = static_cast<Acc>(sqrt(second * static_cast<Acc>(c.second_correction)));
      parameter -= rate * mean / (spread + static_cast<Acc>(args.epsilon));
    }
    if (args.stored != nullptr) static_cast<T*>(args.stored)[i] = narrow<T>(parameter);
  }
};

/// `publish(done, epochs)` makes what was written before it visible to the host, and then the number.
struct EndStep {
  EndStepArgs args;
  template <class Publish>
  WEFT_ANYWHERE void operator()(const Publish& publish) const {
    StepState& state = *args.state;
    SplitSums& total = *args.total;
    total.add({args.sums[0].loss * args.weight, args.sums[0].right, args.sums[0].wrong, args.sums[0].missed});
    if (args.ends_epoch) {
      Published& out = args.published[state.epoch];
      out.loss = total.loss;
      out.train_accuracy = total.accuracy();
      out.lr = args.rate.at(state.epoch);
      out.loss_scale = static_cast<double>(state.loss_scale);
      out.evaluated = 0;
      out.stopped = state.stopped;
      out.best_epoch = state.best_epoch;
      total = {};
    }
    if (state.overflow == 0) {
      ++state.applied;
    } else if (state.stopped == 0) {
      ++state.skipped;
    }
    if (args.scales) {
      if (state.overflow != 0) {
        state.loss_scale = state.loss_scale > 2 * args.least_scale ? state.loss_scale / 2 : args.least_scale;
        state.good_steps = 0;
      } else if (++state.good_steps >= steps_between_doublings) {
        state.loss_scale = state.loss_scale < largest_loss_scale ? state.loss_scale * 2 : state.loss_scale;
        state.good_steps = 0;
      }
    }
    state.overflow = 0;
    ++state.step;
    if (!args.ends_epoch) return;
    ++state.epoch;
    if (!args.evaluated) publish(args.done, state.epoch);
  }
};

struct EndEvaluation {
  EndEvaluationArgs args;
  template <class Publish>
  WEFT_ANYWHERE void operator()(const Publish& publish) const {
    StepState& state = *args.state;
    Published& out = args.published[state.epoch - 1];
    const SplitSums &val = args.sums[1], &test = args.sums[2];
    const double loss = val.loss * args.val_weight, accuracy = val.accuracy();
    out.train_accuracy = args.sums[0].accuracy();
    out.val_accuracy = accuracy;
    out.val_loss = loss;
    out.test_accuracy = test.accuracy();
    out.evaluated = 1;
    state.improved = 0;
    if (state.stopped == 0) {
      const bool by_accuracy = args.best_by == BestBy::accuracy;
      const bool first = state.best_accuracy < 0 || state.best_loss != state.best_loss;  // NaN is no good one
      const bool lower = loss < state.best_loss || (first && (loss == loss || state.best_accuracy < 0));
      const bool better =
          !args.has_val ||
          (by_accuracy ? accuracy > state.best_accuracy || (accuracy == state.best_accuracy && lower) : lower);
      if (better) {
        state.improved = 1;
        state.best_accuracy = accuracy;
        state.best_loss = loss;
        state.best_epoch = state.epoch;
      }
      state.since_best = state.epoch - state.best_epoch;
      if (args.patience > 0 && state.since_best >= args.patience) state.stopped = 1;
    }
    out.stopped = state.stopped;
    out.best_epoch = state.best_epoch;
    publish(args.done, state.epoch);
  }
};

struct KeepBest {
  KeepBestArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    if (args.state->improved != 0)
      static_cast<std::uint32_t*>(args.to)[i] = static_cast<const std::uint32_t*>(args.from)[i];
  }
};

}  // namespace weft::nn
