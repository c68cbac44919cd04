// Sums across the lanes of a group, and along those of a warp; extremes.
#pragma once

#include <cuda_runtime.h>

namespace weft::cuda {

/// The value, or 0. (A plain conditional becomes a branch where the value takes a few instructions.)
__device__ __forceinline__ float if_counts(bool counts, float value) {
  return __int_as_float(__float_as_int(value) & -static_cast<int>(counts));
}
__device__ __forceinline__ double if_counts(bool counts, double value) { return counts ? value : 0.0; }

/// The larger of two, or a NaN where there is one.
__device__ __forceinline__ float larger(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ double larger(double a, double b) { return !(a >= b) && a == a ? b : a; }

/// 1 / value within a rounding, for values far from both ends of the range: no zeros and no infinities are looked for.
__device__ __forceinline__ float reciprocal(float value) {
  float about;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(about) : "f"(value));
  return fmaf(about, fmaf(-value, about, 1.0f), about);
}
__device__ __forceinline__ double reciprocal(double value) { return __drcp_rn(value); }

/// Moves `near` into `far`, and what rounding takes from the sum back into `near` (Kahan's summation): however often
/// that happens, the error stays that of a few additions. Says whether that rest is one: a sum that is not finite has
/// none, and whoever goes on calls drop_rest then.
template <class Acc>
__device__ __forceinline__ bool settle(Acc& far, Acc& near) {
  const Acc sum = far + near;
  near -= sum - far;
  far = sum;
  return fabs(near) < Acc(INFINITY);
}
template <class Acc>
__device__ __forceinline__ void drop_rest(Acc& near) {
  near = fabs(near) < Acc(INFINITY) ? near : Acc(0);
}

/// N sums over the same Lanes at once, by halves: every step each lane passes half of its sums on and keeps the other,
/// so that N sums take little more shuffles than one. Afterwards lane l holds sum `owned_sum<Lanes, N>(l)` in
/// values[0], or where there are fewer lanes than sums the N / Lanes from there on.
template <int Lanes, int N, class Acc>
__device__ __forceinline__ void sum_over_lanes(Acc (&values)[N], int lane) {
  int count = N;
#pragma unroll
  for (int step = Lanes / 2; step > 0; step /= 2) {
    if (count > 1) {
      count /= 2;
      const bool upper = (lane & step) != 0;
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        if (i >= count) break;
        const Acc passed = upper ? values[i] : values[i + count];
        const Acc kept = upper ? values[i + count] : values[i];
        values[i] = kept + __shfl_xor_sync(~0u, passed, step, Lanes);
      }
    } else {
      values[0] += __shfl_xor_sync(~0u, values[0], step, Lanes);
    }
  }
}

template <int Lanes, int N>
__device__ __forceinline__ int owned_sum(int lane) {
  return Lanes >= N ? lane / (Lanes >= N ? Lanes / N : 1) : lane * (Lanes >= N ? 1 : N / Lanes);
}

/// N sums at once over each segment of neighbouring lanes of a warp, `start` being the first lane of this one's:
/// afterwards the last lane of a segment has its sums, and every other one those up to itself.
template <int N, class Acc>
__device__ __forceinline__ void sum_segments(Acc (&values)[N], int lane, int start) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const bool within = lane - step >= start;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Acc before = __shfl_up_sync(~0u, values[i], step);
      if (within) values[i] += before;
    }
  }
}

}  // namespace weft::cuda
