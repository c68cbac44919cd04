// From a dtype to the storage type that kernels are compiled for, and which kernels this build has.
#pragma once

#include <string_view>

#include "kernels/cuda/half.hpp"
#include "kernels/cuda/launch_check.hpp"

namespace weft::cuda {

// CMake's WEFT_ABLATIONS and WEFT_CUDA_F64; only sources of the kernels' own library may include this file.
#ifdef WEFT_NO_ABLATIONS
inline constexpr bool has_ablations = false;
#else
inline constexpr bool has_ablations = true;
#endif
#ifdef WEFT_NO_CUDA_F64
inline constexpr bool has_f64 = false;
#else
inline constexpr bool has_f64 = true;
#endif

/// Calls f(Storage{}) for a floating dtype; an Error where this build has no kernels for it.
template <class F>
void with_storage(Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::f16: return f(__half{});
    case Dtype::bf16: return f(__nv_bfloat16{});
    case Dtype::f64:
      if constexpr (has_f64) {
        return f(double{});
      } else {
        refuse_f64();
      }
    default: f(float{});
  }
}

/// For a policy that only serves comparisons: an Error in a build without the kernels for it.
inline void require_ablations(std::string_view policy) {
  if constexpr (!has_ablations) refuse_policy(policy);
}

}  // namespace weft::cuda
