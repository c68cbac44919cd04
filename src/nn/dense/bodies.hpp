// What the passes do with an element, with an element of a column that is added up, and with a row that a team of lanes
// shares. The same on both backends.
#pragma once

#include "nn/dense/passes.hpp"
#include "nn/dense/value.hpp"

namespace weft::nn {

template <class Acc>
WEFT_ANYWHERE inline Acc activated(Activation activation, Acc x) {
  if (activation == Activation::relu) return x > 0 || x != x ? x : Acc(0);  // NaN stays
  if (activation == Activation::elu) return x > 0 || x != x ? x : exponential(x) - 1;
  return x;
}

/// f(value, place among the four) for elements 4 * four to 4 * four + 3 of x, into out; both begin at multiples of 16.
template <class T, class F>
WEFT_ANYWHERE inline void map_four(const void* x, void* out, std::int64_t count, std::int64_t four, const F& f) {
  const std::int64_t first = 4 * four;
  if (first + 4 <= count) {
    const Four<T> in = static_cast<const Four<T>*>(x)[four];
    Four<T> result;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < 4; ++i) result.at[i] = narrow_within<T>(f(widen(in.at[i]), i));
    static_cast<Four<T>*>(out)[four] = result;
    return;
  }
  for (int i = 0; first + i < count; ++i)
    static_cast<T*>(out)[first + i] = narrow_within<T>(f(widen(static_cast<const T*>(x)[first + i]), i));
}

/// Four share one call of the generator.
template <class T>
struct ActivateFour {
  using Acc = AccumulatorOf<T>;
  ActivateArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t four) const {
    const Acc* const bias = static_cast<const Acc*>(args.bias);
    const Acc* const scale = static_cast<const Acc*>(args.row_scale);
    const bool placed = bias != nullptr || scale != nullptr;
    const std::int64_t row = placed ? quotient(4 * four, args.width) : 0,
                       column = placed ? 4 * four - row * args.width : 0;
    FourWords words{};
    if (args.mask.given()) words = args.mask.words(static_cast<std::uint64_t>(four));
    map_four<T>(args.x, args.out, args.rows * args.width, four, [&](Acc value, int i) {
      if (placed) {
        std::int64_t r = row, c = column + i;
        while (c >= args.width) c -= args.width, ++r;
        if (scale != nullptr) value *= scale[r];
        if (bias != nullptr) value += bias[c];
      }
      value = activated(args.activation, value);
      return args.mask.given() ? (args.mask.drops(words.at[i]) ? Acc(0) : value * args.mask.scale()) : value;
    });
  }
};

template <class T>
struct ScaleRowsFour {
  using Acc = AccumulatorOf<T>;
  ScaleRowsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t four) const {
    const std::int64_t row = quotient(4 * four, args.width), column = 4 * four - row * args.width;
    map_four<T>(args.x, args.out, args.rows * args.width, four, [&](Acc value, int i) {
      std::int64_t r = row, c = column + i;
      while (c >= args.width) c -= args.width, ++r;
      return value * static_cast<const Acc*>(args.scale)[r];
    });
  }
};

template <class T>
struct ActivateBackwardElement {
  using Acc = AccumulatorOf<T>;
  static constexpr int sums = 1;
  ActivateBackwardArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t row, std::int64_t column, double* sum) const {
    const std::int64_t i = row * args.width + column;
    Acc grad = widen(static_cast<const T*>(args.out_grad)[i]);
    const bool relu = args.activation == Activation::relu;
    if (relu || args.activation == Activation::elu || args.mask.given()) {
      const Acc scale = args.mask.given() ? args.mask.scale() : 1.0f;
      // What ReLU left or dropout took is 0 either way; ELU leaves other values that must be told from it.
      const Acc out = relu || args.activation == Activation::elu ? widen(static_cast<const T*>(args.out)[i]) : Acc(1);
      const bool gone = relu ? out <= 0 : args.mask.given() && args.mask.drops_element(i);
      Acc slope = scale;
      if (args.activation == Activation::elu && out < 0) slope = scale + out;  // scale * (exp(x) - 1 + 1)
      grad = gone ? Acc(0) : grad * slope;
    }
    sum[0] += grad;
    if (args.grad == nullptr) return;
    if (args.row_scale != nullptr) grad *= static_cast<const Acc*>(args.row_scale)[row];
    static_cast<T*>(args.grad)[i] = narrow<T>(grad);
  }
};

