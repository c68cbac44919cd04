// Sums over the features of a head, `Count` edges at a time: lanes and steps that cover it have a part each.
#pragma once

#include <cuda_runtime.h>

namespace weft::cuda {

/// Over the lanes of a head, a power of two, in each of them; by the whole warp.
template <int Count, class Acc>
__device__ __forceinline__ void sum_over_head_lanes(Acc (&sum)[Count], int head_lanes) {
  for (int step = head_lanes / 2; step > 0; step /= 2) {
#pragma unroll
    for (int u = 0; u < Count; ++u) sum[u] += __shfl_xor_sync(~0u, sum[u], step);
  }
}

/// Over the steps of a lane that are of one head, in each of them; bit s of `has_features`: the lane has some in step
/// s.
template <int Steps, int Count, class Acc>
__device__ __forceinline__ void sum_over_head_steps(Acc (&sum)[Steps][Count], const int (&heads)[Steps],
                                                    unsigned has_features) {
  if constexpr (Steps > 1) {
    Acc parts[Steps][Count];
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
      for (int u = 0; u < Count; ++u) parts[s][u] = sum[s][u];
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
      for (int t = 0; t < Steps; ++t)
        if (t != s && (has_features >> t & 1u) != 0 && heads[t] == heads[s]) {
#pragma unroll
          for (int u = 0; u < Count; ++u) sum[s][u] += parts[t][u];
        }
  }
}

}  // namespace weft::cuda
