// Values of a tile's edges on their way to shared memory, where operands of products are loaded from: by warps that do
// nothing else, beside those that copy rows.
#pragma once

#include "kernels/cuda/windows/early_loads.cuh"
#include "kernels/cuda/windows/operand_slab.cuh"
#include "kernels/cuda/windows/tile_pipeline.cuh"

namespace weft::cuda {

/// Of tiles `warp`, `warp` + Step and so on. The edges of a tile are asked for while the one before it is spread, and
/// their values while its stage is still read; those that lanes cannot hold come when it is their turn.
template <class Storage, int Rows, int Step>
struct TileWeights {
  static constexpr int held = 10;  // edges of a lane
  const WindowSumArgs<Storage>& args;
  const std::uint32_t* starts;  // of tile 0
  int tiles;
  int warp;  // of those that do this
  std::uint32_t lane = threadIdx.x % 32;
  uint2 range = {}, range_next = {};  // edges of a tile, and of the next
  TileEdge edge[held];                // and then, in place of an id, the edge's value

  __device__ __forceinline__ void load_range(int tile) {
    constexpr int groups = Rows / 16;
    const std::uint32_t* const at = starts + static_cast<std::int64_t>(tile) * groups;
    range_next = tile < tiles ? ask_for_range(at, groups) : uint2{};
  }
  __device__ __forceinline__ void load_edges(std::uint32_t first) {
#pragma unroll
    for (int i = 0; i < held; ++i) ask_for_edge(edge[i], args.edges.edges + first + i * 32, first + i * 32 < range.y);
  }
  __device__ __forceinline__ void load_values(std::uint32_t first) {
#pragma unroll
    for (int i = 0; i < held; ++i)
      ask_for_half(edge[i].id, args.weights + edge[i].id * args.weights_pitch, first + i * 32 < range.y);
  }
  __device__ __forceinline__ void store_values(Storage* slabs, std::uint32_t first) const {
#pragma unroll
    for (int i = 0; i < held; ++i)
      if (first + i * 32 < range.y) slabs[edge[i].spot].bits = static_cast<std::uint16_t>(edge[i].id);
  }

  template <class Stage>
  __device__ __forceinline__ void spread(Stage& stage) {
    auto* const words = reinterpret_cast<uint4*>(stage.slabs);
    constexpr std::uint32_t count = sizeof stage.slabs / 16;
    static_assert(count % 32 == 0);
#pragma unroll
    for (std::uint32_t i = 0; i < count / 32; ++i) words[i * 32 + lane] = {};
    __syncwarp();
    Storage* const slabs = stage.slabs[0].values[0];
    store_values(slabs, range.x + lane);
    for (std::uint32_t first = range.x + lane + held * 32; first < range.y; first += held * 32) {
      load_edges(first);
      load_values(first);
      store_values(slabs, first);
    }
  }

  template <class Stage, int Stages>
  __device__ __forceinline__ void run(TilePipeline<Stage, Stages>& pipeline) {
    load_range(warp);
    range = range_next;
    load_edges(range.x + lane);
    load_range(warp + Step);
    StageOfTile<Stages> at;
    at.advance(warp);
    for (int tile = warp; tile < tiles; tile += Step, at.advance(Step)) {
      load_values(range.x + lane);
      pipeline.empty[at.stage].wait(at.parity ^ 1);
      spread(pipeline.stages[at.stage]);
      pipeline.full[at.stage].arrive();
      range = range_next;
      load_edges(range.x + lane);
      load_range(tile + 2 * Step);
    }
  }
};

}  // namespace weft::cuda
