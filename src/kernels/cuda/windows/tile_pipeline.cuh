// Tiles on their way to shared memory: warps that copy rows of dense columns there, and barriers between these and the
// warps that multiply. Compiled for sm_90a alone.
#pragma once

#include <cstddef>

#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/primitives/mbarrier.cuh"
#include "kernels/cuda/windows/wgmma.cuh"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {

inline constexpr int copying_threads = 128, copying_warps = copying_threads / 32;

/// The stages that fit beside `Others` bytes into a block's shared memory, up to eight. Of a multiprocessor's 228 KiB
/// every block takes one more, and one for the alignment of stages.
template <class Stage, int Blocks, int Others, int Copiers = 1>
constexpr int stages_that_fit() {
  constexpr int room = (228 * 1024 / Blocks - 2048 - Others) / static_cast<int>(sizeof(Stage) + 2 * sizeof(Barrier));
  static_assert(room >= copying_warps / Copiers,
                "a warp that copies takes every so manieth stage, and goes round at most once");
  return room < 8 ? room : 8;
}

/// Of every tile `Copiers` warps copy an equal share of the panels each.
template <class Stage, int Stages, int Copiers = 1>
struct TilePipeline {
  Stage stages[Stages];
  Barrier full[Stages], empty[Stages];

  __device__ __forceinline__ void prepare(int multiplying_warps) {
    if (threadIdx.x < Stages) {
      full[threadIdx.x].expect(32 * Copiers);
      empty[threadIdx.x].expect(static_cast<unsigned>(multiplying_warps));
    }
    __syncthreads();
  }
};

/// Until all threads that multiply `Rows` rows are here. What they stored in shared memory all see then.
template <int Rows>
__device__ __forceinline__ void meet() {
  asm volatile("bar.sync 1, %0;" ::"n"(Rows * 2) : "memory");
}

/// Which stage a tile has, and the parity of its phase.
template <int Stages>
struct StageOfTile {
  int stage = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void advance(int tiles) {
    stage += tiles;
    if (stage >= Stages) {
      stage -= Stages;
      parity ^= 1;
    }
  }
};

/// What a warp copies beside the rows of a tile: nothing.
struct NoOtherCopies {
  template <class Stage>
  __device__ __forceinline__ void operator()(Stage&, int2) const {}
};

/// What one of the warps copies: of tiles `warp`, `warp` + 4 and so on, a lane 16 bytes of every fourth column. Where
/// several warps share a tile, theirs are tiles `warp`, `warp` + 4 / Copiers and so on.
struct TileCopies {
  const NodeId* cols;  // of tile 0
  int tiles;
  int warp;                   // of those that copy; the first tile's number
  const unsigned char* x;     // the lane's bytes of row 0; of panel p 128 bytes times p later
  std::uint32_t pitch;        // bytes of a row
  unsigned there;             // a bit for every panel whose bytes exist: zeros stand for the others
  const std::uint32_t* bits;  // of tile 0, where stages have bits
  int share = 0;              // of a tile's copiers, which this is

  /// A lane's two of a tile's columns.
  __device__ __forceinline__ int2 columns_of(int tile) const {
    const NodeId* const at = cols + static_cast<std::int64_t>(tile) * window_step + threadIdx.x % 32;
    return tile < tiles ? make_int2(__ldg(at), __ldg(at + 32)) : int2{};
  }

  /// `next`: the columns of this warp's first tile. beside(stage, a lane's two columns) starts copies of its own; where
  /// it has drain(stage, tile), that takes what the warps that multiply left in the stage of each tile.
  template <class Stage, int Stages, int Copiers, class Beside = NoOtherCopies>
  __device__ __forceinline__ void run(TilePipeline<Stage, Stages, Copiers>& pipeline, int2 next,
                                      const Beside& beside = {}) const {
    constexpr int panels = sizeof(Stage::x) / sizeof(Stage::x[0]) / Copiers, tiles_apart = copying_warps / Copiers;
    constexpr bool drains = requires { beside.drain(pipeline.stages[0], 0); };
    const int lane = threadIdx.x % 32, pack = lane % 8;
    const auto stages = static_cast<unsigned>(__cvta_generic_to_shared(pipeline.stages));
    const unsigned first_panel = stages + share * panels * static_cast<unsigned>(sizeof(Stage::x[0]));
    const unsigned even = first_panel + place_of_pack(lane / 8, pack),
                   odd = first_panel + place_of_pack(4 + lane / 8, pack) - 512;
    StageOfTile<Stages> at;
    at.advance(warp);
    const int end = drains ? tiles + Stages : tiles;
    for (int tile = warp; tile < end; tile += tiles_apart, at.advance(tiles_apart)) {
      const int2 columns = next;
      next = columns_of(tile + tiles_apart);
      pipeline.empty[at.stage].wait(at.parity ^ 1);
      if constexpr (drains) {
        if (tile >= Stages) beside.drain(pipeline.stages[at.stage], tile - Stages);
        if (tile >= tiles) continue;
      }
      const auto stage = static_cast<unsigned>(at.stage * sizeof(Stage));
#pragma unroll
      for (int i = 0; i < window_step / 4; ++i) {
        const int id = __shfl_sync(~0u, i < window_step / 8 ? columns.x : columns.y, i % 8 * 4 + lane / 8);
        const unsigned char* const row = x + static_cast<std::uint64_t>(static_cast<std::uint32_t>(id)) * pitch;
#pragma unroll
        for (int p = 0; p < panels; ++p)
          copy_async_of_line((i % 2 == 0 ? even : odd) + stage + p * sizeof(Stage::x[0]) + i * 512, row + p * 128,
                             (there >> p & 1) != 0);
      }
      if constexpr (requires { Stage::bits; }) {
        constexpr int words = sizeof(Stage::bits) / 4, each = words / Copiers;
        const int first = share * each + lane * 4;
        const std::uint32_t* const words_at = bits + static_cast<std::int64_t>(tile) * words + first;
#pragma unroll
        for (int i = 0; i < each; i += 128)
          copy_async_of_line(stages + stage + offsetof(Stage, bits) + (first + i) * 4, words_at + i, true);
      }
      beside(pipeline.stages[at.stage], columns);
      pipeline.full[at.stage].arrive_with_copies();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");  // no thread ends before its copies
  }
};

}  // namespace weft::cuda
