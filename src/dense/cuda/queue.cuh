// What warps copy to shared memory ahead of time, in the order in which their products will need it.
#pragma once

#include "dense/cuda/product.cuh"
#include "dense/cuda/product.hpp"

namespace weft::dense::cuda {

inline constexpr int chunk_words = 16;  // of a row, four to a lane
inline constexpr int chunk_steps = 2;   // products of depth 8 words

/// Which of a row's words a lane multiplies by. Of f32 those of its 16 bytes, 4 quad to 4 quad + 3; of halves 4 w +
/// quad, as products leave their sums, so that rows which are such sums are multiplied in the order of rows from
/// memory: to the same bits.
template <class T>
inline constexpr bool in_tile_order = sizeof(T) == 2;
/// In that order 16 bytes of eight rows are read together: packs are exchanged, so that those lie in different banks.
__device__ __forceinline__ int exchanged_bytes(int row, int pack) { return (pack ^ (row / 2 & 3)) * 16; }
/// Where the lane's 16 bytes of a chunk go, of the first row that it copies; eight rows more are 512 bytes more.
template <class T>
__device__ __forceinline__ unsigned place_of_row(const char* stage) {
  const int lane = static_cast<int>(threadIdx.x % lanes), row = lane / 4, pack = lane % 4;
  return static_cast<unsigned>(__cvta_generic_to_shared(stage)) + row * 64 +
         (in_tile_order<T> ? exchanged_bytes(row, pack) : pack * 16);
}

/// How a launch is cut: columns by blockIdx.y, rows by warps.
struct ProductShape {
  int chunks;  // of a row of a
  int tiles;   // of rows
};

template <class T>
inline constexpr int group_columns = chunk_words* word_size<T>;
/// Tiles of 8 columns in a group of columns, of which a lane has 16 bytes.
template <class T>
inline constexpr int group_tiles = group_columns<T> / 8;

/// What a warp will need, asked for ahead of time in the order in which it will: of each tile of rows the chunks of a,
/// then for every group of columns c and the gate. A lane has `vectors` of 16 bytes of each, in rows 8 apart; a stage
/// of a warp may have room for more.
template <class T, int Groups, int Blocks, int Warps, int Stages, int StageBytes = 2 * Blocks* lanes * 16>
class Queue {
 public:
  static constexpr int vectors = 2 * Blocks, rows = 16 * Blocks;
  static constexpr int bytes = Warps * Stages * StageBytes;  // of a block

  /// What comes next.
  __device__ __forceinline__ void pop(uint4 (&values)[vectors]) const {
    wait_for_copies<Stages - 1>();
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      values[v] = *reinterpret_cast<const uint4*>(stage() + threadIdx.x % lanes * 16 + v * slot_bytes);
  }

 protected:
  static constexpr int slot_bytes = lanes * 16;
  static_assert(StageBytes >= vectors * slot_bytes);

  __device__ __forceinline__ Queue(const ProductArgs& args, char* memory)
      : args_(args),
        adds_(args.epilogue.adds && args.c_dtype == args.dtype),  // accumulators of halves come by themselves
        memory_(memory + threadIdx.x / lanes * (Stages * StageBytes)) {}
  /// Steps of a tile behind those of a.
  __device__ __forceinline__ int extras() const { return ((args_.epilogue.gate != nullptr) + adds_) * Groups; }
  /// The warp's stage that is popped next. What is asked for then goes there.
  __device__ __forceinline__ const char* stage() const { return memory_ + stage_; }
  /// Where it is behind the first one.
  __device__ __forceinline__ int stage_offset() const { return stage_; }
  /// This lane's first 16 bytes of it.
  __device__ __forceinline__ unsigned place() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(stage())) + threadIdx.x % lanes * 16;
  }
  __device__ __forceinline__ void asked() {
    commit_copies();
    stage_ = stage_ + StageBytes == Stages * StageBytes ? 0 : stage_ + StageBytes;
  }
  /// c or the gate; `left`: rows from this lane's first on.
  __device__ __forceinline__ void ask_extra(int extra, int left) {
    const unsigned to = place();
    const bool both = adds_ && args_.epilogue.gate != nullptr, of_c = adds_ && (!both || extra % 2 == 0);
    const int group = both ? extra / 2 : extra, n = static_cast<int>(args_.n);
    const T* const from = static_cast<const T*>(of_c ? args_.c : args_.epilogue.gate);
    const int column = blockIdx.y * (Groups * group_columns<T>)+(group * 4 + threadIdx.x % 4) * pack_size<T>;
    const T* const mine = from + static_cast<std::int64_t>(static_cast<int>(args_.m) - left) * n + column;
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      copy_async_of_line(to + v * slot_bytes, mine + v * 8 * n, column < n && 8 * v < left);
  }

  const ProductArgs& args_;

 private:
  bool adds_;
  char* memory_;
  int stage_ = 0;
};

}  // namespace weft::dense::cuda
