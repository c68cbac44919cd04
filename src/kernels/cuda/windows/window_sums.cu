// Sums of windows by mma.sync, for every GPU that has it for halves (sm_80 and later). A block sums 64 features of a
// window. Tiles of 64 dense columns come to shared memory in a pipeline; their bits become operands in registers (0 and
// a power of two are exact), so that products of halves are exact and only sums round.
#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {
namespace {

constexpr int window_threads = 256, window_warps = window_threads / 32;
constexpr int window_stages = 4;

/// How the warps of a block share `Rows` x 64 sums: 16 rows each, and where there are more warps than that, a part of
/// the features.
template <int Rows>
struct WindowTiling {
  static constexpr int row_warps = Rows / 16;
  static constexpr int feature_warps = window_warps / row_warps;
  static constexpr int feature_tiles = tile_features / 8 / feature_warps;  // of 8 features, a warp's
};

template <class Storage, int Rows>
struct WindowSums : WindowBlock<Storage, Rows> {
  using Tiling = WindowTiling<Rows>;
  using Block = WindowBlock<Storage, Rows>;
  using Block::lane, Block::warp, Block::tiles, Block::args, Block::first_tile, Block::first_feature;
  WindowStage<Rows>* memory;
  int row_warp = warp % Tiling::row_warps, feature_warp = warp / Tiling::row_warps;
  float near[Tiling::feature_tiles][4] = {}, far[Tiling::feature_tiles * 4] = {};

  __device__ __forceinline__ WindowSums(const WindowSumArgs<Storage>& args, WindowStage<Rows>* stages)
      : Block{args}, memory(stages) {}

  static constexpr int packs_a_thread = window_step * 8 / window_threads;
  using Columns = NodeId[packs_a_thread];

  /// The columns whose packs this thread copies of a tile; asked for one tile ahead, as addresses wait for them.
  __device__ __forceinline__ void columns_of(int tile, Columns& columns) const {
#pragma unroll
    for (int i = 0; i < packs_a_thread; ++i)
      columns[i] = tile < tiles ? __ldg(args.windows.cols + (first_tile + tile) * window_step +
                                        (i * window_threads + static_cast<int>(threadIdx.x)) / 8)
                                : 0;
  }
  __device__ __forceinline__ void start_copies(int tile, const Columns& columns) const {
    if (tile < tiles) {
      WindowStage<Rows>& stage = memory[tile % window_stages];
#pragma unroll
      for (int i = 0; i < packs_a_thread; ++i) {
        const int at = i * window_threads + static_cast<int>(threadIdx.x), column = at / 8, pack = at % 8;
        const int feature = first_feature + pack * 8;
        const bool there = feature < args.features;
        const Storage* const row = row_at(args.x, static_cast<std::uint32_t>(columns[i]), args.x_pitch_bytes);
        copy_async<16>(stage.x[0] + place_of_pack(column, pack), there ? row + feature : args.x, there ? 16 : 0);
      }
      constexpr int bit_packs = sizeof(stage.bits) / 16;
      if (static_cast<int>(threadIdx.x) < bit_packs)
        copy_async<16>(stage.bits[0] + threadIdx.x * 4,
                       args.windows.bits + (first_tile + tile) * (window_step / 32) * Rows + threadIdx.x * 4, 16);
    }
    commit_copies();
  }
  /// All but the last of the pipeline's tiles are on their way then, and `columns` are those of the last.
  __device__ __forceinline__ void fill_pipeline(Columns& columns) const {
    columns_of(0, columns);
#pragma unroll
    for (int s = 0; s < window_stages - 1; ++s) {
      start_copies(s, columns);
      columns_of(s + 1, columns);
    }
  }

  __device__ __forceinline__ void multiply_tile(const WindowStage<Rows>& stage) {
    const int quad = lane % 4, row = row_warp * 16 + lane / 4;
    const auto x = static_cast<unsigned>(__cvta_generic_to_shared(stage.x[0]));
    const RowBits low(stage.bits[row], quad), high(stage.bits[row + 8], quad);
#pragma unroll
    for (int k = 0; k < window_step / 16; ++k) {
      const unsigned a[4] = {low.halves(k, false), high.halves(k, false), low.halves(k, true), high.halves(k, true)};
      // Lanes 0 to 7 have the first eight columns, 8 to 15 the next; 16 to 31 the same of the next eight features.
      const int column = k * 16 + lane % 16;
      if constexpr (Tiling::feature_tiles == 1) {
        unsigned b[2];
        load_transposed(b, x + place_of_pack(column, feature_warp));
        multiply<Storage>(near[0], a, b);
      } else {
#pragma unroll
        for (int n = 0; n < Tiling::feature_tiles; n += 2) {
          unsigned words[4];
          load_transposed(words, x + place_of_pack(column, feature_warp * Tiling::feature_tiles + n + lane / 16));
          const unsigned left[2] = {words[0], words[1]}, right[2] = {words[2], words[3]};
          multiply<Storage>(near[n], a, left);
          multiply<Storage>(near[n + 1], a, right);
        }
      }
    }
  }

  __device__ __forceinline__ void run() {
    Columns columns;
    fill_pipeline(columns);
    for (int first = 0; first < tiles; first += WindowOperand<Storage>::chain) {
#pragma unroll 1
      for (int tile = first; tile < min(first + WindowOperand<Storage>::chain, tiles); ++tile) {
        wait_for_copies<window_stages - 2>();
        __syncthreads();
        start_copies(tile + window_stages - 1, columns);  // over the tile that all warps have left
        columns_of(tile + window_stages, columns);
        multiply_tile(memory[tile % window_stages]);
      }
#pragma unroll
      for (int n = 0; n < Tiling::feature_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) settle(far[n * 4 + i], near[n][i]);
    }
    this->template write_rows<Tiling::feature_tiles>(row_warp * 16,
                                                     first_feature + feature_warp * Tiling::feature_tiles * 8, far);
  }
};

template <class Storage, int Rows>
__global__ void __launch_bounds__(window_threads, 2) sum_windows(const WindowSumArgs<Storage> args) {
  extern __shared__ unsigned char memory[];
  WindowSums<Storage, Rows>(args, reinterpret_cast<WindowStage<Rows>*>(aligned_shared(memory))).run();
}

template <class Storage, int Rows>
void launch_rows(const WindowSumArgs<Storage>& args, CUstream_st* stream) {
  const auto kernel = sum_windows<Storage, Rows>;
  const std::size_t bytes = allow_shared(reinterpret_cast<const void*>(kernel),
                                         window_stages * std::int64_t{sizeof(WindowStage<Rows>)} + alignment_room);
  const dim3 grid(static_cast<unsigned>(args.windows.windows),
                  static_cast<unsigned>((args.features + tile_features - 1) / tile_features));
  kernel<<<grid, window_threads, bytes, stream>>>(args);
  check_launch("sums of row windows", args.windows.windows * Rows, 0, args.features);
}

}  // namespace

template <class Storage>
void launch_window_sums(const WindowSumArgs<Storage>& args, CUstream_st* stream) {
  if (args.window_rows == 16) return launch_rows<Storage, 16>(args, stream);
  if (args.window_rows == 64) return launch_rows<Storage, 64>(args, stream);
  launch_rows<Storage, 128>(args, stream);
}

template void launch_window_sums(const WindowSumArgs<Half>&, CUstream_st*);
template void launch_window_sums(const WindowSumArgs<BFloat16>&, CUstream_st*);

}  // namespace weft::cuda
