// Chunks of neighbours' rows in shared memory, a slot each, and how a warp takes them from there: as f32, of which a
// lane has 16 bytes, or as halves, in the order in which tensor cores leave their sums.
#pragma once

#include "dense/cuda/queue.cuh"

namespace weft::dense::cuda {

struct NeighbourStage {
  static constexpr int slots = 64;  // of 64 bytes
  uint4 packs[slots][4];
};

/// A lane (group, quad) has four words of each of its rows: of f32 those of its pack, 4 quad to 4 quad + 3.
template <class T, bool Halves = sizeof(T) == 2>
struct NeighbourSlots {
  static constexpr bool multiplies = false;
  static constexpr int count = 4;  // elements
  static constexpr int operand_bytes = 0;
  const char* stage;

  static __device__ __forceinline__ int quad() { return static_cast<int>(threadIdx.x % 4); }
  /// The first element of a word in its chunk.
  static __device__ __forceinline__ int element_of_word(int w) { return quad() * 4 + w; }

  __device__ __forceinline__ uint4 words(int slot) const {
    return *reinterpret_cast<const uint4*>(stage + slot * 64 + quad() * 16);
  }
  /// The same of a row in memory, of which `left` bytes are there.
  static __device__ __forceinline__ uint4 words_of_row(const char* row, int left) {
    return quad() * 16 < left ? __ldg(reinterpret_cast<const uint4*>(row) + quad()) : uint4{};
  }
  static __device__ __forceinline__ void store_row(char* row, int left, uint4 words) {
    if (quad() * 16 < left) reinterpret_cast<uint4*>(row)[quad()] = words;
  }
  static __device__ __forceinline__ void add(float (&sums)[count], uint4 words, float weight) {
    const unsigned word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) sums[w] += weight * __uint_as_float(word[w]);
  }
};

/// Of halves: the pairs that products on tensor cores leave in a lane's registers, 8 w + 2 quad and the next, and that
/// the next product takes from there as its left operand.
template <class T>
struct NeighbourSlots<T, true> {
  static constexpr bool multiplies = true;
  static constexpr int count = 8;
  const char* stage;

  static __device__ __forceinline__ int quad() { return static_cast<int>(threadIdx.x % 4); }
  static __device__ __forceinline__ int element_of_word(int w) { return w * 8 + quad() * 2; }

  __device__ __forceinline__ uint4 words(int slot) const {
    const char* const at = stage + slot * 64 + quad() * 4;
    const auto word = [&](int w) { return *reinterpret_cast<const unsigned*>(at + exchanged_bytes(slot, w)); };
    return {word(0), word(1), word(2), word(3)};
  }
  static __device__ __forceinline__ uint4 words_of_row(const char* row, int left) {
    const auto word = [&](int w) {
      return w * 16 < left ? __ldg(reinterpret_cast<const unsigned*>(row) + w * 4 + quad()) : 0;
    };
    return {word(0), word(1), word(2), word(3)};
  }
  static __device__ __forceinline__ void store_row(char* row, int left, uint4 words) {
    const unsigned word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int w = 0; w < 4; ++w)
      if (w * 16 < left) reinterpret_cast<unsigned*>(row)[w * 4 + quad()] = word[w];
  }
  static __device__ __forceinline__ void add(float (&sums)[count], uint4 words, float weight) {
    const auto& pack = reinterpret_cast<const Pack<T>&>(words);
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] += weight * widen(pack.values[i]);
  }

  /// The left operand of a product that adds up edges, 1 where a row has an edge: 16 bytes per lane for every 16 slots,
  /// in shared memory, as there are no registers left for it.
  static constexpr int operand_bytes = NeighbourStage::slots / 16 * lanes * 16;
  /// `masks`: bits of the slots that the lane's two rows have.
  static __device__ __forceinline__ void fill(uint4* operands, const std::uint64_t (&masks)[2]) {
    const std::uint64_t low = masks[0] >> 2 * quad(), high = masks[1] >> 2 * quad();
    const auto pair = [](std::uint64_t bits, int from) {
      constexpr unsigned one = std::is_same_v<T, Half> ? 0x3c00 : 0x3f80;
      const unsigned two = static_cast<unsigned>(bits >> from) & 3;
      return (two * 0x8001 & 0x10001) * one;
    };
#pragma unroll
    for (int s = 0; s < NeighbourStage::slots / 16; ++s)
      operands[s * lanes] = {pair(low, s * 16), pair(high, s * 16), pair(low, s * 16 + 8), pair(high, s * 16 + 8)};
  }
  /// Two rows' sums over their edges, of `edges` slots. False where one of the warp is not finite:
  /// 0 times an infinity reaches other rows, and all are left to be added up.
  __device__ __forceinline__ bool multiply_edges(float (&sums)[2][count], const uint4* operands, int edges) const {
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(stage));
    const int lane = static_cast<int>(threadIdx.x % lanes);
    float c[4][4] = {};
#pragma unroll
    for (int s = 0; s < NeighbourStage::slots / 16; ++s) {
      if (s * 16 >= edges) break;
      const uint4 words = operands[s * lanes];
      const unsigned a[4] = {words.x, words.y, words.z, words.w};
      // Lanes 0 to 15 have the slots of eight features, 16 to 31 those of the next eight.
      const int slot = s * 16 + lane % 16;
#pragma unroll
      for (int w = 0; w < 4; w += 2) {
        unsigned b[4];
        weft::cuda::load_transposed(b, address + slot * 64 + exchanged_bytes(slot, w + lane / 16));
        const unsigned left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
        multiply<T>(c[w], a, left);
        multiply<T>(c[w + 1], a, right);
      }
    }
    float finite = 0;  // or NaN
#pragma unroll
    for (int w = 0; w < 4; ++w)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        finite += c[w][i] * 0;
        sums[i / 2][w * 2 + i % 2] = c[w][i];
      }
    if (__ballot_sync(~0u, finite != 0) == 0) return true;
#pragma unroll
    for (int v = 0; v < 2; ++v)
#pragma unroll
      for (int i = 0; i < count; ++i) sums[v][i] = 0;
    return false;
  }
};

}  // namespace weft::dense::cuda
