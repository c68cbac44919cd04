// What the passes do on their way down columns that they add up, in strips of them. The same on both backends.
#pragma once

#include "core/loops/fold.hpp"
#include "dense/passes.hpp"

namespace weft::dense {

template <class T, int Width>
struct ActivateBackwardStrip : StripOf<ActivateBackwardArgs, 1, Width> {
  using Acc = AccumulatorOf<T>;
  using Base = StripOf<ActivateBackwardArgs, 1, Width>;
  using Base::args, Base::column, Base::sum, Base::Base;
  struct Row {
    Pack<T, Width> grads, outs, others;
  };

  WEFT_ANYWHERE Row load(std::int64_t row) const {
    const std::int64_t i = row * args.width + column;
    Row loaded{pack_at<T, Width>(args.out_grad, i), {}, {}};
    if (args.activation != Activation::none) loaded.outs = pack_at<T, Width>(args.out, i);
    if (args.added_to != nullptr) loaded.others = pack_at<T, Width>(args.added_to, i);
    return loaded;
  }
  WEFT_ANYWHERE void take(std::int64_t row, Row& loaded) {
    const std::int64_t i = row * args.width + column;
    Acc grads[Width];
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) grads[n] = widen(loaded.grads.values[n]);
    go_back(grads, loaded.outs, i);
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) sum[0][n] += grads[n];
    if (args.grad != nullptr) {
      const Acc of_row = args.row_scale != nullptr ? static_cast<const Acc*>(args.row_scale)[row] : Acc(1);
      WEFT_UNROLLED
      for (int n = 0; n < Width; ++n) loaded.grads.values[n] = narrow<T>(grads[n] * of_row);
      put_pack(args.grad, i, loaded.grads);
    }
    if (args.added_to == nullptr) return;
    const Acc factor = 1 + (args.added_eps != nullptr ? *static_cast<const Acc*>(args.added_eps) : Acc(0));
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n)
      loaded.others.values[n] = narrow<T>(widen(loaded.others.values[n]) + factor * grads[n]);
    put_pack(args.added_to, i, loaded.others);
  }

 private:
  /// Through dropout and activation. What ReLU left or dropout took is 0 either way; ELU leaves other values that must
  /// be told from it.
  WEFT_ANYWHERE void go_back(Acc (&grads)[Width], const Pack<T, Width>& outs, std::int64_t i) const {
    const bool relu = args.activation == Activation::relu;
    const Acc scale = args.mask.given() ? args.mask.scale() : 1.0f;
    if (relu) {
      WEFT_UNROLLED
      for (int n = 0; n < Width; ++n) grads[n] = widen(outs.values[n]) <= 0 ? Acc(0) : grads[n] * scale;
      return;
    }
    if (args.activation == Activation::elu) {
      WEFT_UNROLLED
      for (int n = 0; n < Width; ++n) {
        const Acc out = widen(outs.values[n]);
        grads[n] *= out < 0 ? scale + out : scale;  // scale * (exp(x) - 1 + 1)
      }
    } else if (args.mask.given()) {
      WEFT_UNROLLED
      for (int n = 0; n < Width; ++n) grads[n] *= scale;
    }
    if (!args.mask.given()) return;
    FourWords words{};
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n)
      if (dropped(i, n, words)) grads[n] = 0;
  }
  /// The n-th element of a strip's row, which begins at i; one after the other, as four have their words together.
  WEFT_ANYWHERE bool dropped(std::int64_t i, int n, FourWords& words) const {
    if constexpr (Width % 4 != 0) return args.mask.drops_element(i + n);
    if (n % 4 == 0) words = args.mask.words(static_cast<std::uint64_t>(i + n) / 4);
    return args.mask.drops(words.at[n % 4]);
  }
};

template <class T, int Width>
struct SelfGradStrip : StripOf<SelfGradArgs, 1, Width> {
  using Base = StripOf<SelfGradArgs, 1, Width>;
  using Base::args, Base::column, Base::sum, Base::Base;
  using Row = TwoPacks<T, Width>;

  WEFT_ANYWHERE Row load(std::int64_t row) const { return {args.x, args.out_grad, row * args.width + column}; }
  WEFT_ANYWHERE void take(std::int64_t, const Row& loaded) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) sum[0][n] += widen(loaded.xs.values[n]) * widen(loaded.grads.values[n]);
  }
};

template <class T, int Width>
struct HeadDotsBackwardStrip : StripOf<HeadDotsBackwardArgs, 2, Width> {
  using Acc = AccumulatorOf<T>;
  using Base = StripOf<HeadDotsBackwardArgs, 2, Width>;
  using Base::args, Base::column, Base::sum;
  struct Row {
    TwoPacks<T, Width> packs;
    T src, dst;
  };
  std::int64_t head;
  Acc source[Width], destination[Width];

  WEFT_ANYWHERE HeadDotsBackwardStrip(const HeadDotsBackwardArgs& of, std::int64_t first)
      : Base(of, first), head(quotient(first, of.width)) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      source[n] = static_cast<const Acc*>(args.src_vector)[column + n];
      destination[n] = static_cast<const Acc*>(args.dst_vector)[column + n];
    }
  }
  WEFT_ANYWHERE Row load(std::int64_t row) const {
    const std::int64_t at = row * args.heads + head;
    return {{args.x, args.x_grad, row * args.heads * args.width + column},
            static_cast<const T*>(args.src_grad)[at],
            static_cast<const T*>(args.dst_grad)[at]};
  }
  WEFT_ANYWHERE void take(std::int64_t row, Row& loaded) {
    const Acc src = widen(loaded.src), dst = widen(loaded.dst);
    auto& [xs, grads] = loaded.packs;
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      const Acc x = widen(xs.values[n]);
      grads.values[n] = narrow<T>(widen(grads.values[n]) + src * source[n] + dst * destination[n]);
      sum[0][n] += src * x;
      sum[1][n] += dst * x;
    }
    put_pack(args.x_grad, row * args.heads * args.width + column, grads);
  }
};

}  // namespace weft::dense
