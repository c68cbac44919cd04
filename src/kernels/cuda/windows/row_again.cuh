// A row of a window once more, edge by edge, by one warp.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::cuda {

__device__ __forceinline__ TileEdge load_edge(const TileEdge* from) {
  const uint2 words = __ldg(reinterpret_cast<const uint2*>(from));
  return {words.x, words.y};
}

/// Sums of a row over the dense columns of its window, two neighbouring features per lane: for what is not finite in x,
/// which by 0 * x reaches all rows of a window.
template <class Storage, int Rows, bool Weighted>
struct RowAgain {
  const WindowSumArgs<Storage>& args;
  int feature;  // the lane's first
  float sums[2] = {}, rest[2] = {};

  /// Edges of the lanes whose bit is set, in their order, each from its lane's `source` and times its `weight`.
  __device__ __forceinline__ void add(unsigned lanes, NodeId source, float weight) {
    constexpr int flight = 4;  // rows of x that are loaded before the first is added
    while (lanes != 0) {
      float x[flight][2];
      float weights[flight];
      int count = 0;
#pragma unroll
      for (int i = 0; i < flight; ++i) {
        if (lanes == 0) break;
        const int from = __ffs(static_cast<int>(lanes)) - 1;
        lanes &= lanes - 1;
        const auto row = static_cast<std::uint32_t>(__shfl_sync(~0u, source, from));
        weights[i] = __shfl_sync(~0u, weight, from);
        if (feature < args.features)
#pragma unroll
          for (int j = 0; j < 2; ++j)
            x[i][j] = widen(load_element(row_at(args.x, row, args.x_pitch_bytes) + feature + j));
        count = i + 1;
      }
#pragma unroll
      for (int i = 0; i < flight; ++i) {
        if (i >= count) break;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          rest[j] += weights[i] * x[i][j];
          if (!settle(sums[j], rest[j])) drop_rest(rest[j]);
        }
      }
    }
  }

  /// The same of bits and their columns.
  __device__ __forceinline__ void add_bits(unsigned bits, NodeId column) {
    add(bits, column, args.col_scale != nullptr ? __ldg(args.col_scale + column) : 1.0f);
  }

  /// Edges of the row in a tile.
  __device__ __forceinline__ void add_tile(std::int64_t tile, int row_in_window) {
    const int lane = threadIdx.x % 32;
    const NodeId* const cols = args.windows.cols + tile * window_step;
    if constexpr (Weighted) {
      const std::uint32_t* const range = args.edges.starts + tile * (Rows / 16) + row_in_window / 16;
      const std::uint32_t end = __ldg(range + 1);
      for (std::uint32_t first = __ldg(range); first < end; first += 32) {
        const std::uint32_t j = first + lane;
        const TileEdge edge = j < end ? load_edge(args.edges.edges + j) : TileEdge{0, Rows * TileEdge::pitch};
        const bool own = static_cast<int>(edge.spot / TileEdge::pitch) == row_in_window;
        add(__ballot_sync(~0u, own), own ? __ldg(cols + edge.spot % TileEdge::pitch) : 0,
            own ? widen(load_element(args.weights + edge.id * args.weights_pitch)) : 0);
      }
    } else {
#pragma unroll
      for (int k = 0; k < window_step / 32; ++k)
        add_bits(__ldg(args.windows.bits + (tile * Rows + row_in_window) * (window_step / 32) + k),
                 __ldg(cols + k * 32 + column_of_bit(lane)));
    }
  }
};

}  // namespace weft::cuda
