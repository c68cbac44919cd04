// Sums of windows by wgmma. A warpgroup multiplies 64 rows of a window, its four warps 16 each; a block has one of
// these or two, and one that copies tiles to shared memory. Where there are too few windows for the GPU, the blocks of
// a cluster share a window's tiles, and each finishes a part of its rows from the sums of all, which it reads in their
// shared memory.
#include <cooperative_groups.h>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/windows/tile_edges.cuh"
#include "kernels/cuda/windows/tile_pipeline.cuh"

namespace weft::cuda {
namespace {

constexpr int most_parts = 8;  // blocks of a cluster that every device with clusters takes

/// A block: warps that multiply, 16 rows each, and a warpgroup of warps that copy, a tile each. Registers go to the
/// former. `Weighted`: operands are values of edges instead of bits.
template <class Storage, int Rows, bool Weighted>
struct GroupShape {
  static constexpr int multiplying = Rows * 2, threads = multiplying + copying_threads;
  static constexpr int pieces = WindowOperand<Storage>::pieces;
  static constexpr int blocks = Rows == 128 || pieces > 1 ? 2 : 3;  // of a multiprocessor
  static constexpr int copying_registers = 32, multiplying_registers = Rows == 128 ? 104 : 128;
  using Stage = std::conditional_t<Weighted, TileStage<pieces>, WindowStage<Rows, pieces>>;
  using Slab = OperandSlab<typename WindowOperand<Storage>::type>;
  static constexpr int slabs = Weighted ? multiplying / 32 : 0;
  static constexpr int stages = stages_that_fit<Stage, blocks, slabs* static_cast<int>(sizeof(Slab))>();
};

template <class Storage, int Rows, bool Weighted>
struct GroupMemory
    : TilePipeline<typename GroupShape<Storage, Rows, Weighted>::Stage, GroupShape<Storage, Rows, Weighted>::stages> {
  typename GroupShape<Storage, Rows, Weighted>::Slab slabs[Rows / 16];  // where operands are weights
};
template <class Storage, int Rows>
struct GroupMemory<Storage, Rows, false>
    : TilePipeline<typename GroupShape<Storage, Rows, false>::Stage, GroupShape<Storage, Rows, false>::stages> {};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <class Storage, int Rows, bool Weighted>
struct GroupSums : WindowBlock<Storage, Rows, Weighted> {
  using Block = WindowBlock<Storage, Rows, Weighted>;
  using Shape = GroupShape<Storage, Rows, Weighted>;
  using Stage = typename Shape::Stage;
  using Operand = WindowOperand<Storage>;
  using Block::lane, Block::warp, Block::tiles, Block::part, Block::parts, Block::args, Block::first_tile;
  GroupMemory<Storage, Rows, Weighted>& shared;

  __device__ __forceinline__ GroupSums(const WindowSumArgs<Storage>& args, GroupMemory<Storage, Rows, Weighted>& shared,
                                       int parts)
      : Block{args, parts}, shared(shared) {}

  __device__ __forceinline__ TileCopies copies() const {
    const int feature = this->first_feature + lane % 8 * 8;
    TileCopies copies{args.windows.cols + first_tile * window_step, tiles, warp - Shape::multiplying / 32};
    if constexpr (Shape::pieces > 1) {
      copies.x =
          reinterpret_cast<const unsigned char*>(args.pieces + this->first_feature * Shape::pieces + lane % 8 * 8);
      copies.pitch = static_cast<std::uint32_t>(split_pitch(args.features) * sizeof(BFloat16));
      copies.there = (1u << Shape::pieces) - 1;
    } else {
      const bool there = feature < args.features;
      copies.x = reinterpret_cast<const unsigned char*>(there ? args.x + feature : args.x);
      copies.pitch = there ? args.x_pitch_bytes : 0;
      copies.there = there ? 1 : 0;
    }
    if constexpr (!Weighted) copies.bits = args.windows.bits + first_tile * (window_step / 32 * Rows);
    return copies;
  }

  int quad = lane % 4, first_row = warp * 16 + lane / 4;
  float near[32], far[32];  // rows first_row and 8 later: see multiply_group

  /// All warps that multiply fill the slabs of a tile together. Between two fills each has loaded its operands.
  struct NoWeights {
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void next(int) {}
    __device__ __forceinline__ void ready() {}
  };
  struct Weights {
    GroupMemory<Storage, Rows, Weighted>& shared;
    TileWeights<Storage, Rows> values;

