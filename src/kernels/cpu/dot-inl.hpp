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

/// Up to 16 * 4 vectors: four chains of at most 16 products, then a tree.
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

template <class Acc, class Storage>
HWY_INLINE Acc dot(const Storage* a, const Storage* b, std::int64_t width) {
  return reduce_features<Acc>(width, [&](auto d, auto sum, std::int64_t i)
                                         HWY_ATTR { return hn::MulAdd(load_as(d, a + i), load_as(d, b + i), sum); });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
