// Products of small tiles on tensor cores: operands in registers, exact in f32 by two tf32 each. Lane l of a warp is
// (group l / 4, quad l % 4), the names under which PTX describes fragments.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "core/storage.hpp"

namespace weft::cuda {

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

/// Two halves as a word of an operand, each the nearest.
template <class T>
__device__ __forceinline__ unsigned pair_of(float first, float second) {
  unsigned word;
  if constexpr (std::is_same_v<T, Half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

/// And back.
template <class T>
__device__ __forceinline__ float2 values_of(unsigned pair) {
  T first, second;
  first.bits = static_cast<std::uint16_t>(pair);
  second.bits = static_cast<std::uint16_t>(pair >> 16);
  return {widen(first), widen(second)};
}

/// The nearest TF32, as a word of an operand.
__device__ __forceinline__ unsigned nearest_tf32(float value) {
  unsigned word;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  return word;
}

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

/// Four matrices of 8 x 8 halves from shared memory: lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(unsigned (&words)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
/// The same, transposed.
__device__ __forceinline__ void load_transposed(unsigned (&words)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
/// Two of them.
__device__ __forceinline__ void load_transposed(unsigned (&words)[2], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(address)
               : "memory");
}

}  // namespace weft::cuda