template <class T>
struct AddSelfFour {
  using Acc = AccumulatorOf<T>;
  AddSelfArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t four) const {
    const Acc factor = 1 + (args.eps != nullptr ? *static_cast<const Acc*>(args.eps) : Acc(0));
    Four<T> x{};
    if (4 * four + 4 <= args.count) {
      x = static_cast<const Four<T>*>(args.x)[four];
    } else {
      for (int i = 0; 4 * four + i < args.count; ++i) x.at[i] = static_cast<const T*>(args.x)[4 * four + i];
    }
    map_four<T>(args.out, args.out, args.count, four,
                [&](Acc value, int i) { return value + factor * widen(x.at[i]); });
  }
};

template <class T>
struct SelfGradElement {
  static constexpr int sums = 1;
  SelfGradArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t row, std::int64_t column, double* sum) const {
    const std::int64_t i = row * args.width + column;
    sum[0] += widen(static_cast<const T*>(args.x)[i]) * widen(static_cast<const T*>(args.out_grad)[i]);
  }
};

template <class T>
struct HeadDots {
  using Acc = AccumulatorOf<T>;
  HeadDotsArgs args;
  template <class Team>
  WEFT_ANYWHERE void operator()(const Team& team, std::int64_t row_and_head) const {
    const auto head = row_and_head % args.heads;
    const T* const x = static_cast<const T*>(args.x) + row_and_head * args.width;
    const Acc* const a = static_cast<const Acc*>(args.src_vector) + head * args.width;
    const Acc* const b = static_cast<const Acc*>(args.dst_vector) + head * args.width;
    Acc src = 0, dst = 0;
    for (std::int64_t i = team.lane(); i < args.width; i += team.lanes()) {
      src += widen(x[i]) * a[i];
      dst += widen(x[i]) * b[i];
    }
    src = team.sum(src);
    dst = team.sum(dst);
    if (team.lane() != 0) return;
    static_cast<T*>(args.src)[row_and_head] = narrow<T>(src);
    static_cast<T*>(args.dst)[row_and_head] = narrow<T>(dst);
  }
};

template <class T>
struct HeadDotsBackwardElement {
  using Acc = AccumulatorOf<T>;
  static constexpr int sums = 2;
  HeadDotsBackwardArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t row, std::int64_t column, double* sum) const {
    const std::int64_t i = row * args.heads * args.width + column, at = row * args.heads + column / args.width;
    const Acc src = widen(static_cast<const T*>(args.src_grad)[at]),
              dst = widen(static_cast<const T*>(args.dst_grad)[at]);
    const Acc x = widen(static_cast<const T*>(args.x)[i]);
    T& grad = static_cast<T*>(args.x_grad)[i];
    grad = narrow<T>(widen(grad) + src * static_cast<const Acc*>(args.src_vector)[column] +
                     dst * static_cast<const Acc*>(args.dst_vector)[column]);
    sum[0] += src * x;
    sum[1] += dst * x;
  }
};

template <class T>
struct MeanHeads {
  using Acc = AccumulatorOf<T>;
  MeanHeadsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t row = i / args.width, column = i - row * args.width;
    const T* const x = static_cast<const T*>(args.x) + row * args.heads * args.width + column;
    Acc sum = 0;
    for (std::int64_t h = 0; h < args.heads; ++h) sum += widen(x[h * args.width]);
    sum /= static_cast<Acc>(args.heads);
    if (args.bias != nullptr) sum += static_cast<const Acc*>(args.bias)[column];
    static_cast<Acc*>(args.out)[i] = sum;
  }
};

template <class T>
struct MeanHeadsBackward {
  using Acc = AccumulatorOf<T>;
  MeanHeadsBackwardArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t row = i / (args.heads * args.width), column = i % args.width;
    const Acc grad = widen(static_cast<const T*>(args.out_grad)[row * args.width + column]);
    static_cast<T*>(args.grad)[i] = narrow<T>(grad / static_cast<Acc>(args.heads));
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
