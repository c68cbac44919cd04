// Weights of attention as operands of wgmma: sums of halves, made in the registers that products take them from.
// Compiled for sm_90a alone.
#pragma once

#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/windows/wgmma.cuh"

namespace weft::cuda {

/// A weight is the sum of so many halves, each the nearest to what those before it leave: 22 and 24 bits.
template <class Storage>
inline constexpr int weight_pieces = std::is_same_v<Storage, Half> ? 2 : 3;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/// The weights of 16 columns' edges, see multiply_group.
template <class Storage>
using WeightOperands = unsigned[weight_pieces<Storage>][4];

/// Those of two neighbouring columns as a word.
template <class Storage>
__device__ __forceinline__ void put_weights(WeightOperands<Storage>& a, int word, float first, float second) {
#pragma unroll
  for (int p = 0; p < weight_pieces<Storage>; ++p) {
    const unsigned pair = pair_of<Storage>(first, second);
    a[p][word] = pair;
    if (p + 1 == weight_pieces<Storage>) break;
    const float2 taken = values_of<Storage>(pair);
    first -= taken.x;
    second -= taken.y;
  }
}

/// Starts their products with 16 rows of x, small pieces first.
template <class Storage>
__device__ __forceinline__ void multiply_weights(float (&sums)[32], const WeightOperands<Storage>& a, std::uint64_t x) {
#pragma unroll
  for (int p = weight_pieces<Storage> - 1; p >= 0; --p) multiply_group<Storage>(sums, a[p], x);
  commit_products();
}

/// 2^x within two units of the last place, 0 for -inf.
__device__ __forceinline__ float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
#endif

}  // namespace weft::cuda
