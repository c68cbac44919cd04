// Sums of windows by wgmma. A warpgroup has 64 rows of a window, its four warps 16 each; a block has one warpgroup or
// two. Where there are too few windows for the GPU, the blocks of a cluster share a window's tiles, and each finishes a
// part of its rows from the sums of all, which it reads in their shared memory.
#include <cooperative_groups.h>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/windows/wgmma.cuh"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {
namespace {

constexpr int most_parts = 8;  // blocks of a cluster that every device with clusters takes
template <int Rows>
constexpr int group_threads = Rows * 2;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <class Storage, int Rows>
struct GroupSums : WindowBlock<Storage, Rows, group_threads<Rows>> {
  using Block = WindowBlock<Storage, Rows, group_threads<Rows>>;
  using Block::lane, Block::warp, Block::tiles, Block::memory, Block::part, Block::parts;
  int quad = lane % 4, first_row = warp * 16 + lane / 4;
  float near[32] = {}, far[32] = {};  // rows first_row and 8 later: see multiply_group

  __device__ __forceinline__ GroupSums(const WindowSumArgs<Storage>& args, WindowStage<Rows>* stages, int parts)
      : Block{args, stages, parts} {}

  __device__ __forceinline__ void sum_tiles() {
    typename Block::Columns columns;
    this->fill_pipeline(columns);
    for (int first = 0; first < tiles; first += window_chain) {
#pragma unroll
      for (int tile = first; tile < first + window_chain; ++tile) {
        if (tile >= tiles) break;
        wait_for_copies<window_stages - 2>();
        show_copies();
        __syncthreads();
        const WindowStage<Rows>& stage = memory[tile % window_stages];
        const RowBits<Storage> low{*reinterpret_cast<const uint2*>(stage.bits[first_row])};
        const RowBits<Storage> high{*reinterpret_cast<const uint2*>(stage.bits[first_row + 8])};
        unsigned a[window_step / 16][4];
#pragma unroll
        for (int k = 0; k < window_step / 16; ++k) {
          a[k][0] = low.template halves<0>(k, quad);
          a[k][1] = high.template halves<0>(k, quad);
          a[k][2] = low.template halves<1>(k, quad);
          a[k][3] = high.template halves<1>(k, quad);
        }
        fence_sums();
#pragma unroll
        for (int k = 0; k < window_step / 16; ++k)
          multiply_group<Storage>(near, a[k], describe_rows(stage.x + k * 2048));
        commit_products();
        // Over the tile whose products all warps have waited for.
        this->start_copies(tile + window_stages - 1, columns);
        this->columns_of(tile + window_stages, columns);
        wait_for_products();
      }
#pragma unroll
      for (int i = 0; i < 32; ++i) settle(far[i], near[i]);
    }
  }

  __device__ __forceinline__ void finish_own_rows() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const NodeId row = this->row_at_place(first_row + half * 8);
      if (row < 0) continue;
      const EdgeId edges = this->edges_of(row);
#pragma unroll
      for (int n = 0; n < 8; ++n)
        this->write_pair(first_row + half * 8, row, edges, this->first_feature + n * 8 + quad * 2,
                         far[n * 4 + half * 2], far[n * 4 + half * 2 + 1]);
    }
  }

  /// The parts' sums are added in their order, so that bits repeat.
  __device__ __forceinline__ void finish_shared_rows() const {
    constexpr int pitch = tile_features + 8;  // of floats: rows of a warp's store lie in different banks
    static_assert(Rows * pitch * sizeof(float) <= window_stages * sizeof(WindowStage<Rows>));
    const auto cluster = cooperative_groups::this_cluster();
    wait_for_copies<0>();
    __syncthreads();  // all warps have left the stages
    float* const sums = reinterpret_cast<float*>(memory);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < 8; ++n)
        *reinterpret_cast<float2*>(sums + (first_row + half * 8) * pitch + n * 8 + quad * 2) = {
            far[n * 4 + half * 2], far[n * 4 + half * 2 + 1]};
    cluster.sync();
    const int rows = Rows / parts;
    for (int at = threadIdx.x; at < rows * tile_features / 2; at += group_threads<Rows>) {
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
      this->write_pair(row_in_window, row, this->edges_of(row), this->first_feature + pair, first, second);
    }
    cluster.sync();  // a block that has ended has no shared memory
  }
};
#endif

template <class Storage, int Rows>
__global__ void __launch_bounds__(group_threads<Rows>, 512 / group_threads<Rows>)
    sum_windows_by_groups(const WindowSumArgs<Storage> args, int parts) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  GroupSums<Storage, Rows> sums(args, stages_in<Rows>(memory), parts);
  sums.sum_tiles();
  cudaGridDependencySynchronize();  // the residual's sums
  if (parts == 1)
    sums.finish_own_rows();
  else
    sums.finish_shared_rows();
#endif
}

/// Blocks for each window: as many as leave no multiprocessor without work, while each has some tiles.
template <class Storage>
int parts_of(const WindowSumArgs<Storage>& args, std::int64_t blocks, int multiprocessors) {
  int parts = 1;
  while (parts < most_parts && blocks * parts < 2 * multiprocessors &&
         args.tiles >= args.windows.windows * parts * 2 * window_stages)
    parts *= 2;
  return parts;
}

template <class Storage, int Rows>
void launch_rows(const WindowSumArgs<Storage>& args, int multiprocessors, CUstream_st* stream) {
  const auto kernel = sum_windows_by_groups<Storage, Rows>;
  const unsigned panels = static_cast<unsigned>((args.features + tile_features - 1) / tile_features);
  const int parts = parts_of(args, args.windows.windows * panels, multiprocessors);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(parts), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.windows.windows * parts), panels);
  config.blockDim = group_threads<Rows>;
  config.dynamicSmemBytes = allow_shared(reinterpret_cast<const void*>(kernel), stage_bytes<Rows>);
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

template void launch_window_sums_sm90(const WindowSumArgs<Half>&, int, CUstream_st*);
template void launch_window_sums_sm90(const WindowSumArgs<BFloat16>&, int, CUstream_st*);

}  // namespace weft::cuda
