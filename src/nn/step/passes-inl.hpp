// The passes of a step over any backend: which body, over how much.
#pragma once

#include "core/loops/with_storage.hpp"
#include "nn/step/bodies.hpp"
#include "nn/step/loss_bodies.hpp"

namespace weft::nn {

template <class Loops>
void run_on(const Loops& on, const LossArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.fold_groups(args.rows, args.classes, "losses", LossRow<T>{args}, args.scratch, args.sums);
  });
}
template <class Loops>
void run_on(const Loops& on, const FindOverflowArgs& args) {
  if constexpr (Loops::has_f64)
    if (args.dtype == Dtype::f64) return on.each(args.count, "looking for overflow", FindOverflow<double>{args});
  on.each(args.count, "looking for overflow", FindOverflow<float>{args});
}
template <class Loops>
void run_on(const Loops& on, const OptimiseArgs& args) {
  with_storage(on, args.dtype,
               [&]<class T>() { on.each_with_common(args.count, "a step of the optimiser", Optimise<T>{args}); });
}
template <class Loops>
void run_on(const Loops& on, const EndStepArgs& args) {
  on.alone("ending a step", EndStep{args});
}
template <class Loops>
void run_on(const Loops& on, const EndEvaluationArgs& args) {
  on.alone("judging an epoch", EndEvaluation{args});
}
template <class Loops>
void run_on(const Loops& on, const KeepBestArgs& args) {
  on.each(args.words, "keeping the best parameters", KeepBest{args});
}

}  // namespace weft::nn
