// out = a^T g: every row adds the product of its part in a and its part in g. A block sums up a chunk of the rows, for
// up to 128 by 128 elements of out; its eight warps have 64 by 32 each, and where that is more than there are, several
// have the same ones for different rows. What the chunks gave is added up in their order by a second kernel.
#pragma once

#include "dense/cuda/product.cuh"
#include "dense/cuda/product.hpp"

namespace weft::dense::cuda {

inline constexpr int outer_warps = 8, outer_threads = outer_warps * lanes;
inline constexpr int warp_height = 64, warp_width = 32;    // of out
inline constexpr int most_height = 128, most_width = 128;  // a block's
inline constexpr int outer_held = 64 + 4;                  // sums a lane has, of out and of columns

/// How a launch is cut: chunks of rows by blockIdx.x, parts of out by blockIdx.y.
struct OuterShape {
  int down, across, along;  // warps over the rows and columns of out, and over the rows that are added up
  int tiles_across;         // parts of out beside one another
  int a_pitch, g_pitch;     // bytes of a row in shared memory
  int chunks;
  int shared_bytes;
};

/// Rows of one product of tiles.
template <class T>
inline constexpr int step_rows = 8 * word_size<T>;

/// A warp's bytes of a row in shared memory: from `first` on, of `bytes` in all. What would lie past the end, where
/// other rows are or are being copied to, is read from the beginning, and not used.
struct Span {
  int first, bytes;
  __device__ __forceinline__ int at(int byte) const { return first + byte < bytes ? first + byte : 0; }
};

/// One warp's part of a and g, and where its sums belong. Rows stand in shared memory as in memory.
template <class T>
struct Tiles;

/// f32: a lane reads four neighbouring columns of the rows `quad` and `quad` + 4, and they are the parts of as many
/// tiles, whose columns are thus four apart. (Pitches are 32 bytes past a multiple of 128, or 96: no two of the eight
/// lanes that read together meet in a bank.)
template <>
struct Tiles<float> {
  static constexpr int pitch_unit = 2;  // 16-byte words past a multiple of 8, or 6
  static __device__ __forceinline__ void load(Fragment<float, 4> (&a)[2], const char* rows, int pitch, Span span) {
    uint4 four[2];
    read(four, rows, pitch, span);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      a[0].set(2 * half, four[half].x);
      a[0].set(2 * half + 1, four[half].y);
      a[1].set(2 * half, four[half].z);
      a[1].set(2 * half + 1, four[half].w);
    }
  }
  /// And adds what the lane has of every column to `sums`.
  static __device__ __forceinline__ void load(Fragment<float, 2> (&b)[4], const char* rows, int pitch, Span span,
                                              bool wanted, float (&sums)[4]) {
    uint4 four[2];
    read(four, rows, pitch, span);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      b[0].set(half, four[half].x);
      b[1].set(half, four[half].y);
      b[2].set(half, four[half].z);
      b[3].set(half, four[half].w);
    }
    if (!wanted) return;
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] += element(four[0], j) + element(four[1], j);
  }
  /// Of the i-th tile of a block of 32 rows of out: its upper or lower half.
  static __device__ __forceinline__ int row(int i, int half, int group) { return 4 * group + 2 * i + half; }
  static __device__ __forceinline__ int column(int j, int n) { return 4 * n + j; }

 private:
  static __device__ __forceinline__ void read(uint4 (&four)[2], const char* rows, int pitch, Span span) {
    const int group = threadIdx.x % lanes / 4, quad = threadIdx.x % 4;
    const char* const mine = rows + quad * pitch + span.at(group * 16);
    four[0] = *reinterpret_cast<const uint4*>(mine);
    four[1] = *reinterpret_cast<const uint4*>(mine + 4 * pitch);
  }
  static __device__ __forceinline__ float element(const uint4& four, int j) {
    return __uint_as_float(j == 0 ? four.x : j == 1 ? four.y : j == 2 ? four.z : four.w);
  }
};

