// What edges have for each head, [edges, step], in vectors: `step` is a power of two, the heads come first in it, and
// what a row has for each head is repeated to the length of a vector, so that both are read side by side.
#if defined(WEFT_KERNELS_CPU_HEAD_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_HEAD_LINES_INL
#undef WEFT_KERNELS_CPU_HEAD_LINES_INL
#else
#define WEFT_KERNELS_CPU_HEAD_LINES_INL
#endif

#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <limits>

#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Acc>
HWY_INLINE std::int64_t period_of(std::int64_t step) {
  return std::max(step, static_cast<std::int64_t>(hn::Lanes(FullTag<Acc>{})));
}

/// value(h) of each head, repeated; 0 where there is none.
template <class Acc, class F>
HWY_INLINE void repeat_heads(std::int64_t heads, std::int64_t step, Acc* to, F&& value) {
  const FullTag<Acc> d;
  if (step == 1) return hn::StoreU(hn::Set(d, value(0)), d, to);
  for (std::int64_t h = 0; h < step; ++h) to[h] = h < heads ? value(h) : Acc{0};
  for (std::int64_t i = step; i < period_of<Acc>(step); ++i) to[i] = to[i - step];
}

/// f(vector tag, position, the same position in what a row has) for a line of n edges, by whole vectors.
template <class Acc, class F>
HWY_INLINE void each_vector_of_line(std::int64_t n, std::int64_t step, F&& f) {
  const FullTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t in_period = period_of<Acc>(step) - 1;
  for (std::int64_t i = 0; i < n * step; i += lanes) f(d, i, i & in_period);
}

/// `start` behind n edges, to the end of the last vector.
template <class Acc>
HWY_INLINE void end_line(Acc* line, std::int64_t n, std::int64_t step, Acc start) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FullTag<Acc>{}));
  for (std::int64_t i = n * step; i % lanes != 0; ++i) line[i] = start;
}

/// to = of every head, repeated, `combine` over n edges, which begins at `start`; at(i) is the vector at position i of
/// lines that end with end_line. Four chains of at most sixteen vectors each, one such block after the other: the error
/// of sums grows with the number of blocks, of which a piece has 16.
template <class Acc, class At, class Combine>
HWY_INLINE void reduce_lines(std::int64_t n, std::int64_t step, Acc start, Acc* to, At&& at, Combine&& combine) {
  const FullTag<Acc> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t period = period_of<Acc>(step);
  for (std::int64_t j = 0; j < period; j += lanes) {
    auto all = hn::Set(d, start);
    for (std::int64_t begin = j; begin < n * step; begin += 64 * period) {
      const std::int64_t end = std::min(n * step, begin + 64 * period);
      auto s0 = hn::Set(d, start), s1 = s0, s2 = s0, s3 = s0;
      std::int64_t i = begin;
      for (; i + 3 * period < end; i += 4 * period) {
        s0 = combine(d, s0, at(d, i));
        s1 = combine(d, s1, at(d, i + period));
        s2 = combine(d, s2, at(d, i + 2 * period));
        s3 = combine(d, s3, at(d, i + 3 * period));
      }
      for (; i < end; i += period) s0 = combine(d, s0, at(d, i));
      all = combine(d, all, combine(d, combine(d, s0, s1), combine(d, s2, s3)));
    }
    for (std::int64_t other = step; other < lanes; other *= 2) {
      const auto from = hn::Xor(hn::Iota(whole, 0), hn::Set(whole, static_cast<IndexOf<Acc>>(other)));
      all = combine(d, all, hn::TableLookupLanes(all, hn::IndicesFromVec(d, from)));
    }
    hn::StoreU(all, d, to + j);
  }
}

template <class Acc, class At>
HWY_INLINE void sum_lines(std::int64_t n, std::int64_t step, Acc* to, At&& at) {
  reduce_lines(n, step, Acc{0}, to, at, [](auto, auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}
template <class Acc>
HWY_INLINE void sum_line(Acc* line, std::int64_t n, std::int64_t step, Acc* to) {
  end_line(line, n, step, Acc{0});
  sum_lines(n, step, to, [line](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, line + i); });
}

/// Of the products of two lines.
template <class Acc>
HWY_INLINE void sum_products(Acc* a, Acc* b, std::int64_t n, std::int64_t step, Acc* to) {
  end_line(a, n, step, Acc{0});
  end_line(b, n, step, Acc{0});
  sum_lines(n, step, to,
            [a, b](auto d, std::int64_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)); });
}

/// The largest score of every head; NaN where one is NaN, and -inf where there is none.
template <class Acc>
HWY_INLINE void max_of_line(Acc* line, std::int64_t n, std::int64_t step, Acc* to) {
  constexpr Acc none = -std::numeric_limits<Acc>::infinity();
  end_line(line, n, step, none);
  reduce_lines(
      n, step, none, to, [line](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, line + i); },
      [](auto, auto a, auto b)
          HWY_ATTR { return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b))); });
}

/// exp(v - top) for v <= top: 0 where all is masked (top is -inf), NaN where one of both is or both are +inf. Below a
/// top of +inf that is 0, but the sum of such a row is NaN.
template <class D>
HWY_INLINE hn::Vec<D> weight_below(D d, hn::Vec<D> v, hn::Vec<D> top) {
  const auto masked = hn::Eq(top, hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity()));
  const auto x = hn::Sub(v, hn::IfThenZeroElse(masked, top));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));  // which makes 0 of NaN
}

/// line = exp(line - top)
template <class Acc>
HWY_INLINE void weigh_line(Acc* line, std::int64_t n, std::int64_t step, const Acc* top) {
  each_vector_of_line<Acc>(n, step, [&](auto d, std::int64_t i, std::int64_t of_row) HWY_ATTR {
    hn::StoreU(weight_below(d, hn::LoadU(d, line + i), hn::LoadU(d, top + of_row)), d, line + i);
  });
}

/// v / total, and 0 where that is 0: all is masked.
template <class D>
HWY_INLINE hn::Vec<D> share_of(D d, hn::Vec<D> v, hn::Vec<D> total) {
  return hn::IfThenZeroElse(hn::Eq(total, hn::Zero(d)), hn::Div(v, total));
}

/// line = line / total
template <class Acc>
HWY_INLINE void divide_line(Acc* line, std::int64_t n, std::int64_t step, const Acc* total) {
  each_vector_of_line<Acc>(n, step, [&](auto d, std::int64_t i, std::int64_t of_row) HWY_ATTR {
    hn::StoreU(share_of(d, hn::LoadU(d, line + i), hn::LoadU(d, total + of_row)), d, line + i);
  });
}

/// The head of every feature.
template <class Acc>
const IndexOf<Acc>* number_heads(std::int64_t heads, std::int64_t width, Acc* room) {
  auto* const to = reinterpret_cast<IndexOf<Acc>*>(room);
  for (std::int64_t i = 0; i < heads * width; ++i) to[i] = static_cast<IndexOf<Acc>>(i / width);
  return to;
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
