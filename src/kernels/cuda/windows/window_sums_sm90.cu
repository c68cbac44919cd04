// Sums of windows by wgmma. A warpgroup multiplies 64 rows of a window, its four warps 16 each; a block has one of
// these or two, and one that copies tiles to shared memory. Where there are too few windows for the GPU, the blocks of
// a cluster share a window's tiles, and each finishes a part of its rows from the sums of all, which it reads in their
// shared memory.
#include <cooperative_groups.h>

#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/mbarrier.cuh"
#include "kernels/cuda/windows/wgmma.cuh"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {
namespace {

constexpr int most_parts = 8;  // blocks of a cluster that every device with clusters takes

/// A block: warps that multiply, 16 rows each, and a warpgroup of warps that copy, a tile each. Registers go to the
/// former.
template <class Storage, int Rows>
struct GroupShape {
  static constexpr int multiplying = Rows * 2, copying = 128, threads = multiplying + copying;  // threads
  static constexpr int pieces = WindowOperand<Storage>::pieces;
  static constexpr int blocks = Rows == 128 || pieces > 1 ? 2 : 3;  // of a multiprocessor
  static constexpr int copying_registers = 32, multiplying_registers = Rows == 128 ? 104 : 128;
  using Stage = WindowStage<Rows, pieces>;
  static constexpr int room = 227 * 1024 / blocks / static_cast<int>(sizeof(Stage) + 512);  // for stages of a block
  static constexpr int stages = room < 8 ? room : 8;
  static_assert(stages >= copying / 32, "a warp that copies takes every so manieth stage, and goes round at most once");
};

template <class Storage, int Rows>
struct GroupMemory {
  using Shape = GroupShape<Storage, Rows>;
  typename Shape::Stage stages[Shape::stages];
  Barrier full[Shape::stages], empty[Shape::stages];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
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

template <class Storage, int Rows>
struct GroupSums : WindowBlock<Storage, Rows> {
  using Block = WindowBlock<Storage, Rows>;
  using Shape = GroupShape<Storage, Rows>;
  using Stage = typename Shape::Stage;
  using Operand = WindowOperand<Storage>;
  using Block::lane, Block::warp, Block::tiles, Block::part, Block::parts, Block::args, Block::first_tile;
  GroupMemory<Storage, Rows>& shared;

  __device__ __forceinline__ GroupSums(const WindowSumArgs<Storage>& args, GroupMemory<Storage, Rows>& shared,
                                       int parts)
      : Block{args, parts}, shared(shared) {}

  __device__ __forceinline__ void prepare() const {
    if (threadIdx.x < Shape::stages) {
      shared.full[threadIdx.x].expect(32);
      shared.empty[threadIdx.x].expect(Shape::multiplying / 32);
    }
    __syncthreads();
  }

  __device__ __forceinline__ int first_copied() const { return warp - Shape::multiplying / 32; }
  /// A lane's two of a tile's columns.
  __device__ __forceinline__ int2 columns_of(int tile) const {
    const NodeId* const cols = args.windows.cols + (first_tile + tile) * window_step + lane;
    return tile < tiles ? make_int2(__ldg(cols), __ldg(cols + 32)) : int2{};
  }
  /// `next`: the columns of this warp's first tile.
  __device__ __forceinline__ void copy_tiles(int2 next) const {
    constexpr int warps = Shape::copying / 32;
    const int pack = lane % 8, feature = this->first_feature + pack * 8;
    const bool there = Shape::pieces > 1 || feature < args.features;
    const unsigned char* x;
    std::uint32_t pitch;
    if constexpr (Shape::pieces > 1) {
      x = reinterpret_cast<const unsigned char*>(args.pieces + this->first_feature * Shape::pieces + pack * 8);
      pitch = static_cast<std::uint32_t>(split_pitch(args.features) * sizeof(BFloat16));
    } else {
      x = reinterpret_cast<const unsigned char*>(there ? args.x + feature : args.x);
      pitch = there ? args.x_pitch_bytes : 0;
    }
    // A lane copies column lane / 8 of every four.
    const auto stages = static_cast<unsigned>(__cvta_generic_to_shared(shared.stages));
    const unsigned even = stages + place_of_pack(lane / 8, pack),
                   odd = stages + place_of_pack(4 + lane / 8, pack) - 512;
    int tile = first_copied();
    StageOfTile<Shape::stages> at;
    at.advance(tile);
    for (; tile < tiles; tile += warps) {
      const int2 columns = next;
      next = columns_of(tile + warps);
      shared.empty[at.stage].wait(at.parity ^ 1);
      const unsigned stage = static_cast<unsigned>(at.stage * sizeof(Stage));
#pragma unroll
      for (int i = 0; i < window_step / 4; ++i) {
        const int id = __shfl_sync(~0u, i < window_step / 8 ? columns.x : columns.y, i % 8 * 4 + lane / 8);
        const unsigned char* const row = x + static_cast<std::uint64_t>(static_cast<std::uint32_t>(id)) * pitch;
#pragma unroll
        for (int p = 0; p < Shape::pieces; ++p)
          copy_async_of_line((i % 2 == 0 ? even : odd) + stage + p * sizeof(Stage::x[0]) + i * 512,
                             row + p * tile_features * 2, there);
      }
      constexpr int words = window_step / 32 * Rows;
      const std::uint32_t* const bits = args.windows.bits + (first_tile + tile) * words + lane * 4;
#pragma unroll
      for (int i = 0; i < words / 128; ++i)
        copy_async_of_line(stages + stage + offsetof(Stage, bits) + (i * 32 + lane) * 16, bits + i * 128, true);
      shared.full[at.stage].arrive_with_copies();
      at.advance(warps);
    }
  }

