// What the passes do with an element and with a row that a team of lanes shares. The same on both backends.
#pragma once

#include "core/loops/stretch.hpp"
#include "dense/passes.hpp"

namespace weft::dense {

/// One step after the other over all elements of a stretch: what is asked for is asked once a stretch, and a CPU takes
/// several elements at a time.
template <class T, class From = T>
struct ActivateStretch {
  using Acc = AccumulatorOf<T>;
  static constexpr int size = stretch<T>;
  ActivateArgs args;

  WEFT_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t count = args.rows * args.width;
    Stretch<From, size> given{};
    given.load(args.x, count, k);
    Acc values[size];
    WEFT_UNROLLED
    for (int i = 0; i < size; ++i) values[i] = widen(given[i]);
    if (args.row_scale != nullptr) scale(values, k);
    if (args.added != nullptr) add(values, k);
    if (args.bias != nullptr) add_bias(values, k);
    activate(values);
    if (args.mask.given()) drop(values, k);
    Stretch<T> stored;
    WEFT_UNROLLED
    for (int i = 0; i < size; ++i) stored[i] = narrow_within<T>(values[i]);
    stored.store(args.out, count, k);
  }

 private:
  /// Whether stretches lie within a row: then they find its scale once, and their part of the bias in packs.
  WEFT_ANYWHERE bool within() const { return args.width % size == 0; }
  /// f(i, row, column) for every element of the stretch that there is.
  template <class F>
  WEFT_ANYWHERE void each_placed(std::int64_t k, const F& f) const {
    Walk at(k * size, args.width);
    WEFT_UNROLLED
    for (int i = 0; i < size; ++i) {
      if (k * size + i >= args.rows * args.width) return;
      f(i, at.row, at.column);
      at.next();
    }
  }
  WEFT_ANYWHERE void scale(Acc (&values)[size], std::int64_t k) const {
    const Acc* const by = static_cast<const Acc*>(args.row_scale);
    if (!within()) return each_placed(k, [&](int i, std::int64_t row, std::int64_t) { values[i] *= by[row]; });
    const Acc of_row = by[quotient(k * size, args.width)];
    WEFT_UNROLLED
    for (int i = 0; i < size; ++i) values[i] *= of_row;
  }
  WEFT_ANYWHERE void add(Acc (&values)[size], std::int64_t k) const {
    const Acc factor = 1 + (args.added_eps != nullptr ? *static_cast<const Acc*>(args.added_eps) : Acc(0));
    Stretch<T> added{};
    added.load(args.added, args.rows * args.width, k);
    WEFT_UNROLLED
    for (int i = 0; i < size; ++i) values[i] += factor * widen(added[i]);
  }
  WEFT_ANYWHERE void add_bias(Acc (&values)[size], std::int64_t k) const {
    const Acc* const bias = static_cast<const Acc*>(args.bias);
    if (!within()) return each_placed(k, [&](int i, std::int64_t, std::int64_t column) { values[i] += bias[column]; });
    const std::int64_t column = k * size - quotient(k * size, args.width) * args.width;
    WEFT_UNROLLED
    for (int i = 0; i < size; i += 4) {
      const auto four = pack_at<Acc, 4>(bias, column + i);
      WEFT_UNROLLED
      for (int n = 0; n < 4; ++n) values[i + n] += four.values[n];
    }
  }
  WEFT_ANYWHERE void activate(Acc (&values)[size]) const {
    if (args.activation == Activation::relu) {
      WEFT_UNROLLED
      for (int i = 0; i < size; ++i) values[i] = values[i] <= 0 ? Acc(0) : values[i];  // NaN stays
    } else if (args.activation == Activation::elu) {
      WEFT_UNROLLED
      for (int i = 0; i < size; ++i)
        if (values[i] <= 0) values[i] = exponential_for<T>(values[i]) - 1;
    }
  }
  WEFT_ANYWHERE void drop(Acc (&values)[size], std::int64_t k) const {
    const Acc kept = args.mask.scale();
    WEFT_UNROLLED
    for (int i = 0; i < size; i += 4) {
      const FourWords words = args.mask.words(static_cast<std::uint64_t>(k * size + i) / 4);
      WEFT_UNROLLED
      for (int n = 0; n < 4; ++n) values[i + n] = args.mask.drops(words.at[n]) ? Acc(0) : values[i + n] * kept;
    }
  }
};

