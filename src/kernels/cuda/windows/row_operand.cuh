// The rows of a window in shared memory, as the operand of products that stays there while tiles pass. Compiled for
// sm_90a alone.
#pragma once

#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/windows/wgmma.cuh"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {

/// Of 128 rows, panels of 64 features each, where every panel begins at a multiple of 1024 bytes.
template <int Panels>
using RowOperand = unsigned char[Panels][128 * 128];

/// A bit for every panel in which a pack of eight features exists, of rows of `features`.
template <int Panels>
__device__ __forceinline__ unsigned panels_there(int pack, int features) {
  unsigned there = 0;
#pragma unroll
  for (int p = 0; p < Panels; ++p) there |= (p * tile_features + pack * 8 < features ? 1u : 0u) << p;
  return there;
}

/// By the eight warps that multiply, 16 rows each: rows `ids` (-1: zeros) of `from`. `there`: a bit for every panel in
/// which this lane's pack of eight features exists: zeros stand for the others.
template <int Panels, class Storage>
__device__ __forceinline__ void copy_rows(RowOperand<Panels>& operand, const NodeId* ids, const Storage* from,
                                          std::uint32_t pitch_bytes, unsigned there) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pack = lane % 8;
  const auto rows = static_cast<unsigned>(__cvta_generic_to_shared(operand));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = warp * 16 + i * 4 + lane / 8;
    const NodeId row = __ldg(ids + at);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(
        row_at(from, static_cast<std::uint32_t>(row < 0 ? 0 : row), pitch_bytes));
#pragma unroll
    for (int p = 0; p < Panels; ++p) {
      const bool copied = row >= 0 && (there >> p & 1) != 0;
      copy_async_of_line(
          rows + p * sizeof(operand[0]) + place_of_pack(at, pack),
          copied ? bytes + (p * tile_features + pack * 8) * 2 : reinterpret_cast<const unsigned char*>(from), copied);
    }
  }
  commit_copies();
  wait_for_copies<0>();
  show_copies();
  // A warpgroup multiplies the rows of its warps.
  if (warp < 4)
    asm volatile("bar.sync 1, 128;" ::: "memory");
  else
    asm volatile("bar.sync 2, 128;" ::: "memory");
}

}  // namespace weft::cuda
