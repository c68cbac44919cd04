// From a storage type known when a pass runs to one its body is compiled for.
#pragma once

#include "weft/types.hpp"

namespace weft::loops {

/// f.operator()<T>(). Loops without f64 take f32 for it.
template <class Loops, class F>
void with_storage(const Loops&, Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::f16: return f.template operator()<Half>();
    case Dtype::bf16: return f.template operator()<BFloat16>();
    case Dtype::f64:
      if constexpr (Loops::has_f64) return f.template operator()<double>();
      [[fallthrough]];
    default: f.template operator()<float>();
  }
}

}  // namespace weft::loops
