// What the blocks that sum windows share, whichever instruction multiplies: tiles in shared memory, bits as operands,
// and finished rows.
#pragma once

#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/windows/row_again.cuh"

namespace weft::cuda {

/// How values of a storage type become operands of 16 bits: halves are, and an f32 is the sum of three bf16, its
/// leading eight bits and twice eight more (split_rows).
///
/// Tensor cores cut off what they cannot hold where others round, up to 2^-23 of a sum with every product of 16
/// columns. So after a chain of tiles a sum settles into the f32 that the row keeps, as everywhere (RowAccumulator),
/// and the small pieces of a tile come first.
template <class Storage>
struct WindowOperand {
  using type = Storage;
  static constexpr int pieces = 1, chain = 4;  // tiles
};
template <>
struct WindowOperand<float> {
  using type = BFloat16;
  static constexpr int pieces = split_pieces, chain = 1;
};

/// An f32 rounded to TF32, 10 bits of mantissa: one product instead of three, and none exact. A row of 64 features is
/// two pieces of 128 bytes.
struct Tf32Operand {
  using type = float;
  static constexpr int pieces = 2, chain = 4;
};

/// What stands for an edge: 2, in f16 and in bf16, which is one bit; sums are halved for it.
inline constexpr unsigned two_edges = 0x40004000;  // two halves
inline constexpr float edge_unit = 0.5f;

/// The bits of a row, 64 columns, of which a lane takes the pairs of columns that its quad has.
struct RowBits {
  uint2 words;
  __device__ __forceinline__ RowBits(const std::uint32_t* row, int quad) : words(*reinterpret_cast<const uint2*>(row)) {
    words.x >>= quad;
    words.y >>= quad;
  }
  /// Columns 2 quad and 2 quad + 1 of the k-th 16, and with `later` those eight columns on: two halves, 0 or 2 each.
  __device__ __forceinline__ unsigned halves(int k, bool later) const {
    return (k / 2 == 0 ? words.x : words.y) << (14 - k % 2 * 8 - (later ? 4 : 0)) & two_edges;
  }
};

/// Operands of a tile: for every 16 columns, of lane (group, quad) the pairs of columns from 2 quad on of row `group`
/// and of row group + 8, and of both rows the pairs eight columns on.
using TileOperands = unsigned[window_step / 16][4];
/// `row`: the lane's first.
__device__ __forceinline__ void operands_of_bits(const std::uint32_t (*bits)[window_step / 32], int row, int quad,
                                                 TileOperands& a) {
  const RowBits low(bits[row], quad), high(bits[row + 8], quad);
#pragma unroll
  for (int k = 0; k < window_step / 16; ++k) {
    a[k][0] = low.halves(k, false);
    a[k][1] = high.halves(k, false);
    a[k][2] = low.halves(k, true);
    a[k][3] = high.halves(k, true);
  }
}

/// Of a size that keeps `x` of every stage on the 1024 bytes that wgmma's patterns of banks repeat after.
template <int Rows, int Pieces = 1>
struct alignas(1024) WindowStage {
  unsigned char x[Pieces][window_step * tile_features * 2];
  alignas(16) std::uint32_t bits[Rows][window_step / 32];
};

/// The same without bits.
template <int Pieces>
struct alignas(1024) TileStage {
  unsigned char x[Pieces][window_step * tile_features * 2];
};

/// 16 bytes of a tile's row in shared memory: packs of a column are exchanged, so that those of eight columns that are
/// read together lie in different banks.
__device__ __forceinline__ int place_of_pack(int column, int pack) { return column * 128 + ((pack ^ column) & 7) * 16; }

__device__ __forceinline__ WindowWork work_at(const WindowWork* at) {
  const int4 words = __ldg(reinterpret_cast<const int4*>(at));
  return {words.x, words.y, words.z};
}

/// A block, which has a part of a window's tiles and 64 features.
template <class Storage, int Rows, bool Weighted = false>
struct WindowBlock {
  const WindowSumArgs<Storage>& args;
  int parts = 1;  // blocks of a window, one after the other
  int part = static_cast<int>(blockIdx.x % static_cast<unsigned>(parts));
  WindowWork work = work_at(args.windows.work + blockIdx.x / static_cast<unsigned>(parts));
  int first_feature = static_cast<int>(blockIdx.y) * tile_features;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::int64_t first_tile = work.first_tile + static_cast<std::int64_t>(work.tiles) * part / parts;
  int tiles =
      static_cast<int>(work.first_tile + static_cast<std::int64_t>(work.tiles) * (part + 1) / parts - first_tile);

