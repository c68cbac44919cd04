// The formulas and the comparison of semantics.hpp on vectors: code for an instruction set has to be compiled for it,
// function by function.
#if defined(WEFT_KERNELS_CPU_FORMULA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_FORMULA_INL
#undef WEFT_KERNELS_CPU_FORMULA_INL
#else
#define WEFT_KERNELS_CPU_FORMULA_INL
#endif

#include <hwy/highway.h>

#include "kernels/semantics.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Formula>
struct Lanes;

template <>
struct Lanes<semantics::Left> {
  template <class V>
  static HWY_INLINE V of(V left, V) {
    return left;
  }
};

template <>
struct Lanes<semantics::Right> {
  template <class V>
  static HWY_INLINE V of(V, V right) {
    return right;
  }
};

template <class A, class B>
struct Lanes<semantics::Plus<A, B>> {
  template <class V>
  static HWY_INLINE V of(V left, V right) {
    return hn::Add(Lanes<A>::of(left, right), Lanes<B>::of(left, right));
  }
};

template <class A, class B>
struct Lanes<semantics::Minus<A, B>> {
  template <class V>
  static HWY_INLINE V of(V left, V right) {
    return hn::Sub(Lanes<A>::of(left, right), Lanes<B>::of(left, right));
  }
};

template <class A, class B>
struct Lanes<semantics::Times<A, B>> {
  template <class V>
  static HWY_INLINE V of(V left, V right) {
    return hn::Mul(Lanes<A>::of(left, right), Lanes<B>::of(left, right));
  }
};

template <class A, class B>
struct Lanes<semantics::Over<A, B>> {
  template <class V>
  static HWY_INLINE V of(V left, V right) {
    return hn::Div(Lanes<A>::of(left, right), Lanes<B>::of(left, right));
  }
};

/// semantics::replaces, lane by lane.
template <class V>
HWY_INLINE auto lanes_replace(V message, V largest) {
  return hn::Or(hn::Gt(message, largest), hn::AndNot(hn::IsNaN(largest), hn::IsNaN(message)));
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
