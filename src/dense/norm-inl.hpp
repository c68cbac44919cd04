// Both norms over any backend.
#pragma once

#include "dense/norm.hpp"
#include "dense/passes-inl.hpp"

namespace weft::dense {

/// Over the rows of x.
template <class T, int Width>
struct MomentStrip : StripOf<BatchNormArgs, 1, Width> {
  using Base = StripOf<BatchNormArgs, 1, Width>;
  using Base::args, Base::column, Base::Base;
  using Row = Pack<T, Width>;
  WEFT_ANYWHERE Row load(std::int64_t row) const { return pack_at<T, Width>(args.x, row * args.width + column); }
};
template <class T, int Width>
struct ColumnMeanStrip : MomentStrip<T, Width> {
  using Base = MomentStrip<T, Width>;
  using Base::args, Base::sum, Base::Base;
  using typename Base::Row;

  WEFT_ANYWHERE void take(std::int64_t, const Row& xs) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n)
      sum[0][n] += static_cast<double>(widen(xs.values[n])) / static_cast<double>(args.rows);
  }
};
/// After the mean, so that nothing cancels.
template <class T, int Width>
struct ColumnVarianceStrip : MomentStrip<T, Width> {
  using Acc = AccumulatorOf<T>;
  using Base = MomentStrip<T, Width>;
  using Base::args, Base::column, Base::sum, Base::Base;
  using typename Base::Row;

  WEFT_ANYWHERE void take(std::int64_t, const Row& xs) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      const double away = static_cast<double>(widen(xs.values[n])) -
                          static_cast<double>(static_cast<const Acc*>(args.mean)[column + n]);
      sum[0][n] += away * away / static_cast<double>(args.rows);
    }
  }
};
template <class Acc>
struct MoveRunning {
  BatchNormArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const auto rows = static_cast<Acc>(args.rows), rate = static_cast<Acc>(norm_momentum);
    Acc &mean = static_cast<Acc*>(args.running_mean)[i], &var = static_cast<Acc*>(args.running_var)[i];
    const Acc unbiased = rows > 1 ? rows / (rows - 1) : Acc(1);
    mean += rate * (static_cast<const Acc*>(args.mean)[i] - mean);
    var += rate * (static_cast<const Acc*>(args.variance)[i] * unbiased - var);
  }
};
template <class Acc>
WEFT_ANYWHERE inline Acc per_deviation(Acc variance) {
  return 1 / static_cast<Acc>(sqrt(variance + static_cast<Acc>(norm_epsilon)));
}
template <class T>
struct BatchNormElement {
  using Acc = AccumulatorOf<T>;
  BatchNormArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t c = i - quotient(i, args.width) * args.width;
    const Acc mean = static_cast<const Acc*>(args.training ? args.mean : args.running_mean)[c];
    const Acc variance = static_cast<const Acc*>(args.training ? args.variance : args.running_var)[c];
    const Acc normed = (widen(static_cast<const T*>(args.x)[i]) - mean) * per_deviation(variance);
    static_cast<T*>(args.out)[i] =
        narrow<T>(normed * static_cast<const Acc*>(args.scale)[c] + static_cast<const Acc*>(args.shift)[c]);
  }
};
template <class T, int Width>
struct BatchNormSumsStrip : StripOf<BatchNormBackwardArgs, 2, Width> {
  using Acc = AccumulatorOf<T>;
  using Base = StripOf<BatchNormBackwardArgs, 2, Width>;
  using Base::args, Base::column, Base::sum;
  using Row = TwoPacks<T, Width>;
  Acc mean[Width], per[Width];

  WEFT_ANYWHERE BatchNormSumsStrip(const BatchNormBackwardArgs& of, std::int64_t first) : Base(of, first) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      mean[n] = static_cast<const Acc*>(args.mean)[column + n];
      per[n] = per_deviation(static_cast<const Acc*>(args.variance)[column + n]);
    }
  }
  WEFT_ANYWHERE Row load(std::int64_t row) const { return {args.x, args.grad, row * args.width + column}; }
  WEFT_ANYWHERE void take(std::int64_t, const Row& loaded) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      const Acc grad = widen(loaded.grads.values[n]);
      sum[0][n] += grad * ((widen(loaded.xs.values[n]) - mean[n]) * per[n]);
      sum[1][n] += grad;
    }
  }
};
template <class T>
struct BatchNormBackwardElement {
  using Acc = AccumulatorOf<T>;
  BatchNormBackwardArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t c = i - quotient(i, args.width) * args.width;
    const Acc per = per_deviation(static_cast<const Acc*>(args.variance)[c]), rows = static_cast<Acc>(args.rows);
    const Acc normed = (widen(static_cast<const T*>(args.x)[i]) - static_cast<const Acc*>(args.mean)[c]) * per;
    T& grad = static_cast<T*>(args.grad)[i];
    const Acc less =
        (static_cast<const Acc*>(args.shift_grad)[c] + normed * static_cast<const Acc*>(args.scale_grad)[c]) / rows;
    grad = narrow<T>(static_cast<const Acc*>(args.scale)[c] * per * (widen(grad) - less));
  }
};

