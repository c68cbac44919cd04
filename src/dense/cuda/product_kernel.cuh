// c = epilogue(a b) for many rows and few columns. The weights b wait in shared memory, as fragments; the rows of a
// stream past them. Every warp works on 16 * Blocks rows and all columns of its block by itself: nothing waits for
// another warp once the weights are there.
//
// Columns may stand in a tile's products in any order, as long as a and b have the same, and so may those of c. Here it
// is that in which a lane's share of everything it copies and stores is 16 bytes of a row: words 4 * quad to 4 * quad +
// 3 of 16, in the rows group, group + 8, ... So what a lane copies to shared memory ahead of time it reads back itself,
// and a, the gate and c all come by one queue. Halves of a alone are read back in another order (in_tile_order).
#pragma once

#include "dense/cuda/queue.cuh"
#include "kernels/cuda/primitives/reduce.cuh"

namespace weft::dense::cuda {

/// Slots of 16 bytes per lane that the weights of one step take, for so many pairs of tiles.
template <class T, int Pairs>
inline constexpr int slots_of_step = std::is_same_v<T, float> ? 2 * Pairs : Pairs;
template <class T, int Pairs>
inline constexpr int chunk_bytes = slots_of_step<T, Pairs>* chunk_steps* lanes* static_cast<int>(sizeof(uint4));

/// The block's columns of b as fragments: of f32 [step][tile][lane] (hi, hi, lo, lo), of halves [step][pair of tiles]
/// [lane] (two words of each), 0 past its end.
template <class T, int Pairs>
__device__ __forceinline__ void fill_weights(const ProductArgs& args, const ProductShape& shape, uint4* to) {
  const T* const b = static_cast<const T*>(args.b);
  const int n = static_cast<int>(args.n), k = static_cast<int>(args.k), lane = threadIdx.x % lanes;
  const int group = lane / 4, quad = lane % 4;
  const int column_stride = args.b_transposed ? k : 1, row_stride = args.b_transposed ? 1 : n;
  const auto word = [&](int step, int tile, int half) {
    constexpr int of_group = group_tiles<T>;
    const int column = blockIdx.y * (Pairs * 16) + tile / of_group * group_columns<T> + group / 2 * pack_size<T> +
                       tile % of_group * 2 + group % 2;
    const int first = (in_tile_order<T> ? (step * 2 + half) * 4 + quad
                                        : (step / chunk_steps * 4 + quad) * 4 + step % chunk_steps * 2 + half) *
                      word_size<T>;
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < word_size<T>; ++i) {
      T value{};
      if (column < n && first + i < k) value = b[column * column_stride + (first + i) * row_stride];
      if constexpr (std::is_same_v<T, float>) {
        bits = __float_as_uint(value);
      } else {
        bits |= static_cast<unsigned>(value.bits) << 16 * i;
      }
    }
    return bits;
  };
  // A slot is of one tile of f32, or of two of halves. Several are loaded together, as each load waits for L2.
  constexpr int words = std::is_same_v<T, float> ? 2 : 4, in_step = slots_of_step<T, Pairs>, together = 16 / words;
  const int count = shape.chunks * chunk_steps * in_step, warps = blockDim.x / lanes;
#pragma unroll 1
  for (int first = threadIdx.x / lanes; first < count; first += together * warps) {
    unsigned loaded[together][words];
#pragma unroll
    for (int c = 0; c < together; ++c) {
      const int i = first + c * warps;
#pragma unroll
      for (int w = 0; w < words; ++w) loaded[c][w] = word(i / in_step, i % in_step * (words / 2) + w / 2, w % 2);
    }
#pragma unroll
    for (int c = 0; c < together; ++c) {
      const int i = first + c * warps;
      if (i >= count) break;
      if constexpr (std::is_same_v<T, float>) {
        Fragment<T, 2> both;
        both.set(0, loaded[c][0]);
        both.set(1, loaded[c][1]);
        to[i * lanes + lane] = {both.hi[0], both.hi[1], both.lo[0], both.lo[1]};
      } else {
        to[i * lanes + lane] = {loaded[c][0], loaded[c][1], loaded[c][2], loaded[c][3]};
      }
    }
  }
}

/// A slot of weights; `InOrder` in which the program asks, where the compiler would load more ahead than it has
/// registers for, and then let products wait for one another.
template <bool InOrder>
__device__ __forceinline__ uint4 load_slot(const uint4* slot) {
  if constexpr (!InOrder) return *slot;
  uint4 loaded;
  asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(loaded.x), "=r"(loaded.y), "=r"(loaded.z), "=r"(loaded.w)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(slot))));
  return loaded;
}

