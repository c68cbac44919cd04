// The edges of a window's tiles, taken by all threads that multiply, evenly: rows have so different numbers of them
// that warps with 16 rows each would wait for one.
#pragma once

#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/windows/early_loads.cuh"
#include "kernels/cuda/windows/operand_slab.cuh"
#include "kernels/cuda/windows/tile_pipeline.cuh"

namespace weft::cuda {

/// A tile's edges, of which a thread has every so manieth. Those of the next tile are on their way to L1 by then, and
/// where the ones of the tile after it are is asked for.
template <int Rows>
struct TileEdges {
  static constexpr int threads = Rows * 2, groups = Rows / 16;
  const TileEdge* edges;
  const std::uint32_t* starts;  // of tile 0
  int tiles;
  uint2 range = {}, next = {}, after = {};

  __device__ __forceinline__ uint2 range_of(int tile) const {
    return tile < tiles ? ask_for_range(starts + std::int64_t{tile} * groups, groups) : uint2{};
  }
  /// Goes on to the next tile; `third`: the number of the third one from there.
  __device__ __forceinline__ void advance(int third) {
    range = next;
    next = after;
    after = range_of(third);
    constexpr std::uint32_t line = 128 / sizeof(TileEdge);
    for (std::uint32_t j = next.x + threadIdx.x * line; j < next.y + line && next.x < next.y; j += threads * line)
      prefetch_to_l1(edges + min(j, next.y - 1));
  }
  __device__ __forceinline__ void begin() {
    next = range_of(0);
    after = range_of(1);
    advance(2);
  }
  /// f(edge) for each, from the `first`-th of this thread on.
  template <class F>
  __device__ __forceinline__ void each(uint2 of_tile, int first, const F& f) const {
#pragma unroll 4
    for (std::uint32_t j = of_tile.x + threadIdx.x + first * threads; j < of_tile.y; j += threads)
      f(load_edge(edges + j));
  }
};

/// Zeros in the slab of a warp.
template <class Storage>
__device__ __forceinline__ void clear(OperandSlab<Storage>& slab) {
  constexpr int count = sizeof slab / 16;
  auto* const words = reinterpret_cast<uint4*>(&slab);
#pragma unroll
  for (int i = 0; i < (count + 31) / 32; ++i)
    if (count % 32 == 0 || i * 32 + static_cast<int>(threadIdx.x % 32) < count) words[i * 32 + threadIdx.x % 32] = {};
}

/// Values of a tile's edges on their way to slabs: a thread asks for some of them one tile before they are stored.
template <class Storage, int Rows>
struct TileWeights {
  static constexpr int held = 4;
  const WindowSumArgs<Storage>& args;
  TileEdges<Rows> edges;  // of the next tile
  uint2 range = {};       // of this one
  std::uint32_t value[held], spot[held];

  __device__ __forceinline__ const Storage* weight_of(const TileEdge& edge) const {
    return args.weights + edge.id * args.weights_pitch;
  }
  /// Goes on to the next tile; `fourth`: the number of the fourth one from there.
  __device__ __forceinline__ void advance(int fourth) {
    range = edges.range;
    TileEdge edge[held];
#pragma unroll
    for (int i = 0; i < held; ++i) {
      const std::uint32_t j = range.x + threadIdx.x + i * edges.threads;
      ask_for_edge(edge[i], edges.edges + j, j < range.y);
    }
#pragma unroll
    for (int i = 0; i < held; ++i) {
      spot[i] = edge[i].spot;
      ask_for_half(value[i], weight_of(edge[i]), range.x + threadIdx.x + i * edges.threads < range.y);
    }
    edges.advance(fourth);
  }
  __device__ __forceinline__ void begin() {
    edges.begin();
    advance(3);
  }
  __device__ __forceinline__ void store(Storage* slabs) const {
#pragma unroll
    for (int i = 0; i < held; ++i)
      if (range.x + threadIdx.x + i * edges.threads < range.y)
        slabs[spot[i]].bits = static_cast<std::uint16_t>(value[i]);
    edges.each(range, held, [&](const TileEdge& edge) { slabs[edge.spot] = load_element(weight_of(edge)); });
  }
};

}  // namespace weft::cuda
