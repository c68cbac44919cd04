// What the passes do on their way down columns that they add up. A strip is `Width` columns side by side, of which it
// is shown one row after the other; it begins at a multiple of its width, and so does every row's part of it. The same
// on both backends.
#pragma once

#include "nn/dense/passes.hpp"
#include "nn/dense/value.hpp"

namespace weft::nn {

template <class T, int Width>
struct ActivateBackwardStrip {
  using Acc = AccumulatorOf<T>;
  static constexpr int sums = 1, width = Width;
  const ActivateBackwardArgs& args;
  std::int64_t column;
  double sum[sums][Width] = {};

  WEFT_ANYWHERE ActivateBackwardStrip(const ActivateBackwardArgs& of, std::int64_t first) : args(of), column(first) {}
  WEFT_ANYWHERE void operator()(std::int64_t row) {
    const std::int64_t i = row * args.width + column;
    const bool activates = args.activation != Activation::none;
    const auto grads = pack_at<T, Width>(args.out_grad, i);
    Pack<T, Width> outs{}, others{}, left;
    if (activates) outs = pack_at<T, Width>(args.out, i);
    if (args.added_to != nullptr) others = pack_at<T, Width>(args.added_to, i);
    const Acc scale = args.mask.given() ? args.mask.scale() : 1.0f;
    const Acc of_row = args.row_scale != nullptr ? static_cast<const Acc*>(args.row_scale)[row] : Acc(1);
    const Acc factor = 1 + (args.added_eps != nullptr ? *static_cast<const Acc*>(args.added_eps) : Acc(0));
    FourWords words{};
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      Acc grad = widen(grads.at[n]);
      if (activates || args.mask.given())
        grad = through(grad, activates ? widen(outs.at[n]) : Acc(1), i + n, scale, words);
      sum[0][n] += grad;
      left.at[n] = narrow<T>(grad * of_row);
      others.at[n] = narrow<T>(widen(others.at[n]) + factor * grad);
    }
    if (args.grad != nullptr) put_pack(args.grad, i, left);
    if (args.added_to != nullptr) put_pack(args.added_to, i, others);
  }

 private:
  /// What ReLU left or dropout took is 0 either way; ELU leaves other values that must be told from it.
  WEFT_ANYWHERE Acc through(Acc grad, Acc out, std::int64_t i, Acc scale, FourWords& words) const {
    if (args.activation == Activation::relu) return out <= 0 ? Acc(0) : grad * scale;
    if (args.mask.given() && dropped(i, words)) return 0;
    return grad * (args.activation == Activation::elu && out < 0 ? scale + out : scale);  // scale * (exp(x) - 1 + 1)
  }
  WEFT_ANYWHERE bool dropped(std::int64_t i, FourWords& words) const {
    if constexpr (Width % 4 != 0) return args.mask.drops_element(i);
    if (i % 4 == 0) words = args.mask.words(static_cast<std::uint64_t>(i) / 4);
    return args.mask.drops(words, static_cast<int>(i % 4));
  }
};

template <class T, int Width>
struct SelfGradStrip {
  static constexpr int sums = 1, width = Width;
  const SelfGradArgs& args;
  std::int64_t column;
  double sum[sums][Width] = {};

  WEFT_ANYWHERE SelfGradStrip(const SelfGradArgs& of, std::int64_t first) : args(of), column(first) {}
  WEFT_ANYWHERE void operator()(std::int64_t row) {
    const std::int64_t i = row * args.width + column;
    const auto xs = pack_at<T, Width>(args.x, i), grads = pack_at<T, Width>(args.out_grad, i);
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) sum[0][n] += widen(xs.at[n]) * widen(grads.at[n]);
  }
};

template <class T, int Width>
struct HeadDotsBackwardStrip {
  using Acc = AccumulatorOf<T>;
  static constexpr int sums = 2, width = Width;
  const HeadDotsBackwardArgs& args;
  std::int64_t column, head;
  Acc source[Width], destination[Width];
  double sum[sums][Width] = {};

  WEFT_ANYWHERE HeadDotsBackwardStrip(const HeadDotsBackwardArgs& of, std::int64_t first)
      : args(of), column(first), head(quotient(first, of.width)) {
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      source[n] = static_cast<const Acc*>(args.src_vector)[column + n];
      destination[n] = static_cast<const Acc*>(args.dst_vector)[column + n];
    }
  }
  WEFT_ANYWHERE void operator()(std::int64_t row) {
    const std::int64_t i = row * args.heads * args.width + column, at = row * args.heads + head;
    const auto xs = pack_at<T, Width>(args.x, i);
    auto grads = pack_at<T, Width>(args.x_grad, i);
    const Acc src = widen(static_cast<const T*>(args.src_grad)[at]),
              dst = widen(static_cast<const T*>(args.dst_grad)[at]);
    WEFT_UNROLLED
    for (int n = 0; n < Width; ++n) {
      const Acc x = widen(xs.at[n]);
      grads.at[n] = narrow<T>(widen(grads.at[n]) + src * source[n] + dst * destination[n]);
      sum[0][n] += src * x;
      sum[1][n] += dst * x;
    }
    put_pack(args.x_grad, i, grads);
  }
};

}  // namespace weft::nn