    __device__ __forceinline__ void begin() {
      clear(shared.slabs[threadIdx.x / 32]);
      values.begin();
      meet<Rows>();
      if (values.edges.tiles > 0) values.store(shared.slabs[0].values[0]);
      values.advance(4);
      meet<Rows>();
    }
    /// After the operands of a tile, in front of its products' end.
    __device__ __forceinline__ void next(int tile) {
      if (tile + 1 >= values.edges.tiles) return;
      __syncwarp();
      clear(shared.slabs[threadIdx.x / 32]);
      meet<Rows>();
      values.store(shared.slabs[0].values[0]);
      values.advance(tile + 5);
    }
    __device__ __forceinline__ void ready() { meet<Rows>(); }
  };
  __device__ __forceinline__ auto weights_of_tiles() const {
    if constexpr (Weighted)
      return Weights{shared, {args, {args.edges.edges, args.edges.starts + first_tile * (Rows / 16), tiles}}};
    else
      return NoWeights{};
  }

  /// Start the products of a tile.
  __device__ __forceinline__ void multiply_bits(const Stage& stage, std::uint64_t x) {
    TileOperands a;
    operands_of_bits(stage.bits, first_row, quad, a);
    fence_sums(near);
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p)
#pragma unroll
      for (int k = 0; k < window_step / 16; ++k)
        multiply_group<typename Operand::type>(near, a[k], x + (p * sizeof(stage.x[0]) + k * 2048) / 16);
    commit_products();
  }
  __device__ __forceinline__ void multiply_weights(std::uint64_t x) {
    unsigned a[2][4];  // of 16 columns while those of the 16 before them are multiplied
#pragma unroll
    for (int k = 0; k < window_step / 16; ++k) {
      if (k >= 2) wait_for_all_but_last();
      shared.slabs[warp].load(k, a[k % 2]);
      if (k == 0)
        fence_sums(near);
      else
        fence_operands();
      multiply_group<typename Operand::type>(near, a[k % 2], x + k * (2048 / 16));
      commit_products();
    }
  }

  __device__ __forceinline__ void sum_tiles() {
#pragma unroll
    for (int i = 0; i < 32; ++i) near[i] = far[i] = 0;
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    StageOfTile<Shape::stages> at;
    auto weights = weights_of_tiles();
    weights.begin();
    for (int first = 0; first < tiles; first += Operand::chain) {
      for (int tile = first; tile < min(first + Operand::chain, tiles); ++tile, at.advance(1)) {
        shared.full[at.stage].wait(at.parity);
        show_copies();
        const std::uint64_t x = tiles_at + at.stage * (sizeof(Stage) / 16);
        if constexpr (Weighted)
          multiply_weights(x);
        else
          multiply_bits(shared.stages[at.stage], x);
        weights.next(tile);
        wait_for_products(near);
        if (lane == 0) shared.empty[at.stage].arrive();
        weights.ready();
      }
#pragma unroll
      for (int i = 0; i < 32; ++i) settle(far[i], near[i]);
    }
  }

  /// The parts' sums are added in their order, so that bits repeat.
  __device__ __forceinline__ void finish_shared_rows() const {
    constexpr int pitch = tile_features + 8;  // of floats: rows of a warp's store lie in different banks
    static_assert(Rows * pitch * sizeof(float) <= sizeof(shared.stages));
    const auto cluster = cooperative_groups::this_cluster();
    float* const sums = reinterpret_cast<float*>(shared.stages);
    meet<Rows>();  // all warps have left the stages
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < 8; ++n)
        *reinterpret_cast<float2*>(sums + (first_row + half * 8) * pitch + n * 8 + quad * 2) = {
            far[n * 4 + half * 2], far[n * 4 + half * 2 + 1]};
    cluster.sync();
    const int rows = Rows / parts;
    static_assert(tile_features / 2 == 32);  // a warp has a row
    for (int at = threadIdx.x; at < rows * tile_features / 2; at += Shape::multiplying) {
      const int row_in_window = part * rows + at / (tile_features / 2), pair = at % (tile_features / 2) * 2;
      const NodeId row = this->row_at_place(row_in_window);
      if (row < 0) continue;
      float first = 0, second = 0;
      for (int p = 0; p < parts; ++p) {
        const auto value =
            *reinterpret_cast<const float2*>(cluster.map_shared_rank(sums, p) + row_in_window * pitch + pair);
        first += value.x;
        second += value.y;
      }
      const bool again = !this->write_pair(row, this->edges_of(row), this->first_feature + pair, first, second);
      if (__ballot_sync(~0u, again) != 0) this->write_row_again(row_in_window, this->first_feature, again);
    }
    cluster.sync();  // a block that has ended has no shared memory
  }
};
#endif

