// The passes over any backend: which body, over how much.
#pragma once

#include "nn/dense/bodies.hpp"
#include "nn/dense/fold_bodies.hpp"
#include "nn/dense/loss_bodies.hpp"
#include "nn/dense/step_bodies.hpp"

namespace weft::nn {

template <class T>
struct StorageTag {
  using type = T;
};

template <class Backend, class F>
void with_storage(const Backend&, Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::f16: return f(StorageTag<Half>{});
    case Dtype::bf16: return f(StorageTag<BFloat16>{});
    case Dtype::f64:
      if constexpr (Backend::has_double) return f(StorageTag<double>{});
      [[fallthrough]];
    default: f(StorageTag<float>{});
  }
}

template <class Backend>
void run_on(const Backend& on, const ActivateArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t count = stretches<T>(args.rows * args.width);
    args.wide ? on.each(count, "activating", ActivateStretch<T, AccumulatorOf<T>>{args})
              : on.each(count, "activating", ActivateStretch<T>{args});
  });
}
template <class Backend>
void run_on(const Backend& on, const ActivateBackwardArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    on.template fold_columns<T, ActivateBackwardStrip>(args, args.width, "gradients of activations",
                                                       static_cast<AccumulatorOf<T>*>(args.bias_grad),
                                                       static_cast<AccumulatorOf<T>*>(nullptr));
  });
}
template <class Backend>
void run_on(const Backend& on, const AddSelfArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    on.each(stretches<T>(args.count), "adding nodes themselves", AddSelfStretch<T>{args});
  });
}
template <class Backend>
void run_on(const Backend& on, const SelfGradArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    on.template fold_all<T, SelfGradStrip>(args, args.width, "the gradient of eps",
                                           static_cast<AccumulatorOf<T>*>(args.eps_grad));
  });
}
template <class Backend>
void run_on(const Backend& on, const HeadDotsArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    on.teams(args.rows * args.heads, args.width, "score terms", HeadDots<typename decltype(tag)::type>{args});
  });
}
template <class Backend>
void run_on(const Backend& on, const HeadDotsBackwardArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    on.template fold_columns<T, HeadDotsBackwardStrip>(args, args.heads * args.width, "gradients of score terms",
                                                       static_cast<AccumulatorOf<T>*>(args.src_vector_grad),
                                                       static_cast<AccumulatorOf<T>*>(args.dst_vector_grad));
  });
}
template <class Backend>
void run_on(const Backend& on, const MeanHeadsArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    args.wide ? on.each(args.rows * args.width, "the mean over heads", MeanHeads<T, AccumulatorOf<T>>{args})
              : on.each(args.rows * args.width, "the mean over heads", MeanHeads<T>{args});
  });
}
template <class Backend>
void run_on(const Backend& on, const MeanHeadsBackwardArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    on.each(args.rows * args.heads * args.width, "the gradient of a mean over heads",
            MeanHeadsBackward<typename decltype(tag)::type>{args});
  });
}
template <class Backend>
void run_on(const Backend& on, const ScaleRowsArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    on.each(stretches<T>(args.rows * args.width), "scaling rows", ScaleRowsStretch<T>{args});
  });
}
template <class Backend>
void run_on(const Backend& on, const LossArgs& args) {
  with_storage(on, args.dtype, [&](auto tag) {
    on.fold_splits(args.rows, args.classes, LossRow<typename decltype(tag)::type>{args}, args.scratch, args.sums);
  });
}
template <class Backend>
void run_on(const Backend& on, const FindOverflowArgs& args) {
  if constexpr (Backend::has_double)
    if (args.dtype == Dtype::f64) return on.each(args.count, "looking for overflow", FindOverflow<double>{args});
  on.each(args.count, "looking for overflow", FindOverflow<float>{args});
}
template <class Backend>
void run_on(const Backend& on, const OptimiseArgs& args) {
  with_storage(on, args.dtype,
               [&](auto tag) { on.optimise(args.count, Optimise<typename decltype(tag)::type>{args}); });
}
template <class Backend>
void run_on(const Backend& on, const EndStepArgs& args) {
  on.alone("ending a step", EndStep{args});
}
template <class Backend>
void run_on(const Backend& on, const EndEvaluationArgs& args) {
  on.alone("judging an epoch", EndEvaluation{args});
}
template <class Backend>
void run_on(const Backend& on, const KeepBestArgs& args) {
  on.each(args.words, "keeping the best parameters", KeepBest{args});
}

}  // namespace weft::nn
