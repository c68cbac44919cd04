// Elements whose storage type is known when the kernel runs: every thread of a warp takes the same branch, which a pass
// that waits for memory does not feel. Rounding is to nearest even, once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "weft/types.hpp"

namespace weft::cuda {

template <class To>
__device__ __forceinline__ To load_as(Dtype dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case Dtype::f32: return static_cast<To>(static_cast<const float*>(data)[i]);
    case Dtype::f16: return static_cast<To>(__half2float(static_cast<const __half*>(data)[i]));
    case Dtype::bf16: return static_cast<To>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]));
    case Dtype::f64: return static_cast<To>(static_cast<const double*>(data)[i]);
    case Dtype::i32: return static_cast<To>(static_cast<const std::int32_t*>(data)[i]);
    case Dtype::i64: return static_cast<To>(static_cast<const std::int64_t*>(data)[i]);
  }
  return To{};
}

__device__ __forceinline__ __half to_half(float value) { return __float2half_rn(value); }
__device__ __forceinline__ __half to_half(double value) { return __double2half(value); }
__device__ __forceinline__ __nv_bfloat16 to_bfloat16(float value) { return __float2bfloat16_rn(value); }
__device__ __forceinline__ __nv_bfloat16 to_bfloat16(double value) { return __double2bfloat16(value); }

/// `value` is a float or a double; to an integer type only whole numbers it holds.
template <class From>
__device__ __forceinline__ void store_as(Dtype dtype, void* data, std::int64_t i, From value) {
  switch (dtype) {
    case Dtype::f32: static_cast<float*>(data)[i] = static_cast<float>(value); return;
    case Dtype::f16: static_cast<__half*>(data)[i] = to_half(value); return;
    case Dtype::bf16: static_cast<__nv_bfloat16*>(data)[i] = to_bfloat16(value); return;
    case Dtype::f64: static_cast<double*>(data)[i] = static_cast<double>(value); return;
    case Dtype::i32: static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value); return;
    case Dtype::i64: static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(value); return;
  }
}

}  // namespace weft::cuda