/// Halves: products take two rows of a column in one word, so ldmatrix transposes on the way. (Eight rows are read
/// together, 16 bytes each: pitches are odd multiples of that.)
template <class T>
struct HalfTiles {
  static constexpr int pitch_unit = 1;
  static __device__ __forceinline__ void load(Fragment<T, 4> (&a)[2], const char* rows, int pitch, Span span) {
    // Matrices of 8 by 8: columns 0, columns 8, then the same of the rows from 8 on.
    const int lane = threadIdx.x % lanes;
    const char* const mine = rows + (lane / 16 * 8 + lane % 8) * pitch;
#pragma unroll
    for (int i = 0; i < 2; ++i) read(a[i].hi, mine + span.at(lane / 8 % 2 * 16 + 32 * i));
  }
  static __device__ __forceinline__ void load(Fragment<T, 2> (&b)[4], const char* rows, int pitch, Span span,
                                              bool wanted, float (&sums)[4]) {
    // Columns 0, those of the rows from 8 on, then the same of the columns from 8 on.
    const int lane = threadIdx.x % lanes;
    const char* const mine = rows + lane % 16 * pitch;
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      unsigned four[4];
      read(four, mine + span.at(lane / 16 * 16 + 16 * j));
      b[j] = {{four[0], four[1]}};
      b[j + 1] = {{four[2], four[3]}};
      if (!wanted) continue;
      sums[j] += both(four[0]) + both(four[1]);
      sums[j + 1] += both(four[2]) + both(four[3]);
    }
  }
  static __device__ __forceinline__ int row(int i, int half, int group) { return 16 * i + 8 * half + group; }
  static __device__ __forceinline__ int column(int j, int n) { return 8 * j + n; }

 private:
  static __device__ __forceinline__ void read(unsigned (&to)[4], const char* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
                 : "memory");
  }
  static __device__ __forceinline__ float both(unsigned word) {
    T low, high;
    low.bits = static_cast<std::uint16_t>(word);
    high.bits = static_cast<std::uint16_t>(word >> 16);
    return widen(low) + widen(high);
  }
};
template <>
struct Tiles<Half> : HalfTiles<Half> {};
template <>
struct Tiles<BFloat16> : HalfTiles<BFloat16> {};

/// Bytes of a row of so many elements in shared memory.
template <class T>
int pitch_of(int elements) {
  constexpr int unit = Tiles<T>::pitch_unit;
  int packs = pieces(elements, pack_size<T>);
  while (packs % (4 * unit) != unit && packs % (4 * unit) != 3 * unit) ++packs;
  return packs * 16;
}

/// `chunks` is the caller's.
template <class T>
OuterShape shape_of(const OuterArgs& args, int stages, int steps) {
  OuterShape shape{};
  const int height = static_cast<int>(args.k < most_height ? args.k : most_height);
  const int width = static_cast<int>(args.n < most_width ? args.n : most_width);
  shape.down = height > warp_height ? 2 : 1;
  shape.across = width > 2 * warp_width ? 4 : width > warp_width ? 2 : 1;
  shape.along = outer_warps / (shape.down * shape.across);
  shape.tiles_across = pieces(args.n, most_width);
  shape.a_pitch = pitch_of<T>(height);
  shape.g_pitch = pitch_of<T>(width);
  constexpr int to_unite = (outer_warps - 1) * outer_held * lanes * sizeof(float);
  const int rows = shape.along * steps * step_rows<T>;
  shape.shared_bytes = stages * rows * (shape.a_pitch + shape.g_pitch);
  if (shape.shared_bytes < to_unite) shape.shared_bytes = to_unite;
  return shape;
}

/// Copies rows [0, rows) of the columns that begin at `from` to shared memory; 0 from row `left` on.
template <class T>
__device__ __forceinline__ void copy_rows(const char* memory, int pitch, const T* from, int width, int columns,
                                          int rows, int left) {
  const unsigned packs = columns / pack_size<T>;
  constexpr int shift = 22;  // i / packs by one multiplication: exact for 512 rows of 64 packs
  const unsigned inverse = (1u << shift) / packs + 1;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  constexpr int together = 4;  // without a branch between them, which makes each wait for the ones before
#pragma unroll 1
  for (unsigned first = threadIdx.x; first < rows * packs; first += together * outer_threads) {
    unsigned places[together];
    const T* sources[together];
    bool there[together];
#pragma unroll
    for (int c = 0; c < together; ++c) {
      const unsigned i = first + c * outer_threads, row = i * inverse >> shift, pack = i - row * packs;
      places[c] = to + row * pitch + pack * 16;
      sources[c] = from + (row * width + pack * pack_size<T>);
      there[c] = static_cast<int>(row) < left;
    }
#pragma unroll
    for (int c = 0; c < together; ++c)
      copy_async_of_line(places[c], sources[c], there[c], first + c * outer_threads < rows * packs);
  }
}

