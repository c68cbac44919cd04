// Dot products whose error grows with the logarithm of the width.
#if defined(WEFT_KERNELS_CPU_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_DOT_INL
#undef WEFT_KERNELS_CPU_DOT_INL
#else
#define WEFT_KERNELS_CPU_DOT_INL
#endif

#include "kernels/cpu/pairwise.hpp"
#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Up to 64 vectors in four chains, the last few vectors on the first two: at most 18 products a chain. Then a tree.
template <class D, class Term>
HWY_INLINE hn::TFromD<D> reduce_chunk(D d, std::int64_t begin, std::int64_t end, Term&& term) {
  using Acc = hn::TFromD<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::int64_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    s0 = term(d, s0, i);
    s1 = term(d, s1, i + lanes);
    s2 = term(d, s2, i + 2 * lanes);
    s3 = term(d, s3, i + 3 * lanes);
  }
  for (; i + lanes <= end; i += lanes) s0 = term(d, s0, i);
  if (i < end && end - begin >= lanes) {  // the last vector again, without what was counted
    const auto fresh = hn::Not(hn::FirstN(d, static_cast<std::size_t>(lanes - (end - i))));
    s1 = hn::IfThenElse(fresh, term(d, s1, end - lanes), s1);
    i = end;
  }
  Acc sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  if (i < end) {
    const hn::CappedTag<Acc, 1> one;
    auto rest = hn::Zero(one);
    for (; i < end; ++i) rest = term(one, rest, i);
    sum += hn::GetLane(rest);
  }
  return sum;
}

/// The sum of term(d, accumulator, position) over [0, width). `term` adds one vector of products.
template <class Acc, class Term>
HWY_INLINE Acc reduce_features(std::int64_t width, Term&& term) {
  const FullTag<Acc> d;
  const std::int64_t chunk = 64 * static_cast<std::int64_t>(hn::Lanes(d));
  if (width <= chunk) return reduce_chunk(d, 0, width, term);
  PairwiseSum<Acc> sum;
  for (std::int64_t begin = 0; begin < width; begin += chunk)
    sum.add(reduce_chunk(d, begin, begin + chunk < width ? begin + chunk : width, term));
  return sum.total();
}

/// A vector of Count * Lanes(d) features that many others are multiplied with: it stays in registers.
template <int Count, class D>
struct DotWith {
  static constexpr int count = Count;
  D d;
  hn::Vec<D> own[Count];

  template <class Storage>
  HWY_INLINE DotWith(D tag, const Storage* from) : d(tag) {
    for (int i = 0; i < Count; ++i) own[i] = load_as(d, from + i * static_cast<std::int64_t>(hn::Lanes(d)));
  }
  /// As reduce_chunk adds: four chains, then a tree.
  template <class Storage>
  HWY_INLINE hn::TFromD<D> operator()(const Storage* other) const {
    const auto at = [&](int i) HWY_ATTR { return load_as(d, other + i * static_cast<std::int64_t>(hn::Lanes(d))); };
    constexpr int chains = Count < 4 ? Count : 4;
    hn::Vec<D> s[chains];
    for (int i = 0; i < chains; ++i) s[i] = hn::Mul(own[i], at(i));
    for (int i = chains; i < Count; ++i) s[i % chains] = hn::MulAdd(own[i], at(i), s[i % chains]);
    if constexpr (chains == 4) s[2] = hn::Add(s[2], s[3]);
    if constexpr (chains > 1) s[0] = hn::Add(s[0], s[1]);
    if constexpr (chains > 2) s[0] = hn::Add(s[0], s[2]);
    return hn::GetLane(hn::SumOfLanes(d, s[0]));
  }
};

template <class Acc, class Storage>
HWY_INLINE Acc dot(const Storage* a, const Storage* b, std::int64_t width) {
  return reduce_features<Acc>(width, [&](auto d, auto sum, std::int64_t i)
                                         HWY_ATTR { return hn::MulAdd(load_as(d, a + i), load_as(d, b + i), sum); });
}

/// f(dot), where dot(other) is own . other over `width` features: by vectors held in registers for widths that have
/// such.
template <class Acc, class Storage, class F>
HWY_INLINE void with_dot(const Storage* own, std::int64_t width, F&& f) {
  const FullTag<Acc> full;
  const hn::CappedTag<Acc, 4> four;
  const auto fits = [&](auto d, auto count) HWY_ATTR {
    if (width != count * static_cast<std::int64_t>(hn::Lanes(d))) return false;
    f(DotWith<count, decltype(d)>(d, own));
    return true;
  };
  using std::integral_constant;
  if (fits(full, integral_constant<int, 1>{}) || fits(full, integral_constant<int, 2>{}) ||
      fits(full, integral_constant<int, 4>{}) || fits(full, integral_constant<int, 8>{}) ||
      fits(four, integral_constant<int, 1>{}) || fits(four, integral_constant<int, 2>{}))
    return;
  f([&](const Storage* other) HWY_ATTR { return dot<Acc>(own, other, width); });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