  int quad = lane % 4, first_row = warp * 16 + lane / 4;
  float near[32], far[32];  // rows first_row and 8 later: see multiply_group

  __device__ __forceinline__ void sum_tiles() {
#pragma unroll
    for (int i = 0; i < 32; ++i) near[i] = far[i] = 0;
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    StageOfTile<Shape::stages> at;
    for (int first = 0; first < tiles; first += Operand::chain) {
      for (int tile = first; tile < min(first + Operand::chain, tiles); ++tile, at.advance(1)) {
        shared.full[at.stage].wait(at.parity);
        show_copies();
        const Stage& stage = shared.stages[at.stage];
        const RowBits low(stage.bits[first_row], quad), high(stage.bits[first_row + 8], quad);
        unsigned a[window_step / 16][4];
#pragma unroll
        for (int k = 0; k < window_step / 16; ++k) {
          a[k][0] = low.halves(k, false);
          a[k][1] = high.halves(k, false);
          a[k][2] = low.halves(k, true);
          a[k][3] = high.halves(k, true);
        }
        fence_sums();
#pragma unroll
        for (int p = 0; p < Shape::pieces; ++p)
#pragma unroll
          for (int k = 0; k < window_step / 16; ++k)
            multiply_group<typename Operand::type>(
                near, a[k], tiles_at + at.stage * (sizeof(stage) / 16) + (p * sizeof(stage.x[0]) + k * 2048) / 16);
        commit_products();
        wait_for_products();
        if (lane == 0) shared.empty[at.stage].arrive();
      }
#pragma unroll
      for (int i = 0; i < 32; ++i) settle(far[i], near[i]);
    }
  }

  __device__ __forceinline__ void finish_own_rows() const {
    unsigned again = 0;  // pairs that are not finite
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const NodeId row = this->row_at_place(first_row + half * 8);
      if (row < 0) continue;
      const EdgeId edges = this->edges_of(row);
#pragma unroll
      for (int n = 0; n < 8; ++n)
        if (!this->write_pair(row, edges, this->first_feature + n * 8 + quad * 2, far[n * 4 + half * 2],
                              far[n * 4 + half * 2 + 1]))
          again |= 1u << (half * 8 + n);
    }
    for (; again != 0; again &= again - 1) {
      const int at = __ffs(static_cast<int>(again)) - 1;
      this->write_again(first_row + at / 8 * 8, this->first_feature + at % 8 * 8 + quad * 2);
    }
  }

  /// The parts' sums are added in their order, so that bits repeat.
  __device__ __forceinline__ void finish_shared_rows() const {
    constexpr int pitch = tile_features + 8;  // of floats: rows of a warp's store lie in different banks
    static_assert(Rows * pitch * sizeof(float) <= sizeof(shared.stages));
    const auto cluster = cooperative_groups::this_cluster();
    float* const sums = reinterpret_cast<float*>(shared.stages);
    asm volatile("bar.sync 1, %0;" ::"n"(Shape::multiplying) : "memory");  // all warps have left the stages
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < 8; ++n)
        *reinterpret_cast<float2*>(sums + (first_row + half * 8) * pitch + n * 8 + quad * 2) = {
            far[n * 4 + half * 2], far[n * 4 + half * 2 + 1]};
    cluster.sync();
    const int rows = Rows / parts;
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
      if (!this->write_pair(row, this->edges_of(row), this->first_feature + pair, first, second))
        this->write_again(row_in_window, this->first_feature + pair);
    }
    cluster.sync();  // a block that has ended has no shared memory
  }
};
#endif

template <class Storage, int Rows>
__global__ void __launch_bounds__(GroupShape<Storage, Rows>::threads, GroupShape<Storage, Rows>::blocks)
    sum_windows_by_groups(const WindowSumArgs<Storage> args, int parts) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  using Shape = GroupShape<Storage, Rows>;
  GroupSums<Storage, Rows> sums(args, *reinterpret_cast<GroupMemory<Storage, Rows>*>(aligned_shared(memory)), parts);
  const bool copies = threadIdx.x >= Shape::multiplying;
  const int2 columns = copies ? sums.columns_of(sums.first_copied()) : int2{};
  sums.prepare();
  if (copies) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Shape::copying_registers));
    sums.copy_tiles(columns);
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
    sums.finish_own_rows();
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

template <class Storage, int Rows>
void launch_rows(const WindowSumArgs<Storage>& args, int multiprocessors, CUstream_st* stream) {
  const auto kernel = sum_windows_by_groups<Storage, Rows>;
  const unsigned panels = static_cast<unsigned>((args.features + tile_features - 1) / tile_features);
  const int parts = parts_of(args, args.windows.windows * panels, multiprocessors * GroupShape<Storage, Rows>::blocks);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(parts), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.windows.windows * parts), panels);
  config.blockDim = GroupShape<Storage, Rows>::threads;
  config.dynamicSmemBytes =
      allow_shared(reinterpret_cast<const void*>(kernel),
                   static_cast<std::int64_t>(sizeof(GroupMemory<Storage, Rows>)) + alignment_room);
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
  if (args.window_rows == 64) return launch_rows<Storage, 64>(args, multiprocessors, stream);
  launch_rows<Storage, 128>(args, multiprocessors, stream);
}

template void launch_window_sums_sm90(const WindowSumArgs<float>&, int, CUstream_st*);
template void launch_window_sums_sm90(const WindowSumArgs<Half>&, int, CUstream_st*);
template void launch_window_sums_sm90(const WindowSumArgs<BFloat16>&, int, CUstream_st*);

}  // namespace weft::cuda