/// Sums of one chunk: [chunks][k][n], and after those of all of them [chunks][n] of the columns of g. A warp has Blocks
/// of 32 rows of out, and takes Steps products of tiles a stage.
template <class T, int Blocks, int Steps, int Stages>
__global__ void __launch_bounds__(outer_threads, 1) outer_kernel(const OuterArgs args, const OuterShape shape) {
  extern __shared__ uint4 shared[];
  char* const memory = reinterpret_cast<char*>(shared);
  const int k = static_cast<int>(args.k), n = static_cast<int>(args.n), lane = threadIdx.x % lanes;
  const int warp = threadIdx.x / lanes, group = lane / 4, quad = lane % 4;
  const int part_k = blockIdx.y / shape.tiles_across * most_height,
            part_n = blockIdx.y % shape.tiles_across * most_width;
  const int height = min(k - part_k, most_height), width = min(n - part_n, most_width);
  // Which elements of the part are this warp's, and which rows.
  const int at_k = warp % shape.down * warp_height, at_n = warp / shape.down % shape.across * warp_width;
  const int along = warp / (shape.down * shape.across);
  constexpr int size = sizeof(T);
  const Span a_span{at_k * size, height * size}, g_span{at_n * size, width * size};
  const bool sums_columns = args.column_sums != nullptr && part_k == 0 && at_k == 0;

  const std::int64_t begin = args.m * blockIdx.x / shape.chunks, end = args.m * (blockIdx.x + 1) / shape.chunks;
  constexpr int warp_rows = Steps * step_rows<T>;
  const int rows = shape.along * warp_rows, stage_bytes = rows * (shape.a_pitch + shape.g_pitch);
  const T* a_next = static_cast<const T*>(args.a) + begin * k + part_k;
  const T* g_next = static_cast<const T*>(args.g) + begin * n + part_n;
  int left = static_cast<int>(end - begin), left_to_ask = left;
  const auto ask = [&](int stage) {
    const char* const to = memory + stage * stage_bytes;
    if (left_to_ask > 0) {
      copy_rows(to, shape.a_pitch, a_next, k, height, rows, left_to_ask);
      copy_rows(to + rows * shape.a_pitch, shape.g_pitch, g_next, n, width, rows, left_to_ask);
    }
    a_next += rows * k;
    g_next += rows * n;
    left_to_ask -= rows;
    commit_copies();
  };
#pragma unroll 1
  for (int s = 0; s < Stages - 1; ++s) ask(s);

  float sums[Blocks][2][4][4] = {};  // by blocks of 32 rows of out, tiles of 16, tiles of 8 columns
  double column_sums[4] = {};
  int stage = 0;
#pragma unroll 1
  for (; left > 0; left -= rows) {
    wait_for_copies<Stages - 2>();
    __syncthreads();  // all copies are there, and nobody reads the stage that is filled next
    ask(stage == 0 ? Stages - 1 : stage - 1);
    const char* const a_rows = memory + stage * stage_bytes + along * warp_rows * shape.a_pitch;
    const char* const g_rows = memory + stage * stage_bytes + rows * shape.a_pitch + along * warp_rows * shape.g_pitch;
    stage = stage + 1 == Stages ? 0 : stage + 1;
    if (at_k >= height || at_n >= width || left <= along * warp_rows) continue;
    // Few products are added up in tensor cores, which cut off instead of rounding; their sums are added here.
    float part[Blocks][2][4][4] = {}, columns[4] = {};
    const auto take = [&](int s) {
      Fragment<T, 2> b[1][4];
      Tiles<T>::load(b[0], g_rows + s * step_rows<T> * shape.g_pitch, shape.g_pitch, g_span, sums_columns, columns);
#pragma unroll
      for (int block = 0; block < Blocks; ++block) {
        Fragment<T, 4> a[1][2];
        Tiles<T>::load(a[0], a_rows + s * step_rows<T> * shape.a_pitch, shape.a_pitch,
                       {a_span.first + 32 * block * size, a_span.bytes});
        multiply_all<T>(part[block], a, b);
      }
    };
    if (left >= rows) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) take(s);
    } else {
#pragma unroll 1
      for (int s = 0; along * warp_rows + s * step_rows<T> < left && s < Steps; ++s) take(s);
    }
