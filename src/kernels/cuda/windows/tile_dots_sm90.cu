// Dot products of destinations with their sources where those are dense columns of windows: a tile's products of 128
// rows with 64 columns by wgmma, of which those that are edges are stored. The rows of a window stay in shared memory.
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/windows/early_loads.cuh"
#include "kernels/cuda/windows/row_operand.cuh"
#include "kernels/cuda/windows/tile_pipeline.cuh"

namespace weft::cuda {
namespace {

constexpr int dot_rows = 128, multiplying = dot_rows * 2, dot_threads = multiplying + copying_threads;

template <int Panels>
struct DotShape {
  using Stage = TileStage<Panels>;
  static constexpr int blocks = Panels == 1 ? 2 : 1;  // of a multiprocessor
  static constexpr int rows_bytes = dot_rows * Panels * 128;
  static constexpr int products_bytes = dot_rows * TileEdge::pitch * 4;
  static constexpr int stages = stages_that_fit<Stage, blocks, rows_bytes + products_bytes>();
};

/// Stages first: their patterns of banks, and those of rows, repeat after 1024 bytes.
template <int Panels>
struct DotMemory : TilePipeline<typename DotShape<Panels>::Stage, DotShape<Panels>::stages> {
  alignas(1024) unsigned char rows[Panels][dot_rows * 128];
  float products[multiplying / 32][16][TileEdge::pitch];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <class Storage, int Panels>
struct TileDots {
  const TileDotArgs<Storage>& args;
  DotMemory<Panels>& shared;
  WindowWork work = work_at(args.windows.work + blockIdx.x);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  __device__ __forceinline__ TileCopies copies() const {
    const int pack = lane % 8;
    const unsigned there = panels_there<Panels>(pack, args.features);
    return {args.windows.cols + std::int64_t{work.first_tile} * window_step,
            work.tiles,
            warp - multiplying / 32,
            reinterpret_cast<const unsigned char*>(there != 0 ? args.source + pack * 8 : args.source),
            there != 0 ? args.source_pitch_bytes : 0,
            there,
            nullptr};
  }

  /// Edges of this warp's rows in a tile, a lane's some of them, and where those of the next tile are: nothing waits
  /// for the one to ask for the other.
  struct Edges {
    static constexpr int held = 4;  // of a lane, asked for while the tile comes
    uint2 range = {}, range_next = {};
    TileEdge edge[held];
  };
  __device__ __forceinline__ uint2 range_of(int tile) const {
    const std::uint32_t* const range =
        args.edges.starts + (std::int64_t{work.first_tile} + tile) * (dot_rows / 16) + warp;
    return tile < work.tiles ? ask_for_range(range, 1) : uint2{};
  }
  /// Those of the next tile; `after`: the one after it.
  __device__ __forceinline__ void advance(Edges& edges, int after) const {
    edges.range = edges.range_next;
    edges.range_next = range_of(after);
#pragma unroll
    for (int i = 0; i < Edges::held; ++i) {
      const std::uint32_t j = edges.range.x + i * 32 + lane;
      ask_for_edge(edges.edge[i], args.edges.edges + j, j < edges.range.y);
    }
  }
  __device__ __forceinline__ void store(const TileEdge& edge) const {
    store_once(args.out, args.wide, static_cast<std::int64_t>(edge.id) * args.out_pitch,
               shared.products[0][0][edge.spot]);
  }

  __device__ __forceinline__ void multiply_tiles() const {
    const int quad = lane % 4, group = lane / 4;
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    const std::uint64_t rows_at = describe_rows(shared.rows[0]) + warp / 4 * (64 * 128 / 16);
    StageOfTile<DotShape<Panels>::stages> at;
    Edges next;
    next.range_next = range_of(0);
    advance(next, 1);
    for (int tile = 0; tile < work.tiles; ++tile, at.advance(1)) {
      const Edges edges = next;
      shared.full[at.stage].wait(at.parity);
      show_copies();
      float c[32];
      fence_sums(c);
#pragma unroll
      for (int p = 0; p < Panels; ++p)
#pragma unroll
        for (int k = 0; k < tile_features / 16; ++k)
          multiply_rows<Storage>(
              c, rows_at + (p * sizeof(shared.rows[0]) + k * 32) / 16,
              tiles_at + at.stage * (sizeof(shared.stages[0]) / 16) + (p * sizeof(shared.stages[0].x[0]) + k * 32) / 16,
              p + k > 0);
      commit_products();
      advance(next, tile + 2);
      wait_for_products(c);
      if (lane == 0) shared.empty[at.stage].arrive();
      __syncwarp();  // products of the tile before were read
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < 8; ++n)
          *reinterpret_cast<float2*>(&shared.products[warp][group + half * 8][n * 8 + quad * 2]) = {
              c[n * 4 + half * 2], c[n * 4 + half * 2 + 1]};
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Edges::held; ++i)
        if (edges.range.x + i * 32 + lane < edges.range.y) store(edges.edge[i]);
      for (std::uint32_t j = edges.range.x + Edges::held * 32 + lane; j < edges.range.y; j += 32)
        store(load_edge(args.edges.edges + j));
    }
  }
};
#endif

template <class Storage, int Panels>
__global__ void __launch_bounds__(dot_threads, DotShape<Panels>::blocks)
    multiply_windows(const TileDotArgs<Storage> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  auto& shared = *reinterpret_cast<DotMemory<Panels>*>(aligned_shared(memory));
  const TileDots<Storage, Panels> dots{args, shared};
  const bool copies = threadIdx.x >= multiplying;
  const TileCopies job = dots.copies();
  const int2 columns = copies ? job.columns_of(job.warp) : int2{};
  shared.prepare(multiplying / 32);
  if (dots.work.tiles == 0) return;
  if (copies) return job.run(shared, columns);
  copy_rows(shared.rows, args.windows.rows + std::int64_t{dots.work.window} * dot_rows, args.destination,
            args.destination_pitch_bytes, panels_there<Panels>(dots.lane % 8, args.features));
  dots.multiply_tiles();
#endif
}

template <class Storage, int Panels>
void launch_panels(const TileDotArgs<Storage>& args, CUstream_st* stream) {
  const auto kernel = multiply_windows<Storage, Panels>;
  const std::size_t bytes = allow_shared(reinterpret_cast<const void*>(kernel),
                                         static_cast<std::int64_t>(sizeof(DotMemory<Panels>)) + alignment_room);
  kernel<<<static_cast<unsigned>(args.windows.windows), dot_threads, bytes, stream>>>(args);
  check_launch("dot products of row windows", args.windows.windows * dot_rows, 0, args.features);
}

}  // namespace

template <class Storage>
void launch_tile_dots_sm90(const TileDotArgs<Storage>& args, CUstream_st* stream) {
  if (args.features <= 64) return launch_panels<Storage, 1>(args, stream);
  launch_panels<Storage, 2>(args, stream);
}

template void launch_tile_dots_sm90(const TileDotArgs<Half>&, CUstream_st*);
template void launch_tile_dots_sm90(const TileDotArgs<BFloat16>&, CUstream_st*);

}  // namespace weft::cuda
