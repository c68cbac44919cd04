// The passes over any backend: which body, over how much.
#pragma once

#include "core/loops/with_storage.hpp"
#include "dense/bodies.hpp"
#include "dense/fold_bodies.hpp"

namespace weft::dense {

template <class Loops>
void run_on(const Loops& on, const ActivateArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    const std::int64_t count = stretches<T>(args.rows * args.width);
    args.wide ? on.each(count, "activating", ActivateStretch<T, AccumulatorOf<T>>{args})
              : on.each(count, "activating", ActivateStretch<T>{args});
  });
}
template <class Loops>
void run_on(const Loops& on, const ActivateBackwardArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.template fold_columns<T, ActivateBackwardStrip>(args, args.width, "gradients of activations",
                                                       static_cast<AccumulatorOf<T>*>(args.bias_grad),
                                                       static_cast<AccumulatorOf<T>*>(nullptr));
  });
}
template <class Loops>
void run_on(const Loops& on, const AddSelfArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.each(stretches<T>(args.count), "adding nodes themselves", AddSelfStretch<T>{args});
  });
}
template <class Loops>
void run_on(const Loops& on, const SelfGradArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.template fold_all<T, SelfGradStrip>(args, args.width, "the gradient of eps",
                                           static_cast<AccumulatorOf<T>*>(args.eps_grad));
  });
}
template <class Loops>
void run_on(const Loops& on, const HeadDotsArgs& args) {
  with_storage(on, args.dtype,
               [&]<class T>() { on.teams(args.rows * args.heads, args.width, "score terms", HeadDots<T>{args}); });
}
template <class Loops>
void run_on(const Loops& on, const HeadDotsBackwardArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.template fold_columns<T, HeadDotsBackwardStrip>(args, args.heads * args.width, "gradients of score terms",
                                                       static_cast<AccumulatorOf<T>*>(args.src_vector_grad),
                                                       static_cast<AccumulatorOf<T>*>(args.dst_vector_grad));
  });
}
template <class Loops>
void run_on(const Loops& on, const MeanHeadsArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    args.wide ? on.each(args.rows * args.width, "the mean over heads", MeanHeads<T, AccumulatorOf<T>>{args})
              : on.each(args.rows * args.width, "the mean over heads", MeanHeads<T>{args});
  });
}
template <class Loops>
void run_on(const Loops& on, const MeanHeadsBackwardArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.each(args.rows * args.heads * args.width, "the gradient of a mean over heads", MeanHeadsBackward<T>{args});
  });
}
template <class Loops>
void run_on(const Loops& on, const ScaleRowsArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    on.each(stretches<T>(args.rows * args.width), "scaling rows", ScaleRowsStretch<T>{args});
  });
}

}  // namespace weft::dense