  /// A row's pairs of features, a lane's where it has `again`, from `feature` on: edge by edge, by the whole warp.
  __device__ __forceinline__ void write_row_again(int row_in_window, int feature, bool again) const {
    RowAgain<Storage, Rows, Weighted> row{args, feature + lane * 2};
    for (std::int64_t tile = work.first_tile; tile < work.first_tile + std::int64_t{work.tiles}; ++tile)
      row.add_tile(tile, row_in_window);
    if (!again) return;
    const NodeId id = row_at_place(row_in_window);
    finish_pair(id, edges_of(id), feature + lane * 2, row.sums[0], row.sums[1]);
  }

  /// Two neighbouring features of a row, with the residual's sums and the epilogue. Sums that are not finite are left:
  /// false asks for write_row_again.
  __device__ __forceinline__ bool write_pair(NodeId row, EdgeId edges, int feature, float first, float second) const {
    if (feature >= args.features) return true;
    if (!(fabsf(first) < INFINITY && fabsf(second) < INFINITY)) return false;
    constexpr float unit = Weighted ? 1 : edge_unit;
    finish_pair(row, edges, feature, first * unit, second * unit);
    return true;
  }
  /// A warp's 16 rows, 8 * `Tiles` features from `feature` on: sums as products of tensor cores leave them, of lane
  /// (group, quad) sums[4 n + 2 half + i] of row group + 8 half, feature 8 n + 2 quad + i.
  template <int Tiles>
  __device__ __forceinline__ void write_rows(int first_row, int feature, const float (&sums)[Tiles * 4]) const {
    const int group = lane / 4, quad = lane % 4;
    unsigned again = 0;  // a bit for every pair of this lane that is not finite: 8 half + n
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const NodeId row = row_at_place(first_row + group + half * 8);
      if (row < 0) continue;
      const EdgeId edges = edges_of(row);
#pragma unroll
      for (int n = 0; n < Tiles; ++n)
        if (!write_pair(row, edges, feature + n * 8 + quad * 2, sums[n * 4 + half * 2], sums[n * 4 + half * 2 + 1]))
          again |= 1u << (half * 8 + n);
    }
    if (__ballot_sync(~0u, again != 0) == 0) return;
    for (int row = 0; row < 16; ++row) {
      const unsigned pairs = __shfl_sync(~0u, again, row % 8 * 4 + quad) >> (row / 8 * 8) & 0xff;
      if (__ballot_sync(~0u, pairs != 0) != 0) write_row_again(first_row + row, feature, (pairs >> group & 1) != 0);
    }
  }
  __device__ __forceinline__ void finish_pair(NodeId row, EdgeId edges, int feature, float first, float second) const {
    float value[2] = {first, second};
    if (args.residual != nullptr) {
      const auto rest = Pack<float, 2>::load(args.residual + static_cast<std::int64_t>(row) * args.features + feature);
      value[0] += rest.values[0];
      value[1] += rest.values[1];
    }
    apply_epilogue<2>(args.epilogue, row, edges, feature, value);
  }
  __device__ __forceinline__ NodeId row_at_place(int row_in_window) const {
    return __ldg(args.windows.rows + static_cast<std::int64_t>(work.window) * Rows + row_in_window);
  }
  __device__ __forceinline__ EdgeId edges_of(NodeId row) const {
    return args.epilogue.mean ? __ldg(args.offsets + row + 1) - __ldg(args.offsets + row) : 1;
  }
};

/// Where a block's stages begin in its dynamic shared memory: on a multiple of 1024 bytes, for which there must be
/// room.
__device__ __forceinline__ unsigned char* aligned_shared(unsigned char* memory) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  return memory + (1024 - address % 1024) % 1024;
}
inline constexpr std::int64_t alignment_room = 1024;

}  // namespace weft::cuda