/// Two neighbouring tiles of weights, in all steps of a chunk.
template <class T, int Pairs, bool InOrder>
__device__ __forceinline__ void load_pair(Fragment<T, 2> (&b)[chunk_steps][2], const uint4* weights) {
  constexpr int in_step = slots_of_step<T, Pairs>;
#pragma unroll
  for (int s = 0; s < chunk_steps; ++s) {
    const uint4 first = load_slot<InOrder>(weights + s * in_step * lanes);
    b[s][0].hi[0] = first.x;
    b[s][0].hi[1] = first.y;
    if constexpr (std::is_same_v<T, float>) {
      const uint4 second = load_slot<InOrder>(weights + (s * in_step + 1) * lanes);
      b[s][0].lo[0] = first.z;
      b[s][0].lo[1] = first.w;
      b[s][1].hi[0] = second.x;
      b[s][1].hi[1] = second.y;
      b[s][1].lo[0] = second.z;
      b[s][1].lo[1] = second.w;
    } else {
      b[s][1].hi[0] = first.z;
      b[s][1].hi[1] = first.w;
    }
  }
}

/// The epilogue of a group of columns: what this lane has of them, a pack in each of its rows.
template <class T, int Vectors>
struct FinishColumns {
  static constexpr int count = pack_size<T>;
  const ProductArgs& args;
  int left;               // rows from this lane's first on
  std::int64_t row;       // its first
  bool changes, is_wide;  // the sums; to accumulators

  __device__ __forceinline__ FinishColumns(const ProductArgs& of) : args(of) {
    const Epilogue& e = args.epilogue;
    changes = e.row_scale != nullptr || e.adds || e.bias != nullptr || e.relu || e.gate != nullptr;
    is_wide = args.c_dtype != args.dtype;
  }
  template <class Pop>
  __device__ __forceinline__ void change(float (&value)[Vectors][count], int column, const float* bias,
                                         const Pop& pop) const {
    const Epilogue& e = args.epilogue;
    const bool inside = column < args.n;
    const auto each = [&](const auto& f) {
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
#pragma unroll
        for (int i = 0; i < count; ++i) value[v][i] = f(value[v][i], v, i);
    };
    if (e.row_scale != nullptr) {
      float scale[Vectors];
#pragma unroll
      for (int v = 0; v < Vectors; ++v) scale[v] = 8 * v < left ? __ldg(e.row_scale + row + 8 * v) : 0;
      each([&](float x, int v, int) { return x * scale[v]; });
    }
    if (e.adds && !is_wide) {
      uint4 before[Vectors];
      pop(before);
      each([&](float x, int v, int i) { return x + widen(reinterpret_cast<const Pack<T>&>(before[v]).values[i]); });
    } else if (e.adds) {
      const float* const before = static_cast<const float*>(args.c) + row * args.n + column;
      each([&](float x, int v, int i) { return inside && 8 * v < left ? x + before[8 * v * args.n + i] : x; });
    }
    if (e.bias != nullptr) {
      const auto of = *reinterpret_cast<const Pack<float, count>*>(bias);
      each([&](float x, int, int i) { return x + of.values[i]; });
    }
    if (e.relu) each([](float x, int, int) { return weft::cuda::larger(x, 0.0f); });
    if (e.gate != nullptr) {
      uint4 gate[Vectors];
      pop(gate);
      each([&](float x, int v, int i) {
        return widen(reinterpret_cast<const Pack<T>&>(gate[v]).values[i]) <= 0 ? 0.0f : x * e.gate_scale;
      });
    }
  }
  __device__ __forceinline__ void store(const float (&value)[Vectors][count], int column) const {
    if (column >= args.n) return;
    const std::int64_t at = row * args.n + column;
    const int down = 8 * static_cast<int>(args.n);
    if (is_wide) {
      float* const to = static_cast<float*>(args.c) + at;
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        if (8 * v < left)
#pragma unroll
          for (int i = 0; i < count; i += 4)
            *reinterpret_cast<float4*>(to + v * down + i) = {value[v][i], value[v][i + 1], value[v][i + 2],
                                                             value[v][i + 3]};
      return;
    }
    T* const to = static_cast<T*>(args.c) + at;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      const Pack<T> packed = rounded<T>(value[v], args.epilogue.saturates);
      if (8 * v < left) *reinterpret_cast<Pack<T>*>(to + v * down) = packed;
    }
  }
};

