// What products on tensor cores are made of: operands in registers, exact in f32 by two tf32 each, and the products of
// small tiles. Lane l of a warp is (group l / 4, quad l % 4), the names under which PTX describes fragments.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "core/cuda/copy_async.cuh"
#include "core/device.hpp"
#include "core/loops/value.hpp"

namespace weft::dense::cuda {

using namespace loops;  // elements and packs of them
using weft::cuda::commit_copies, weft::cuda::copy_async_of_line, weft::cuda::wait_for_copies;

inline constexpr int lanes = 32;
inline constexpr int max_width = 256;          // of k and n
inline constexpr int max_shared = 227 * 1024;  // bytes a block can have on Hopper

/// Elements of 4 and of 16 bytes.
template <class T>
inline constexpr int word_size = static_cast<int>(4 / sizeof(T));

constexpr int pieces(std::int64_t count, int size) { return static_cast<int>((count + size - 1) / size); }

/// Whether these kernels have such rows: whole 16 bytes, of k and n elements, and memory for them beside each other.
inline bool is_narrow(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, Device device) {
  if (dtype != Dtype::f32 && dtype != Dtype::f16 && dtype != Dtype::bf16) return false;
  const int pack = dtype == Dtype::f32 ? 4 : 8;
  return n > 0 && k > 0 && n <= max_width && k <= max_width && n % pack == 0 && k % pack == 0 && m <= 1 << 30 &&
         cuda_device(device.index).compute_capability == 90;
}
inline bool is_aligned(const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; }

/// Words of an operand of mma.sync. Of f32 each is the nearest tf32, `hi`, and what that leaves, `lo`, of which tensor
/// cores take 11 bits: both together are within 2^-23 of the value.
template <class T, int Words>
struct Fragment {
  unsigned hi[Words];
  __device__ __forceinline__ void set(int i, unsigned word) { hi[i] = word; }
};
template <int Words>
struct Fragment<float, Words> {
  unsigned hi[Words], lo[Words];
  __device__ __forceinline__ void set(int i, unsigned word) {
    hi[i] = (word + 0x1000u) & 0xffffe000u;
    lo[i] = __float_as_uint(__uint_as_float(word) - __uint_as_float(hi[i]));
  }
};

/// c [16, 8] += a [16, depth] b [depth, 8], depth being 8 words: 8 of f32 (as tf32), 16 of halves.
template <class T>
__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (std::is_same_v<T, float>) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (std::is_same_v<T, Half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// c[i][j] += the sum over s of a[s][i] b[s][j]. Of f32 the three products that count of four, the small ones first;
/// neighbours in this order wait for different sums.
template <class T, int Steps, int I, int J>
__device__ __forceinline__ void multiply_all(float (&c)[I][J][4], const Fragment<T, 4> (&a)[Steps][I],
                                             const Fragment<T, 2> (&b)[Steps][J]) {
  const auto each = [&](const auto& product) {
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
      for (int j = 0; j < J; ++j)
#pragma unroll
        for (int i = 0; i < I; ++i) product(c[i][j], a[s][i], b[s][j]);
  };
  if constexpr (std::is_same_v<T, float>) {
    each([](float(&sum)[4], const auto& x, const auto& y) { multiply<T>(sum, x.lo, y.hi); });
    each([](float(&sum)[4], const auto& x, const auto& y) { multiply<T>(sum, x.hi, y.lo); });
  }
  each([](float(&sum)[4], const auto& x, const auto& y) { multiply<T>(sum, x.hi, y.hi); });
}

}  // namespace weft::dense::cuda
