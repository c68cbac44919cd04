// Weights of edges as operands of products by mma.sync: a warp spreads those of 16 rows of a tile in shared memory, and
// operands are loaded from there.
#pragma once

#include "kernels/cuda/windows/operand_slab.cuh"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {

/// Values of the edges of 16 rows, tile by tile, fed by a warp: those of a tile are on their way while the one before
/// it is multiplied, and where the next ones are as well. A lane has every 32nd edge and holds `Held` of them; the
/// others of a tile are loaded when it comes.
template <class Storage, int Rows, int Held = 4>
struct WeightFeed {
  const WindowSumArgs<Storage>& args;
  const std::uint32_t* starts;  // of these rows in tile 0
  int tiles;
  std::uint32_t first_spot;  // of these rows in a tile
  std::uint32_t lane = threadIdx.x % 32;
  uint2 range = {}, range_next = {}, range_after = {};  // edges of a tile, the next and the one after it
  Storage value[Held];
  std::uint32_t spot[Held];
  TileEdge next[Held];

  __device__ __forceinline__ void load_range(int tile) {
    const std::uint32_t* const at = starts + static_cast<std::int64_t>(tile) * (Rows / 16);
    range_after = tile < tiles ? make_uint2(__ldg(at), __ldg(at + 1)) : uint2{};
  }
  __device__ __forceinline__ Storage weight_of(std::uint32_t id) const {
    return load_element(args.weights + id * args.weights_pitch);
  }
  __device__ __forceinline__ void load_next() {
#pragma unroll
    for (int i = 0; i < Held; ++i) {
      const std::uint32_t j = range_next.x + lane + i * 32;
      if (j < range_next.y) next[i] = load_edge(args.edges.edges + j);
    }
  }
  /// Goes on to the next tile: its edges are there, and their values are asked for; `last` is two tiles later.
  __device__ __forceinline__ void advance(int last) {
    range = range_next;
    range_next = range_after;
#pragma unroll
    for (int i = 0; i < Held; ++i) {
      spot[i] = next[i].spot - first_spot;
      if (range.x + lane + i * 32 < range.y) value[i] = weight_of(next[i].id);
    }
    load_range(last);
    load_next();
  }
  __device__ __forceinline__ void begin() {
    load_range(0);
    range_next = range_after;
    load_next();
    load_range(1);
    advance(2);
  }
  /// A tile's values into a slab, which other warps see after a barrier.
  __device__ __forceinline__ void fill(int tile, OperandSlab<Storage>& slab) {
    __syncwarp();  // all lanes have left what was there
    auto* const words = reinterpret_cast<uint4*>(slab.values);
#pragma unroll
    for (std::uint32_t i = 0; i < (sizeof slab / 16 + 31) / 32; ++i)
      if (i * 32 + lane < sizeof slab / 16) words[i * 32 + lane] = {};
    __syncwarp();
#pragma unroll
    for (int i = 0; i < Held; ++i)
      if (range.x + lane + i * 32 < range.y) slab.values[0][spot[i]] = value[i];
    for (std::uint32_t j = range.x + lane + Held * 32; j < range.y; j += 32) {
      const TileEdge edge = load_edge(args.edges.edges + j);
      slab.values[0][edge.spot - first_spot] = weight_of(edge.id);
    }
    advance(tile + 3);
    __syncwarp();
  }
};

}  // namespace weft::cuda
