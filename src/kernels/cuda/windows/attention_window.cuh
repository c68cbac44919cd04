// What the blocks that attend over windows share, whatever the scores: values of a tile's columns, weights of edges as
// operands of wgmma, and rows that take the residual's in. Compiled for sm_90a alone.
#pragma once

#include "kernels/cuda/attention/redo_row.cuh"
#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/windows/attention.hpp"
#include "kernels/cuda/windows/launch_windows.cuh"
#include "kernels/cuda/windows/tile_pipeline.cuh"
#include "kernels/cuda/windows/weight_operands.cuh"

namespace weft::cuda {

inline constexpr int attention_rows = 128, attention_multiplying = attention_rows * 2,
                     attention_threads = attention_multiplying + copying_threads;
inline constexpr int attention_blocks = 2;  // of a multiprocessor
/// A block has 80 registers a thread when it starts, and the warps that multiply have what those that copy give back.
inline constexpr int attention_copying_registers = 32, attention_multiplying_registers = 104;

inline constexpr int attention_chain = 2;  // tiles between settlings

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/// 64 features of a row by a warp. A call, so that what it takes of registers is not taken from the products.
template <class Storage>
static __device__ __noinline__ void attend_again(const GatherArgs<Gat<Storage>>& whole, NodeId row, int feature) {
  if (feature < whole.features) redo_row<2>(whole, row, feature);
}

/// A block: a window and 64 features of all heads'. A lane of the warps that multiply has rows `group` and 8 later of
/// its warp's 16.
template <class Storage>
struct AttentionWindow {
  const WindowAttentionArgs<Storage>& args;
  const ScoreArgs<Storage>& message = args.whole.message;
  WindowWork work = work_at(args.windows.work + blockIdx.x);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, quad = lane % 4;
  int first_feature = static_cast<int>(blockIdx.y) * tile_features;  // of all heads
  int head = first_feature / message.width;

  __device__ __forceinline__ NodeId row_at_place(int row_in_window) const {
    return __ldg(args.windows.rows + std::int64_t{work.window} * attention_rows + row_in_window);
  }
  /// A lane's i-th.
  __device__ __forceinline__ NodeId own_row(int i) const { return row_at_place(warp * 16 + group + i * 8); }

  /// Copies of the columns' values.
  __device__ __forceinline__ TileCopies copies_of_values() const {
    const int in_head = first_feature - head * message.width + lane % 8 * 8;
    const bool there = in_head < message.width;
    const Storage* const x = args.whole.x + head * message.x_head;
    TileCopies copies{args.windows.cols + std::int64_t{work.first_tile} * window_step, work.tiles,
                      warp - attention_multiplying / 32};
    copies.x = reinterpret_cast<const unsigned char*>(there ? x + in_head : x);
    copies.pitch = there ? args.whole.x_pitch_bytes : 0;
    copies.there = there ? 1 : 0;
    copies.bits = args.windows.bits + std::int64_t{work.first_tile} * (window_step / 32 * attention_rows);
    return copies;
  }

  /// A row's words of bits, shifted so that bits 4 n and 4 n + 16 are this lane's n-th two columns of 32.
  template <class Stage>
  __device__ __forceinline__ void load_bits(const Stage& stage, uint2 (&bits)[2]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) bits[i] = RowBits(stage.bits[warp * 16 + group + i * 8], quad).words;
  }

