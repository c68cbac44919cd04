// From a reduced row to the output: mean, row scale, x's own row, bias and ReLU in the accumulator type, then the one
// rounding.
#if defined(WEFT_KERNELS_CPU_FINISH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_FINISH_INL
#undef WEFT_KERNELS_CPU_FINISH_INL
#else
#define WEFT_KERNELS_CPU_FINISH_INL
#endif

#include "core/check.hpp"
#include "kernels/cpu/simd-inl.hpp"
#include "kernels/signatures.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Acc>
struct Finish {
  Result out;
  std::int64_t row = 0;  // elements
  bool mean = false, relu = false;
  Operand row_scale;
  const Acc* bias = nullptr;        // [row], or null
  Acc most = 0;                     // saturating: what out can hold; 0: not
  SampledPlaces unbiased = {};      // where given, sums over a sample's edges are scaled to those over all
  const Acc* self_scale = nullptr;  // [rows], or null
  Operand self = {};                // x, of whose row r so many times is added

  /// Where nothing is left to do and the output holds the accumulator type, sums can go there directly.
  bool is_copy() const {
    return !mean && !relu && !row_scale.given() && !unbiased.given() && self_scale == nullptr && bias == nullptr &&
           most == 0 && out.dtype == dtype_of<Acc>;
  }
  Acc* direct(std::int64_t r) const { return static_cast<Acc*>(out.data) + r * out.row_stride; }

  HWY_NOINLINE void operator()(std::int64_t r, std::int64_t degree, const Acc* sum) const {
    with_floating(out.dtype, "out", [&](auto tag) HWY_ATTR {
      using Out = typename decltype(tag)::type;
      if constexpr (std::is_same_v<Acc, double> == std::is_same_v<Out, double>)
        write_with<Out>(r, degree, sum, static_cast<Out*>(out.data) + r * out.row_stride);
    });
  }

 private:
  /// x is of out's type, or out holds accumulators.
  template <class Out>
  HWY_INLINE void write_with(std::int64_t r, std::int64_t degree, const Acc* sum, Out* to) const {
    if (self_scale == nullptr) return write<Out>(r, degree, sum, to, static_cast<const Out*>(nullptr));
    with_floating(self.dtype, "x", [&](auto tag) HWY_ATTR {
      using Self = typename decltype(tag)::type;
      constexpr bool same = std::is_same_v<Self, Out>, wide = std::is_same_v<Out, Acc>;
      if constexpr ((same || wide) && std::is_same_v<Acc, double> == std::is_same_v<Self, double>)
        return write<Out>(r, degree, sum, to, static_cast<const Self*>(self.data) + r * self.row_stride);
      fail(ErrorCode::internal, "x is of type {} and out of type {}", name(self.dtype), name(out.dtype));
    });
  }

  template <class Out, class Self>
  HWY_INLINE void write(std::int64_t r, std::int64_t degree, const Acc* sum, Out* to, const Self* own) const {
    const Acc divisor = mean && degree > 0 ? static_cast<Acc>(degree) : Acc{1};
    const bool scaled = row_scale.given() || unbiased.given();
    Acc factor = !row_scale.given()              ? Acc{1}
                 : row_scale.dtype == Dtype::f64 ? static_cast<Acc>(static_cast<const double*>(row_scale.data)[r])
                                                 : static_cast<Acc>(static_cast<const float*>(row_scale.data)[r]);
    if (unbiased.given()) factor *= unbiased.template unbiased<Acc>(r, degree);
    for_each_element_block<Acc>(row, [&](auto d, std::int64_t i) HWY_ATTR {
      auto v = hn::LoadU(d, sum + i);
      if (mean) v = hn::Div(v, hn::Set(d, divisor));
      if (scaled) v = hn::Mul(v, hn::Set(d, factor));
      if (own != nullptr) v = hn::Add(v, hn::Mul(load_as(d, own + i), hn::Set(d, self_scale[r])));
      if (bias != nullptr) v = hn::Add(v, hn::LoadU(d, bias + i));
      if (relu) v = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v);  // NaN stays NaN
      if (most > 0) {                                                        // NaN is neither
        v = hn::IfThenElse(hn::Gt(v, hn::Set(d, most)), hn::Set(d, most), v);
        v = hn::IfThenElse(hn::Lt(v, hn::Set(d, -most)), hn::Set(d, -most), v);
      }
      store_as(d, v, to + i);
    });
  }
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
