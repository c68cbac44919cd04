// From a dtype to the storage type that kernels are compiled for, and back.
#pragma once

#include <type_traits>

#include "kernels/cuda/half.hpp"
#include "kernels/cuda/launch_check.hpp"
#include "plan/built_kernels.hpp"

namespace weft::cuda {

template <class Storage>
inline constexpr Dtype storage_dtype = std::is_same_v<Storage, float>    ? Dtype::f32
                                       : std::is_same_v<Storage, double> ? Dtype::f64
                                       : std::is_same_v<Storage, __half> ? Dtype::f16
                                                                         : Dtype::bf16;

/// Calls f(Storage{}) for a floating dtype; an Error where this build has no kernels for it.
template <class F>
void with_storage(Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::f16: return f(__half{});
    case Dtype::bf16: return f(__nv_bfloat16{});
    case Dtype::f64:
      if constexpr (has_cuda_f64) {
        return f(double{});
      } else {
        refuse_f64();
      }
    default: f(float{});
  }
}

}  // namespace weft::cuda
