// Weights of a tile's edges in shared memory, as operands of products are loaded from there.
#pragma once

#include "graph/windows/row_windows.hpp"
#include "kernels/cuda/primitives/mma.cuh"

namespace weft::cuda {

/// Of 16 rows. Those of a window's rows follow one another, as TileEdge::spot counts.
template <class Storage>
struct alignas(16) OperandSlab {
  Storage values[16][TileEdge::pitch];

  /// Those of the k-th 16 columns.
  __device__ __forceinline__ void load(int k, unsigned (&a)[4]) const {
    const int lane = threadIdx.x % 32;
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(values[lane % 16] + lane / 16 * 8));
    load_matrices(a, at + k * 32);
  }
};

}  // namespace weft::cuda
