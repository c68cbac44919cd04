// What the blocks that sum windows share, whichever instruction multiplies: tiles on their way to shared memory, bits
// as operands, and finished rows.
#pragma once

#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::cuda {

inline constexpr int tile_features = 64;  // 128 bytes of a row of x
inline constexpr int window_stages = 4;
inline constexpr int window_chain = 4;  // tiles

/// What stands for an edge: a power of two whose low byte is 0, so that a byte of it is chosen by a bit. That of bf16
/// is 2, and sums are halved for it.
template <class Storage>
inline constexpr bool is_bf16 = std::is_same_v<Storage, BFloat16>;
template <class Storage>
inline constexpr unsigned edge_value = is_bf16<Storage> ? 0x4000 : 0x3c00;

/// The bits of a row, 64 columns, of which a lane takes the pairs of columns that its quad has.
template <class Storage>
struct RowBits {
  uint2 words;
  /// Columns 2 quad and 2 quad + 1 of the k-th 16, and with `Later` those eight columns on: two halves, 0 or an edge's
  /// value each.
  template <int Later>
  __device__ __forceinline__ unsigned halves(int k, int quad) const {
    const unsigned word = k / 2 == 0 ? words.x : words.y;
    const unsigned at = k % 2 == 0 ? (Later ? word >> quad : word << (4 - quad)) : word >> (quad + (Later ? 16 : 12));
    return __byte_perm(edge_value<Storage>, 0, at & 0x1010);
  }
};

/// Of a size that keeps `x` of every stage on the 1024 bytes that wgmma's patterns of banks repeat after.
template <int Rows>
struct alignas(1024) WindowStage {
  unsigned char x[window_step * tile_features * 2];
  alignas(16) std::uint16_t bits[Rows][window_step / 16];
};

/// 16 bytes of a tile's row in shared memory: packs of a column are exchanged, so that those of eight columns that are
/// read together lie in different banks.
__device__ __forceinline__ int place_of_pack(int column, int pack) { return column * 128 + ((pack ^ column) & 7) * 16; }

/// A block of `Threads`, which has a part of a window's tiles and 64 features.
template <class Storage, int Rows, int Threads>
struct WindowBlock {
  const WindowSumArgs<Storage>& args;
  WindowStage<Rows>* memory;
  int parts = 1;  // blocks of a window, one after the other
  int part = static_cast<int>(blockIdx.x % static_cast<unsigned>(parts));
  std::int64_t window = blockIdx.x / static_cast<unsigned>(parts);
  int first_feature = static_cast<int>(blockIdx.y) * tile_features;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::int64_t window_begin = __ldg(args.windows.tiles + window);
  int window_tiles = static_cast<int>(__ldg(args.windows.tiles + window + 1) - window_begin);
  std::int64_t first_tile = window_begin + static_cast<std::int64_t>(window_tiles) * part / parts;
  int tiles =
      static_cast<int>(window_begin + static_cast<std::int64_t>(window_tiles) * (part + 1) / parts - first_tile);

  static constexpr int packs_a_thread = window_step * 8 / Threads;
  using Columns = NodeId[packs_a_thread];

  /// The columns whose packs this thread copies of a tile; asked for one tile ahead, as addresses wait for them.
  __device__ __forceinline__ void columns_of(int tile, Columns& columns) const {
#pragma unroll
    for (int i = 0; i < packs_a_thread; ++i)
      columns[i] = tile < tiles ? __ldg(args.windows.cols + (first_tile + tile) * window_step +
                                        (i * Threads + static_cast<int>(threadIdx.x)) / 8)
                                : 0;
  }
  __device__ __forceinline__ void start_copies(int tile, const Columns& columns) const {
    if (tile < tiles) {
      WindowStage<Rows>& stage = memory[tile % window_stages];
#pragma unroll
      for (int i = 0; i < packs_a_thread; ++i) {
        const int at = i * Threads + static_cast<int>(threadIdx.x), column = at / 8, pack = at % 8;
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
  /// All but the last of the pipeline's tiles are on their way then, and `columns` are those of the last.
  __device__ __forceinline__ void fill_pipeline(Columns& columns) const {
    columns_of(0, columns);
#pragma unroll
    for (int s = 0; s < window_stages - 1; ++s) {
      start_copies(s, columns);
      columns_of(s + 1, columns);
    }
  }

  /// A sum that is not finite, edge by edge: what is not finite in x reaches all rows of a window by way of 0 * x.
  __device__ float sum_again(int row_in_window, int feature) const {
    float sum = 0, next = 0;
    for (std::int64_t tile = window_begin; tile < window_begin + window_tiles; ++tile)
      for (int k = 0; k < window_step / 16; ++k) {
        unsigned bits = __ldg(args.windows.bits + (tile * Rows + row_in_window) * (window_step / 16) + k);
        for (; bits != 0; bits &= bits - 1) {
          const int bit = __ffs(static_cast<int>(bits)) - 1;
          const NodeId column = __ldg(args.windows.cols + tile * window_step + k * 16 + column_of_bit(bit));
          next += widen(load_element(row_at(args.x, static_cast<std::uint32_t>(column), args.x_pitch_bytes) + feature));
          if (!settle(sum, next)) drop_rest(next);
        }
      }
    return sum;
  }

  /// Two neighbouring features of a row, with the residual's sums and the epilogue.
  __device__ __forceinline__ void write_pair(int row_in_window, NodeId row, EdgeId edges, int feature, float first,
                                             float second) const {
    if (feature >= args.features) return;
    constexpr float unit = is_bf16<Storage> ? 0.5f : 1.0f;
    float value[2] = {first * unit, second * unit};
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (!(fabsf(value[i]) < INFINITY)) value[i] = sum_again(row_in_window, feature + i);
    if (args.residual != nullptr) {
      const auto rest = Pack<float, 2>::load(args.residual + static_cast<std::int64_t>(row) * args.features + feature);
      value[0] += rest.values[0];
      value[1] += rest.values[1];
    }
    apply_epilogue<2>(args.epilogue, row, edges, feature, value);
  }
  __device__ __forceinline__ NodeId row_at_place(int row_in_window) const {
    return __ldg(args.windows.rows + window * Rows + row_in_window);
  }
  __device__ __forceinline__ EdgeId edges_of(NodeId row) const {
    return args.epilogue.mean ? __ldg(args.offsets + row + 1) - __ldg(args.offsets + row) : 1;
  }
};

/// Where a kernel's stages begin: dynamic shared memory, on a multiple of 1024 bytes.
template <int Rows>
__device__ __forceinline__ WindowStage<Rows>* stages_in(unsigned char* memory) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  return reinterpret_cast<WindowStage<Rows>*>(memory + ((1024 - address % 1024) % 1024));
}
template <int Rows>
inline constexpr std::int64_t stage_bytes = window_stages* static_cast<std::int64_t>(sizeof(WindowStage<Rows>)) + 1024;

}  // namespace weft::cuda
