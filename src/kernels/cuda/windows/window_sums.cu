// A block sums 64 features of a window. Tiles of 64 dense columns come to shared memory in a pipeline; their bits
// become operands in registers (0 and a power of two are exact), so that products of halves are exact and only sums
// round.
//
// Tensor cores cut off what they cannot hold where others round, so their chains are short: after `chain` tiles a sum
// settles into the f32 that the row keeps, as everywhere (RowAccumulator).
#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::cuda {
namespace {

constexpr int window_threads = 256, window_warps = window_threads / 32;
constexpr int tile_features = 64;  // 128 bytes of a row of x
constexpr int stages = 4;
constexpr int chain = 2;  // tiles

/// How the warps of a block share `Rows` x 64 sums: warps lie along rows, then along features.
template <int Rows>
struct WindowTiling {
  static constexpr int row_tiles = Rows >= 32 ? 2 : 1;  // of 16 rows, a warp's
  static constexpr int row_warps = Rows / (16 * row_tiles);
  static constexpr int feature_warps = window_warps / row_warps;
  static constexpr int feature_tiles = tile_features / 8 / feature_warps;  // of 8 features, a warp's
};

/// What stands for an edge: a power of two whose low byte is 0, so that a byte of it is chosen by a bit. That of bf16
/// is 2, and sums are halved for it.
template <class Storage>
inline constexpr bool is_bf16 = std::is_same_v<Storage, BFloat16>;
template <class Storage>
inline constexpr unsigned edge_value = is_bf16<Storage> ? 0x4000 : 0x3c00;

/// Two halves, 0 or an edge's value each, by bits 4 and 12.
template <class Storage>
__device__ __forceinline__ unsigned as_halves(unsigned bits) {
  return __byte_perm(edge_value<Storage>, 0, bits & 0x1010);
}

template <int Rows>
struct WindowStage {
  alignas(128) unsigned char x[window_step * tile_features * 2];
  alignas(16) std::uint16_t bits[Rows][window_step / 16];
};

/// 16 bytes of a tile's row in shared memory: packs of a column are exchanged, so that those of eight columns that are
/// read together lie in different banks.
__device__ __forceinline__ int place_of_pack(int column, int pack) { return column * 128 + ((pack ^ column) & 7) * 16; }

template <class Storage, int Rows>
struct WindowSums {
  using Tiling = WindowTiling<Rows>;
  const WindowSumArgs<Storage>& args;
  WindowStage<Rows>* memory;
  std::int64_t window = blockIdx.x;
  int first_feature = static_cast<int>(blockIdx.y) * tile_features;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int row_warp = warp % Tiling::row_warps, feature_warp = warp / Tiling::row_warps;
  std::int64_t first_tile = __ldg(args.windows.tiles + window);
  int tiles = static_cast<int>(__ldg(args.windows.tiles + window + 1) - first_tile);
  float near[Tiling::row_tiles][Tiling::feature_tiles][4] = {}, far[Tiling::row_tiles][Tiling::feature_tiles][4] = {};

  static constexpr int packs_a_thread = window_step * 8 / window_threads;

  /// The columns whose packs this thread copies of a tile; asked for one tile ahead, as addresses wait for them.
  __device__ __forceinline__ void columns_of(int tile, NodeId (&columns)[packs_a_thread]) const {
#pragma unroll
    for (int i = 0; i < packs_a_thread; ++i)
      columns[i] = tile < tiles ? __ldg(args.windows.cols + (first_tile + tile) * window_step +
                                        (i * window_threads + static_cast<int>(threadIdx.x)) / 8)
                                : 0;
  }
  __device__ __forceinline__ void start_copies(int tile, const NodeId (&columns)[packs_a_thread]) const {
    if (tile < tiles) {
      WindowStage<Rows>& stage = memory[tile % stages];
#pragma unroll
      for (int i = 0; i < packs_a_thread; ++i) {
        const int at = i * window_threads + static_cast<int>(threadIdx.x), column = at / 8, pack = at % 8;
        const int feature = first_feature + pack * 8;
        const bool there = feature < args.features;
        const Storage* const row = row_at(args.x, static_cast<std::uint32_t>(columns[i]), args.x_pitch_bytes);
        copy_async<16>(stage.x + place_of_pack(column, pack), there ? row + feature : args.x, there ? 16 : 0);
      }
      constexpr int bit_packs = sizeof(stage.bits) / 16;
      if (static_cast<int>(threadIdx.x) < bit_packs)
        copy_async<16>(stage.bits[0] + threadIdx.x * 8,
                       args.windows.bits + (first_tile + tile) * (window_step / 16) * Rows + threadIdx.x * 8, 16);
    }
    commit_copies();
  }

  /// The bits of a row, 64 columns, of which a lane takes the pairs of columns that its quad has.
  struct RowBits {
    uint2 words;
    /// Columns 2 quad and 2 quad + 1 of the k-th 16, and with `Later` those eight columns on.
    template <int Later>
    __device__ __forceinline__ unsigned halves(int k, int quad) const {
      const unsigned word = k / 2 == 0 ? words.x : words.y;
      const unsigned at = k % 2 == 0 ? (Later ? word >> quad : word << (4 - quad)) : word >> (quad + (Later ? 16 : 12));
      return as_halves<Storage>(at);
    }
  };