template <class Storage, int Rows, bool Weighted>
__global__ void __launch_bounds__(GroupShape<Storage, Rows, Weighted>::threads,
                                  GroupShape<Storage, Rows, Weighted>::blocks)
    sum_windows_by_groups(const WindowSumArgs<Storage> args, int parts) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  using Shape = GroupShape<Storage, Rows, Weighted>;
  auto& shared = *reinterpret_cast<GroupMemory<Storage, Rows, Weighted>*>(aligned_shared(memory));
  GroupSums<Storage, Rows, Weighted> sums(args, shared, parts);
  const bool copies = threadIdx.x >= Shape::multiplying;
  const TileCopies job = sums.copies();
  const int2 columns = copies ? job.columns_of(job.warp) : int2{};
  shared.prepare(Shape::multiplying / 32);
  if (copies) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Shape::copying_registers));
    job.run(shared, columns);
    if (parts > 1) {  // barriers of a cluster are for all its threads
      cooperative_groups::this_cluster().sync();
      cooperative_groups::this_cluster().sync();
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Shape::multiplying_registers));
  sums.sum_tiles();
  cudaGridDependencySynchronize();  // the residual's sums
  if (parts == 1)
    sums.template write_rows<8>(sums.warp * 16, sums.first_feature, sums.far);
  else
    sums.finish_shared_rows();
#endif
}

/// Blocks for each window: as many as run at once, while each has some tiles.
template <class Storage>
int parts_of(const WindowSumArgs<Storage>& args, std::int64_t blocks, std::int64_t at_once) {
  int parts = 1;
  while (parts < most_parts && blocks * parts * 2 <= at_once && args.tiles >= args.windows.windows * parts * 8)
    parts *= 2;
  return parts;
}

template <class Storage, int Rows, bool Weighted>
void launch_rows(const WindowSumArgs<Storage>& args, int multiprocessors, CUstream_st* stream) {
  using Shape = GroupShape<Storage, Rows, Weighted>;
  const auto kernel = sum_windows_by_groups<Storage, Rows, Weighted>;
  const unsigned panels = static_cast<unsigned>((args.features + tile_features - 1) / tile_features);
  const int parts = parts_of(args, args.windows.windows * panels, multiprocessors * Shape::blocks);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(parts), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.windows.windows * parts), panels);
  config.blockDim = Shape::threads;
  config.dynamicSmemBytes =
      allow_shared(reinterpret_cast<const void*>(kernel),
                   static_cast<std::int64_t>(sizeof(GroupMemory<Storage, Rows, Weighted>)) + alignment_room);
  config.stream = stream;
  config.attrs = attributes;
  // With a residual the kernel in front is that one's, and only its sums have to be waited for.
  config.numAttrs = args.residual != nullptr ? 2 : 1;
  cudaLaunchKernelEx(&config, kernel, args, parts);
  check_launch("sums of row windows", args.windows.windows * Rows, 0, args.features);
}

}  // namespace

template <class Storage>
void launch_window_sums_sm90(const WindowSumArgs<Storage>& args, int multiprocessors, CUstream_st* stream) {
  if constexpr (sizeof(Storage) == 2) {
    if (args.weights != nullptr)
      return args.window_rows == 64 ? launch_rows<Storage, 64, true>(args, multiprocessors, stream)
                                    : launch_rows<Storage, 128, true>(args, multiprocessors, stream);
  }
  if (args.window_rows == 64) return launch_rows<Storage, 64, false>(args, multiprocessors, stream);
  launch_rows<Storage, 128, false>(args, multiprocessors, stream);
}

template void launch_window_sums_sm90(const WindowSumArgs<float>&, int, CUstream_st*);
template void launch_window_sums_sm90(const WindowSumArgs<Half>&, int, CUstream_st*);
template void launch_window_sums_sm90(const WindowSumArgs<BFloat16>&, int, CUstream_st*);

}  // namespace weft::cuda