template <class T>
struct ScaleRowsStretch {
  using Acc = AccumulatorOf<T>;
  ScaleRowsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t count = args.rows * args.width;
    Walk at(k * stretch<T>, args.width);
    map_stretch<T>(args.x, args.out, count, k, args.saturates, [&](Acc value, int i) {
      if (k * stretch<T> + i >= count) return value;
      value *= static_cast<const Acc*>(args.scale)[at.row];
      at.next();
      return value;
    });
  }
};

template <class T>
struct AddSelfStretch {
  using Acc = AccumulatorOf<T>;
  AddSelfArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t k) const {
    const Acc factor = 1 + (args.eps != nullptr ? *static_cast<const Acc*>(args.eps) : Acc(0));
    Stretch<T> x{};
    x.load(args.x, args.count, k);
    map_stretch<T>(args.out, args.out, args.count, k, args.saturates,
                   [&](Acc value, int i) { return value + factor * widen(x[i]); });
  }
};

template <class T>
struct HeadDots {
  using Acc = AccumulatorOf<T>;
  HeadDotsArgs args;
  template <class Team>
  WEFT_ANYWHERE void operator()(const Team& team, std::int64_t row_and_head) const {
    const std::int64_t head = row_and_head - quotient(row_and_head, args.heads) * args.heads;
    const T* const x = static_cast<const T*>(args.x) + row_and_head * args.width;
    const Acc* const a = static_cast<const Acc*>(args.src_vector) + head * args.width;
    const Acc* const b = static_cast<const Acc*>(args.dst_vector) + head * args.width;
    Acc src = 0, dst = 0;
    constexpr int pack = pack_size<T>;
    if (args.width % pack == 0) {
      for (std::int64_t i = pack * team.lane(); i < args.width; i += pack * team.lanes()) {
        const auto values = pack_at<T, pack>(x, i);
        WEFT_UNROLLED
        for (int n = 0; n < pack; n += 4) {
          const auto of_src = pack_at<Acc, 4>(a, i + n), of_dst = pack_at<Acc, 4>(b, i + n);
          WEFT_UNROLLED
          for (int m = 0; m < 4; ++m) {
            src += widen(values.values[n + m]) * of_src.values[m];
            dst += widen(values.values[n + m]) * of_dst.values[m];
          }
        }
      }
    } else {
      for (std::int64_t i = team.lane(); i < args.width; i += team.lanes()) {
        src += widen(x[i]) * a[i];
        dst += widen(x[i]) * b[i];
      }
    }
    src = team.sum(src);
    dst = team.sum(dst);
    if (team.lane() != 0) return;
    static_cast<T*>(args.src)[row_and_head] = narrow<T>(src);
    static_cast<T*>(args.dst)[row_and_head] = narrow<T>(dst);
  }
};

template <class T, class From = T>
struct MeanHeads {
  using Acc = AccumulatorOf<T>;
  MeanHeadsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t row = quotient(i, args.width), column = i - row * args.width;
    const From* const x = static_cast<const From*>(args.x) + row * args.heads * args.width + column;
    Acc sum = 0;
    for (std::int64_t h = 0; h < args.heads; ++h) sum += widen(x[h * args.width]);
    sum /= static_cast<Acc>(args.heads);
    if (args.bias != nullptr) sum += static_cast<const Acc*>(args.bias)[column];
    if (args.rounds) {
      static_cast<T*>(args.out)[i] = narrow_within<T>(sum);
    } else {
      static_cast<Acc*>(args.out)[i] = sum;
    }
  }
};

template <class T>
struct MeanHeadsBackward {
  using Acc = AccumulatorOf<T>;
  MeanHeadsBackwardArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t row = quotient(i, args.heads * args.width), column = i - quotient(i, args.width) * args.width;
    const Acc grad = widen(static_cast<const T*>(args.out_grad)[row * args.width + column]);
    static_cast<T*>(args.grad)[i] = narrow<T>(grad / static_cast<Acc>(args.heads));
  }
};

}  // namespace weft::dense