template <class T>
struct LayerNormRow {
  using Acc = AccumulatorOf<T>;
  LayerNormArgs args;
  template <class Team>
  WEFT_ANYWHERE void operator()(const Team& team, std::int64_t row) const {
    const T* const x = static_cast<const T*>(args.x) + row * args.width;
    const auto width = static_cast<Acc>(args.width);
    Acc sum = 0, squares = 0;
    for (std::int64_t c = team.lane(); c < args.width; c += team.lanes()) sum += widen(x[c]);
    const Acc mean = team.sum(sum) / width;
    for (std::int64_t c = team.lane(); c < args.width; c += team.lanes()) {
      const Acc away = widen(x[c]) - mean;
      squares += away * away;
    }
    const Acc per = per_deviation(team.sum(squares) / width);
    for (std::int64_t c = team.lane(); c < args.width; c += team.lanes())
      static_cast<T*>(args.out)[row * args.width + c] = narrow<T>(
          (widen(x[c]) - mean) * per * static_cast<const Acc*>(args.scale)[c] + static_cast<const Acc*>(args.shift)[c]);
    if (team.lane() != 0 || args.moments == nullptr) return;
    static_cast<Acc*>(args.moments)[2 * row] = mean;
    static_cast<Acc*>(args.moments)[2 * row + 1] = per;
  }
};
template <class T, int Width>
struct LayerNormSumsStrip : StripOf<LayerNormBackwardArgs, 2, Width> {
  using Acc = AccumulatorOf<T>;
  using Base = StripOf<LayerNormBackwardArgs, 2, Width>;
  using Base::args, Base::column, Base::sum, Base::Base;
  using Row = TwoPacks<T, Width>;

  WEFT_ANYWHERE Row load(std::int64_t row) const { return {args.x, args.grad, row * args.width + column}; }
  WEFT_ANYWHERE void take(std::int64_t row, const Row& loaded) {
    const Acc* const moments = static_cast<const Acc*>(args.moments) + 2 * row;
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      const Acc grad = widen(loaded.grads.values[n]);
      sum[0][n] += grad * (widen(loaded.xs.values[n]) - moments[0]) * moments[1];
      sum[1][n] += grad;
    }
  }
};
template <class T>
struct LayerNormBackwardRow {
  using Acc = AccumulatorOf<T>;
  LayerNormBackwardArgs args;
  template <class Team>
  WEFT_ANYWHERE void operator()(const Team& team, std::int64_t row) const {
    const T* const x = static_cast<const T*>(args.x) + row * args.width;
    T* const grad = static_cast<T*>(args.grad) + row * args.width;
    const Acc* const scale = static_cast<const Acc*>(args.scale);
    const Acc mean = static_cast<const Acc*>(args.moments)[2 * row],
              per = static_cast<const Acc*>(args.moments)[2 * row + 1];
    Acc sum = 0, along = 0;
    for (std::int64_t c = team.lane(); c < args.width; c += team.lanes()) {
      const Acc g = widen(grad[c]) * scale[c];
      sum += g;
      along += g * (widen(x[c]) - mean) * per;
    }
    const auto width = static_cast<Acc>(args.width);
    sum = team.sum(sum) / width;
    along = team.sum(along) / width;
    for (std::int64_t c = team.lane(); c < args.width; c += team.lanes())
      grad[c] = narrow<T>(per * (widen(grad[c]) * scale[c] - sum - (widen(x[c]) - mean) * per * along));
  }
};

template <class Loops>
void run_on(const Loops& on, const BatchNormArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    using Acc = AccumulatorOf<T>;
    constexpr Acc* none = nullptr;
    if (args.training) {
      on.template fold_columns<T, ColumnMeanStrip>(args, args.width, "means", static_cast<Acc*>(args.mean), none);
      on.template fold_columns<T, ColumnVarianceStrip>(args, args.width, "variances", static_cast<Acc*>(args.variance),
                                                       none);
      on.each(args.width, "running means", MoveRunning<Acc>{args});
    }
    on.each(args.rows * args.width, "batch norm", BatchNormElement<T>{args});
  });
}
template <class Loops>
void run_on(const Loops& on, const BatchNormBackwardArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    using Acc = AccumulatorOf<T>;
    on.template fold_columns<T, BatchNormSumsStrip>(args, args.width, "gradients of batch norm",
                                                    static_cast<Acc*>(args.scale_grad),
                                                    static_cast<Acc*>(args.shift_grad));
    on.each(args.rows * args.width, "gradients of batch norm", BatchNormBackwardElement<T>{args});
  });
}
template <class Loops>
void run_on(const Loops& on, const LayerNormArgs& args) {
  with_storage(on, args.dtype,
               [&]<class T>() { on.teams(args.rows, args.width, "layer norm", LayerNormRow<T>{args}); });
}
template <class Loops>
void run_on(const Loops& on, const LayerNormBackwardArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    using Acc = AccumulatorOf<T>;
    on.template fold_columns<T, LayerNormSumsStrip>(args, args.width, "gradients of layer norm",
                                                    static_cast<Acc*>(args.scale_grad),
                                                    static_cast<Acc*>(args.shift_grad));
    on.teams(args.rows, args.width, "gradients of layer norm", LayerNormBackwardRow<T>{args});
  });
}

}  // namespace weft::dense