/// Where the rows of a come from, for kernels of so many pairs of tiles.
template <template <class, int, int, int, int> class Feed, class T, int Pairs, int Blocks, int Warps, int Stages>
using RowsOf = Feed<T, Pairs / (group_tiles<T> / 2), Blocks, Warps, Stages>;

/// `Pairs` of tiles of 8 columns, `Blocks` of 16 rows per warp, which come from a Feed.
template <template <class, int, int, int, int> class Feed, class T, int Pairs, int Blocks, int Warps, int Stages>
__global__ void __launch_bounds__(Warps* lanes, 1)
    product_kernel(const ProductArgs args, const ProductShape shape,
                   const typename RowsOf<Feed, T, Pairs, Blocks, Warps, Stages>::Source source) {
  constexpr int vectors = 2 * Blocks, group_pairs = group_tiles<T> / 2, groups = Pairs / group_pairs;
  static_assert(Pairs % group_pairs == 0);
  extern __shared__ uint4 shared[];
  using Rows = RowsOf<Feed, T, Pairs, Blocks, Warps, Stages>;
  const int lane = threadIdx.x % lanes, first = Rows::first_tile(), stride = Warps * gridDim.x;
  float* const bias = reinterpret_cast<float*>(shared);  // of the block's columns
  uint4* const queue = shared + Pairs * 16 / 4;
  uint4* const weights = queue + Rows::bytes / sizeof(uint4);
  Rows feed(args, source, shape, reinterpret_cast<char*>(queue));
  fill_weights<T, Pairs>(args, shape, weights);
  for (int i = threadIdx.x; i < Pairs * 16; i += Warps * lanes) {
    const int column = blockIdx.y * (Pairs * 16) + i;
    bias[i] = args.epilogue.bias != nullptr && column < args.n ? __ldg(args.epilogue.bias + column) : 0;
  }
  __syncthreads();

  FinishColumns<T, vectors> finish(args);
#pragma unroll 1
  for (int tile = first; tile < shape.tiles; tile += stride) {
    float sums[Pairs][Blocks][2][4] = {};
    const uint4* at = weights + lane;
    feed.begin(tile);
#pragma unroll 1
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      uint4 rows[vectors];
      feed.take(rows, chunk);
      Fragment<T, 4> a[chunk_steps][Blocks];
#pragma unroll
      for (int b = 0; b < Blocks; ++b) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint4 four = rows[2 * b + half];
          a[0][b].set(half, four.x);
          a[0][b].set(2 + half, four.y);
          a[1][b].set(half, four.z);
          a[1][b].set(2 + half, four.w);
        }
      }
      feed.taken();
#pragma unroll
      for (int p = 0; p < Pairs; ++p) {
        Fragment<T, 2> b[chunk_steps][2];
        load_pair<T, Pairs, Rows::loads_weights_in_order>(b, at + p * (slots_of_step<T, Pairs> / Pairs) * lanes);
        if constexpr (std::is_same_v<T, float>) {
          // Tensor cores cut sums off instead of rounding them, always towards 0. Over 256 products that was up to
          // 3.7e-6 of the sum of their magnitudes, against 3.5e-7 with few products added up there, and those sums
          // here.
          float part[Blocks][2][4] = {};
          multiply_all<T>(part, a, b);
#pragma unroll
          for (int i = 0; i < 8 * Blocks; ++i) sums[p][i / 8][i / 4 % 2][i % 4] += part[i / 8][i / 4 % 2][i % 4];
        } else {
          multiply_all<T>(sums[p], a, b);
        }
      }
      at += chunk_steps * slots_of_step<T, Pairs> * lanes;
    }

    finish.row = static_cast<std::int64_t>(tile) * Rows::rows + lane / 4;
    finish.left = static_cast<int>(args.m - finish.row);
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      float value[vectors][pack_size<T>];
#pragma unroll
      for (int v = 0; v < vectors; ++v)
#pragma unroll
        for (int i = 0; i < pack_size<T>; ++i)
          value[v][i] = sums[g * group_pairs + i / 4][v / 2][i / 2 % 2][v % 2 * 2 + i % 2];
      const int in_block = (g * 4 + lane % 4) * pack_size<T>, column = blockIdx.y * (Pairs * 16) + in_block;
      if (finish.changes)
        finish.change(value, column, bias + in_block, [&](uint4(&next)[vectors]) {
          feed.pop(next);
          feed.push();
        });
      finish.store(value, column);
    }
  }
}

}  // namespace weft::dense::cuda