  __device__ __forceinline__ void multiply_tile(const WindowStage<Rows>& stage) {
    const int group = lane / 4, quad = lane % 4;
    const auto x = static_cast<unsigned>(__cvta_generic_to_shared(stage.x));
    RowBits bits[Tiling::row_tiles][2];
#pragma unroll
    for (int m = 0; m < Tiling::row_tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        bits[m][half].words =
            *reinterpret_cast<const uint2*>(stage.bits[(row_warp * Tiling::row_tiles + m) * 16 + group + half * 8]);
#pragma unroll
    for (int k = 0; k < window_step / 16; ++k) {
      unsigned a[Tiling::row_tiles][4];
#pragma unroll
      for (int m = 0; m < Tiling::row_tiles; ++m) {
        a[m][0] = bits[m][0].template halves<0>(k, quad);
        a[m][1] = bits[m][1].template halves<0>(k, quad);
        a[m][2] = bits[m][0].template halves<1>(k, quad);
        a[m][3] = bits[m][1].template halves<1>(k, quad);
      }
      // Lanes 0 to 7 have the first eight columns, 8 to 15 the next; 16 to 31 the same of the next eight features.
      const int column = k * 16 + lane % 16;
      if constexpr (Tiling::feature_tiles == 1) {
        unsigned b[2];
        load_transposed(b, x + place_of_pack(column, feature_warp));
#pragma unroll
        for (int m = 0; m < Tiling::row_tiles; ++m) multiply<Storage>(near[m][0], a[m], b);
      } else {
#pragma unroll
        for (int n = 0; n < Tiling::feature_tiles; n += 2) {
          unsigned words[4];
          load_transposed(words, x + place_of_pack(column, feature_warp * Tiling::feature_tiles + n + lane / 16));
          const unsigned left[2] = {words[0], words[1]}, right[2] = {words[2], words[3]};
#pragma unroll
          for (int m = 0; m < Tiling::row_tiles; ++m) {
            multiply<Storage>(near[m][n], a[m], left);
            multiply<Storage>(near[m][n + 1], a[m], right);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void settle_all() {
#pragma unroll
    for (int m = 0; m < Tiling::row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < Tiling::feature_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) settle(far[m][n][i], near[m][n][i]);
  }

  /// A sum that is not finite, edge by edge: what is not finite in x reaches all rows of a window by way of 0 * x.
  __device__ float sum_again(int row_in_window, int feature) const {
    float sum = 0, next = 0;
    for (int tile = 0; tile < tiles; ++tile)
      for (int k = 0; k < window_step / 16; ++k) {
        unsigned bits =
            __ldg(args.windows.bits + ((first_tile + tile) * Rows + row_in_window) * (window_step / 16) + k);
        for (; bits != 0; bits &= bits - 1) {
          const int bit = __ffs(static_cast<int>(bits)) - 1;
          const NodeId column =
              __ldg(args.windows.cols + (first_tile + tile) * window_step + k * 16 + column_of_bit(bit));
          next += widen(load_element(row_at(args.x, static_cast<std::uint32_t>(column), args.x_pitch_bytes) + feature));
          if (!settle(sum, next)) drop_rest(next);
        }
      }
    return sum;
  }

  __device__ __forceinline__ void write() const {
#pragma unroll
    for (int m = 0; m < Tiling::row_tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at = (row_warp * Tiling::row_tiles + m) * 16 + lane / 4 + half * 8;
        const NodeId row = __ldg(args.windows.rows + window * Rows + at);
        if (row < 0) continue;
        const EdgeId edges = args.epilogue.mean ? __ldg(args.offsets + row + 1) - __ldg(args.offsets + row) : 1;
#pragma unroll
        for (int n = 0; n < Tiling::feature_tiles; ++n) {
          const int feature = first_feature + (feature_warp * Tiling::feature_tiles + n) * 8 + lane % 4 * 2;
          if (feature >= args.features) continue;
          float value[2];
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            value[i] = far[m][n][half * 2 + i] * (is_bf16<Storage> ? 0.5f : 1.0f);
            if (!(fabsf(value[i]) < INFINITY)) value[i] = sum_again(at, feature + i);
          }
          if (args.residual != nullptr) {
            const auto rest =
                Pack<float, 2>::load(args.residual + static_cast<std::int64_t>(row) * args.features + feature);
            value[0] += rest.values[0];
            value[1] += rest.values[1];
          }
          apply_epilogue<2>(args.epilogue, row, edges, feature, value);
        }
      }
  }

  __device__ __forceinline__ void run() {
    NodeId columns[packs_a_thread];
    columns_of(0, columns);
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
      start_copies(s, columns);
      columns_of(s + 1, columns);
    }
    for (int first = 0; first < tiles; first += chain) {
#pragma unroll
      for (int tile = first; tile < first + chain; ++tile) {
        if (tile >= tiles) break;
        wait_for_copies<stages - 2>();
        __syncthreads();
        start_copies(tile + stages - 1, columns);  // over the tile that all warps have left
        columns_of(tile + stages, columns);
        multiply_tile(memory[tile % stages]);
      }
      settle_all();
    }
    write();
  }
};

template <class Storage, int Rows>
__global__ void __launch_bounds__(window_threads, 2) sum_windows(const WindowSumArgs<Storage> args) {
  extern __shared__ __align__(128) unsigned char memory[];
  WindowSums<Storage, Rows>{args, reinterpret_cast<WindowStage<Rows>*>(memory)}.run();
}

template <class Storage, int Rows>
void launch_rows(const WindowSumArgs<Storage>& args, CUstream_st* stream) {
  const auto kernel = sum_windows<Storage, Rows>;
  const std::size_t bytes = allow_shared(reinterpret_cast<const void*>(kernel),
                                         stages * static_cast<std::int64_t>(sizeof(WindowStage<Rows>)));
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