  /// What the weights of a row's edges in tiles are relative to, and whether their sum can be taken.
  struct OfTiles {
    float top;
    bool usable;
  };
  /// How the two parts of a row add up: the window's by `tile`, the residual's by `rest`.
  struct Shares {
    float tile = 0, rest = 0;
    float top = -INFINITY, total = 0;  // the row's statistics
    bool usable = true;
  };
  /// `weights`: the sum of the tiles', of which `unit` is the score of_tiles(row, edges, weights).top.
  template <class OfTilesOf>
  __device__ __forceinline__ Shares shares_of(NodeId row, float weights, float unit, const OfTilesOf& of_tiles) const {
    Shares shares;
    const GraphView& graph = args.whole.split.graph;
    float edges = static_cast<float>(__ldg(graph.offsets + row + 1) - __ldg(graph.offsets + row));
    float rest_top = -INFINITY, rest_sum = 0;
    if (args.residual != nullptr) {
      edges -= static_cast<float>(__ldg(args.residual_offsets + row + 1) - __ldg(args.residual_offsets + row));
      rest_top = __ldg(args.residual_max + std::int64_t{row} * message.heads + head);
      rest_sum = __ldg(args.residual_sum + std::int64_t{row} * message.heads + head);
    }
    const bool in_tiles = edges > 0, in_rest = rest_sum != 0;
    if (!in_tiles && !in_rest) return shares;
    const OfTiles tiles = of_tiles(row, edges, weights);
    shares.top = !in_tiles ? rest_top : !in_rest ? tiles.top : larger(tiles.top, rest_top);
    const float by_tiles = in_tiles ? rescale(tiles.top, shares.top) / unit : 0.0f;
    const float by_rest = in_rest ? rescale(rest_top, shares.top) * rest_sum : 0.0f;
    shares.total = (in_tiles ? by_tiles * weights : 0.0f) + by_rest;
    if (in_tiles) shares.tile = by_tiles / shares.total;
    if (in_rest) shares.rest = by_rest / shares.total;
    shares.usable = shares.total < INFINITY && (!in_tiles || tiles.usable);
    return shares;
  }

  /// Rows of this warp from their sums over tiles, or where those cannot be taken from all their edges. `totals`: of a
  /// lane's columns alone. of_tiles(i, row, edges, weights) is of a lane's i-th row.
  template <class OfTilesOf>
  __device__ __forceinline__ void write_rows(const float (&sums)[32], const float (&totals)[2], float unit,
                                             const OfTilesOf& of_tiles) const {
    unsigned again = 0;  // a bit for each of this lane's rows
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float weights = totals[i];
      weights += __shfl_xor_sync(~0u, weights, 1);
      weights += __shfl_xor_sync(~0u, weights, 2);
      const NodeId row = own_row(i);
      bool finite = true;
      Shares shares;
      if (row >= 0) {
        shares =
            shares_of(row, weights, unit, [&](NodeId r, float edges, float w) { return of_tiles(i, r, edges, w); });
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int feature = first_feature + n * 8 + quad * 2;
          if (feature >= args.whole.features) continue;
          float value[2] = {0, 0};
          if (shares.tile != 0) {
            value[0] = sums[n * 4 + i * 2] * shares.tile;
            value[1] = sums[n * 4 + i * 2 + 1] * shares.tile;
          }
          if (shares.rest != 0) {
            const auto rest = Pack<float, 2>::load(args.residual + std::int64_t{row} * args.whole.features + feature);
            value[0] += rest.values[0] * shares.rest;
            value[1] += rest.values[1] * shares.rest;
          }
          finite = finite && fabsf(value[0]) < INFINITY && fabsf(value[1]) < INFINITY;
          store_row<2>(args.whole.epilogue, row, feature, value);
        }
      }
      const bool bad = row >= 0 && !(finite && shares.usable);
      const bool row_bad = (__ballot_sync(~0u, bad) >> (group * 4) & 0xf) != 0;
      if (row_bad) again |= 1u << i;
      if (row >= 0 && !row_bad && quad == 0 && head * message.width == first_feature) {
        message.row_max[row * message.max_pitch + head] = shares.top;
        message.row_sum[row * message.sum_pitch + head] = shares.total;
      }
    }
    if (__ballot_sync(~0u, again != 0) == 0) return;
    __syncwarp();  // what was stored above is stored again
    for (int place = 0; place < 16; ++place)
      if ((__shfl_sync(~0u, again, place % 8 * 4) >> (place / 8) & 1) != 0)
        attend_again(args.whole, row_at_place(warp * 16 + place), first_feature + lane * 2);
  }
};
#endif

template <class Memory, class Args>
void launch_attention_windows(void (*kernel)(Args), const Args& args, const char* what, CUstream_st* stream) {
  launch_windows<Memory>(kernel, args, (args.whole.features + tile_features - 1) / tile_features, attention_threads,
                         args.residual != nullptr, what, stream);
}

}  // namespace weft::cuda