#pragma unroll
    for (int i = 0; i < 32 * Blocks; ++i)
      sums[i / 32][i / 16 % 2][i / 4 % 4][i % 4] += part[i / 32][i / 16 % 2][i / 4 % 4][i % 4];
#pragma unroll
    for (int j = 0; j < 4; ++j) column_sums[j] += columns[j];
  }
  wait_for_copies<0>();
  __syncthreads();

  // Warps with the same elements are added up in the order of their rows.
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    column_sums[j] += __shfl_xor_sync(~0u, column_sums[j], 1);
    column_sums[j] += __shfl_xor_sync(~0u, column_sums[j], 2);
  }
  const int same = shape.down * shape.across;  // warps that stand between two with the same elements
  float* const others = reinterpret_cast<float*>(shared) + lane;
  if (along > 0) {
    float* const to = others + (warp - same) * outer_held * lanes;
#pragma unroll
    for (int i = 0; i < 32 * Blocks; ++i) to[i * lanes] = sums[i / 32][i / 16 % 2][i / 4 % 4][i % 4];
#pragma unroll
    for (int j = 0; j < 4; ++j) to[(32 * Blocks + j) * lanes] = static_cast<float>(column_sums[j]);
  }
  __syncthreads();
  if (along > 0 || at_k >= height || at_n >= width) return;
  for (int other = 1; other < shape.along; ++other) {
    const float* const from = others + (warp + (other - 1) * same) * outer_held * lanes;
#pragma unroll
    for (int i = 0; i < 32 * Blocks; ++i) sums[i / 32][i / 16 % 2][i / 4 % 4][i % 4] += from[i * lanes];
#pragma unroll
    for (int j = 0; j < 4; ++j) column_sums[j] += from[(32 * Blocks + j) * lanes];
  }
  float* const out = static_cast<float*>(args.workspace) + static_cast<std::int64_t>(blockIdx.x) * k * n;
#pragma unroll
  for (int i = 0; i < 32 * Blocks; ++i) {
    const int row = at_k + i / 32 * 32 + Tiles<T>::row(i / 16 % 2, i % 4 / 2, group);
    const int column = at_n + Tiles<T>::column(i / 4 % 4, 2 * quad + i % 2);
    if (row < height && column < width)
      out[(part_k + row) * n + part_n + column] = sums[i / 32][i / 16 % 2][i / 4 % 4][i % 4];
  }
  if (!sums_columns || quad != 0) return;
  float* const of_columns = static_cast<float*>(args.workspace) + static_cast<std::int64_t>(shape.chunks) * k * n +
                            static_cast<std::int64_t>(blockIdx.x) * n;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int column = at_n + Tiles<T>::column(j, group);
    if (column < width) of_columns[part_n + column] = static_cast<float>(column_sums[j]);
  }
}

struct FinishArgs {
  const float* in;
  float* out;
  int count;
};
/// out[i] = the sum of in[chunk][i] over the chunks: a thread has an element and every Parts-th of them, and what the
/// Parts have is added up in order.
template <int Parts>
__global__ void __launch_bounds__(lanes* Parts)
    finish_outer(const FinishArgs weights, const FinishArgs columns, int chunks) {
  const int blocks = (weights.count + lanes - 1) / lanes;
  const bool of_weights = static_cast<int>(blockIdx.x) < blocks;
  const FinishArgs args = of_weights ? weights : columns;
  const int lane = threadIdx.x % lanes, part = threadIdx.x / lanes;
  const int i = (blockIdx.x - (of_weights ? 0 : blocks)) * lanes + lane;
  double sum = 0;
  if (i < args.count)
#pragma unroll 16  // loads under way
    for (int chunk = part; chunk < chunks; chunk += Parts)
      sum += args.in[static_cast<std::int64_t>(chunk) * args.count + i];
  __shared__ double sums[Parts][lanes];
  sums[part][lane] = sum;
  __syncthreads();
  if (part != 0 || i >= args.count) return;
  for (int p = 1; p < Parts; ++p) sum += sums[p][lane];
  args.out[i] = static_cast<float>(sum);
}

}  // namespace weft::dense::cuda
