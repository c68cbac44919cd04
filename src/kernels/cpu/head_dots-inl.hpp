// Dot products of one row with many others, a head at a time.
#if defined(WEFT_KERNELS_CPU_HEAD_DOTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_HEAD_DOTS_INL
#undef WEFT_KERNELS_CPU_HEAD_DOTS_INL
#else
#define WEFT_KERNELS_CPU_HEAD_DOTS_INL
#endif

#include <algorithm>

#include "kernels/cpu/dot-inl.hpp"

// GCC drops calls of functions that only prefetch, unless they were inlined before it looks for such.
#ifndef WEFT_INLINE_LAMBDA
#define WEFT_INLINE_LAMBDA __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Of 2^Level vectors, each of which next() gives, the sums of 2^Level neighbours each, side by side in that order: a
/// third of the shuffles that as many sums over the lanes of a vector take.
template <int Level, class D, class Next>
HWY_INLINE hn::Vec<D> sum_neighbours(D d, Next& next) {
#if HWY_TARGET != HWY_SCALAR  // where vectors have one lane, and there is nothing to put together
  if constexpr (Level > 0) {
    const auto low = sum_neighbours<Level - 1>(d, next);
    const auto high = sum_neighbours<Level - 1>(d, next);
    return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  }
#endif
  return next();
}

/// Calls f(Level) with the logarithm of `count`, a power of two up to Most.
template <std::size_t Most, int Level = 0, class F>
HWY_INLINE void with_level(std::int64_t count, F&& f) {
  if (count == std::int64_t{1} << Level) return f(std::integral_constant<int, Level>{});
  if constexpr ((std::size_t{1} << Level) < Most) with_level<Most, Level + 1>(count, f);
}

/// own . row(k) of n rows [heads, width], to to[k * step + head].
template <class Storage, class Acc>
struct HeadDots {
  std::int64_t heads = 1, width = 1, step = 1;

  /// row(k): the first feature of row k; ahead(k): asks for a later one.
  template <class Row, class Ahead>
  HWY_INLINE void operator()(const Storage* own, std::int64_t n, Acc* to, Row&& row, Ahead&& ahead) const {
    const FullTag<Acc> full;
    const hn::CappedTag<Acc, 4> four;
    if (fits(full)) return by_vectors(full, own, n, to, row, ahead);
    if (fits(four)) return by_vectors(four, own, n, to, row, ahead);
    one_by_one(own, n, to, row, ahead);
  }

 private:
  /// Whether rows are whole vectors, which are parts of one head or have whole ones.
  template <class D>
  HWY_INLINE bool fits(D d) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    if (heads != step || lanes == 1 || width == 0 || heads * width % lanes != 0) return false;
    return width < lanes ? lanes % width == 0 : width % lanes == 0 && width <= 64 * lanes;
  }

  template <class D, class Row, class Ahead>
  HWY_INLINE void by_vectors(D d, const Storage* own, std::int64_t n, Acc* to, Row& row, Ahead& ahead) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t part = std::max(width, lanes),
                       parts = heads * width / part;  // of a row, that add up to a vector
    std::int64_t k = 0, at = parts;
    const Storage* x = nullptr;
    const auto part_of = [&](const auto& sum) HWY_ATTR WEFT_INLINE_LAMBDA {
      if (at == parts) {
        if (k == n) return hn::Zero(d);
        ahead(k);
        x = row(k++);
        at = 0;
      }
      const std::int64_t f = at++ * part;
      return sum(own + f, x + f);
    };
    const auto one = [&](const Storage* a, const Storage* b)
                         HWY_ATTR WEFT_INLINE_LAMBDA { return hn::Mul(load_as(d, a), load_as(d, b)); };
    const auto next_one = [&]() HWY_ATTR WEFT_INLINE_LAMBDA { return part_of(one); };
    const auto next_many = [&]() HWY_ATTR {
      return part_of([&](const Storage* a, const Storage* b) HWY_ATTR { return vector_of_products(d, a, b, part); });
    };
    with_level<hn::MaxLanes(D())>(std::min(width, lanes), [&](auto level) HWY_ATTR {
      constexpr int doublings = decltype(level)::value;
      for (std::int64_t done = 0; done < n * heads; done += lanes) {
        const auto sums =
            part == lanes ? sum_neighbours<doublings>(d, next_one) : sum_neighbours<doublings>(d, next_many);
        hn::StoreU(sums, d, to + done);
      }
    });
  }

  /// a[i] * b[i], whose sum over the lanes is the dot product: in four chains of at most 17 vectors.
  template <class D>
  static HWY_INLINE hn::Vec<D> vector_of_products(D d, const Storage* a, const Storage* b, std::int64_t part) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto s0 = hn::Mul(load_as(d, a), load_as(d, b)), s1 = hn::Zero(d), s2 = s1, s3 = s1;
    const auto more = [&](hn::Vec<D> sum, std::int64_t i)
                          HWY_ATTR { return hn::MulAdd(load_as(d, a + i), load_as(d, b + i), sum); };
    std::int64_t i = lanes;
    for (; i + 4 * lanes <= part; i += 4 * lanes) {
      s0 = more(s0, i);
      s1 = more(s1, i + lanes);
      s2 = more(s2, i + 2 * lanes);
      s3 = more(s3, i + 3 * lanes);
    }
    if (i < part) s1 = more(s1, i);
    if (i + lanes < part) s2 = more(s2, i + lanes);
    if (i + 2 * lanes < part) s3 = more(s3, i + 2 * lanes);
    return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  }

  template <class Row, class Ahead>
  HWY_INLINE void one_by_one(const Storage* own, std::int64_t n, Acc* to, Row& row, Ahead& ahead) const {
    constexpr std::int64_t few = 32;  // rows, which stay in cache for all heads
    for (std::int64_t begin = 0; begin < n; begin += few) {
      const std::int64_t end = std::min(n, begin + few);
      for (std::int64_t h = 0; h < heads; ++h)
        with_dot<Acc>(own + h * width, width, [&](const auto& times) HWY_ATTR {
          for (std::int64_t k = begin; k < end; ++k) {
            if (h == 0) ahead(k);
            to[k * step + h] = times(row(k) + h * width);
          }
        });
    }
  }
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
