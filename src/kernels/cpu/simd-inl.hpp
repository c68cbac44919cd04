// Vector loads and stores of every storage type, compiled once for each instruction set.
#if defined(WEFT_KERNELS_CPU_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SIMD_INL
#undef WEFT_KERNELS_CPU_SIMD_INL
#else
#define WEFT_KERNELS_CPU_SIMD_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Without F16C the library's own conversions do not round to nearest even: those targets convert one by one.
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4
inline constexpr bool has_half_conversion = false;
#else
inline constexpr bool has_half_conversion = true;
#endif

/// Lanes(d) elements of Storage at p, widened to the accumulator type of d.
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const double* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const BFloat16* p) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::uint32_t, D> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const Half* p) {
  if constexpr (has_half_conversion) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p))));
  } else {
    HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)];
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) wide[i] = static_cast<float>(p[i]);
    return hn::Load(d, wide);
  }
}

/// The reverse, rounded once to nearest even.
template <class D>
HWY_INLINE void store_as(D d, hn::Vec<D> v, float* p) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void store_as(D d, hn::Vec<D> v, double* p) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void store_as(D, hn::Vec<D> v, BFloat16* p) {
  const hn::Rebind<std::uint32_t, D> d32;
  const hn::Rebind<std::int32_t, D> di;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto bits = hn::BitCast(d32, v);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(d32, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu))));
  const auto quiet = hn::Or(high, hn::Set(d32, 0x40u));
  const auto chosen = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, chosen)), d16, reinterpret_cast<std::uint16_t*>(p));
}
template <class D>
HWY_INLINE void store_as([[maybe_unused]] D d, hn::Vec<D> v, Half* p) {
  if constexpr (has_half_conversion) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> dh;
    hn::StoreU(hn::BitCast(d16, hn::DemoteTo(dh, v)), d16, reinterpret_cast<std::uint16_t*>(p));
  } else {
    HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, d, wide);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = Half(wide[i]);
  }
}

template <class Acc>
using FullTag = hn::ScalableTag<Acc>;

/// Calls f(tag) with the widest vectors that fit into `width` elements: full, four lanes, or one.
template <class Acc, class F>
HWY_INLINE void with_lanes(std::int64_t width, F&& f) {
  constexpr FullTag<Acc> full;
  constexpr hn::CappedTag<Acc, 4> four;
  if (width >= static_cast<std::int64_t>(hn::Lanes(full))) {
    f(full);
  } else if (width >= static_cast<std::int64_t>(hn::Lanes(four))) {
    f(four);
  } else {
    f(hn::CappedTag<Acc, 1>{});
  }
}

/// Whole numbers as large as an accumulator.
template <class Acc>
using IndexOf = std::conditional_t<sizeof(Acc) == 8, std::int64_t, std::int32_t>;

/// The value of each feature's head, of `step` at `by_head`, behind which a vector's room can be read.
template <class D, class Acc>
HWY_INLINE hn::Vec<D> of_heads(D d, const Acc* by_head, const IndexOf<Acc>* heads, std::int64_t step) {
  const hn::RebindToSigned<D> whole;
  const auto head = hn::LoadU(whole, heads);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (step <= lanes) return hn::TableLookupLanes(hn::LoadU(d, by_head), hn::IndicesFromVec(d, head));
  if (heads[0] == heads[lanes - 1]) return hn::Set(d, by_head[heads[0]]);
  return hn::GatherIndex(d, by_head, head);
}

/// v, or times the slope where it is not positive.
template <class D>
HWY_INLINE hn::Vec<D> leaky_relu(D d, hn::Vec<D> v, hn::Vec<D> slope) {
  return hn::IfThenElse(hn::Gt(v, hn::Zero(d)), v, hn::Mul(v, slope));
}

/// Calls f(i) for vector positions that cover [0, width); the last one may overlap the one before it.
/// width >= Lanes(d).
template <class D, class F>
HWY_INLINE void for_each_vector(D d, std::int64_t width, F&& f) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) f(i);
  if (i < width) f(width - lanes);
}

/// out[i] = g(vector of in-range position i), for any width.
template <class Acc, class F>
HWY_INLINE void for_each_element_block(std::int64_t width, F&& f) {
  if (width <= 0) return;
  with_lanes<Acc>(width,
                  [&](auto d) HWY_ATTR { for_each_vector(d, width, [&](std::int64_t i) HWY_ATTR { f(d, i); }); });
}

/// Asks for the row at p: every cache line of it, up to 1 KiB (the hardware follows from there).
HWY_INLINE void prefetch_row(const void* p, std::int64_t bytes) {
  const auto* at = static_cast<const char*>(p);
  const std::int64_t most = bytes < 1024 ? bytes : 1024;
  for (std::int64_t b = 0; b < most; b += 64) hwy::Prefetch(at + b);
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
