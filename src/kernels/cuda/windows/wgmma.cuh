// Hopper's products of a warpgroup: A from registers, B from shared memory, 64 x 64 sums in f32. Compiled for sm_90a
// alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "weft/half.hpp"

namespace weft::cuda {

/// B [16, 64] of halves, a row of 128 bytes a k with its packs of 16 bytes exchanged (place_of_pack), at a multiple of
/// 1024 bytes or 2048 more: eight rows are a pattern of 1024 bytes, the next eight follow.
__device__ __forceinline__ std::uint64_t describe_rows(const void* shared) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(shared));
  constexpr std::uint64_t next_pattern = 1024 >> 4, exchanged_by_128_bytes = 1;
  return (address & 0x3ffff) >> 4 | next_pattern << 16 | next_pattern << 32 | exchanged_by_128_bytes << 62;
}

/// Copies that this thread waited for become visible to the asynchronous unit.
__device__ __forceinline__ void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define WEFT_SUMS                                                                                                   \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
  "%30,%31}"
#define WEFT_SUM_OPERANDS(c)                                                                                  \
  "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), \
      "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]),  \
      "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), \
      "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
#define WEFT_SUM_RESULTS(c)                                                                                   \
  "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3]), "=f"(c[4]), "=f"(c[5]), "=f"(c[6]), "=f"(c[7]), "=f"(c[8]), \
      "=f"(c[9]), "=f"(c[10]), "=f"(c[11]), "=f"(c[12]), "=f"(c[13]), "=f"(c[14]), "=f"(c[15]), "=f"(c[16]),  \
      "=f"(c[17]), "=f"(c[18]), "=f"(c[19]), "=f"(c[20]), "=f"(c[21]), "=f"(c[22]), "=f"(c[23]), "=f"(c[24]), \
      "=f"(c[25]), "=f"(c[26]), "=f"(c[27]), "=f"(c[28]), "=f"(c[29]), "=f"(c[30]), "=f"(c[31])

#define WEFT_HALF_SUMS "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
#define WEFT_HALF_SUM_OPERANDS(c)                                                                             \
  "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), \
      "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15])

// Sums in registers are read and written by the asynchronous unit between fence and wait, which take them so that no
// use of theirs is moved across.
__device__ __forceinline__ void fence_sums(float (&c)[32]) {
  asm volatile("wgmma.fence.sync.aligned;" : WEFT_SUM_OPERANDS(c)::"memory");
}
__device__ __forceinline__ void fence_sums(float (&c)[16]) {
  asm volatile("wgmma.fence.sync.aligned;" : WEFT_HALF_SUM_OPERANDS(c)::"memory");
}
/// The same of operands in registers, which were written since the products before.
__device__ __forceinline__ void fence_operands() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Of the groups committed: operands of all but the last may be written again. Sums are not there yet.
__device__ __forceinline__ void wait_for_all_but_last() {
  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}
__device__ __forceinline__ void wait_for_products(float (&c)[32]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : WEFT_SUM_OPERANDS(c)::"memory");
}

__device__ __forceinline__ void wait_for_products(float (&c)[16]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : WEFT_HALF_SUM_OPERANDS(c)::"memory");
}

/// c [64, 64] += a [64, 16] b [16, 64]: of c, lane (group, quad) of warp w has rows 16 w + group and 8 more, columns
/// 8 n + 2 quad and one more: c[4 n + 2 half + i].
template <class Storage>
__device__ __forceinline__ void multiply_group(float (&c)[32], const unsigned (&a)[4], std::uint64_t b) {
#define WEFT_MULTIPLY(TYPE)                                                              \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " WEFT_SUMS \
               ", {%32,%33,%34,%35}, %36, 1, 1, 1, 1;\n"                                 \
               : WEFT_SUM_OPERANDS(c)                                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
  if constexpr (std::is_same_v<Storage, Half>) {
    WEFT_MULTIPLY("f16");
  } else {
    WEFT_MULTIPLY("bf16");
  }
#undef WEFT_MULTIPLY
}

/// c [64, 64] = a [64, 16] b [64, 16]^T, and what is there with `adds`: both from shared memory, rows of 128 bytes with
/// their packs exchanged, of which 16 halves (32 bytes) are taken.
template <class Storage>
__device__ __forceinline__ void multiply_rows(float (&c)[32], std::uint64_t a, std::uint64_t b, bool adds) {
#define WEFT_MULTIPLY(TYPE)                                                                                          \
  asm volatile(                                                                                                      \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"                                                             \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " WEFT_SUMS ", %32, %33, adds, 1, 1, 0, 0;\n}\n" \
      : WEFT_SUM_OPERANDS(c)                                                                                         \
      : "l"(a), "l"(b), "r"(static_cast<int>(adds)))
  if constexpr (std::is_same_v<Storage, Half>) {
    WEFT_MULTIPLY("f16");
  } else {
    WEFT_MULTIPLY("bf16");
  }
#undef WEFT_MULTIPLY
}
/// The same of 32 rows of b, for c [64, 32].
template <class Storage>
__device__ __forceinline__ void multiply_rows(float (&c)[16], std::uint64_t a, std::uint64_t b, bool adds) {
#define WEFT_MULTIPLY(TYPE)                                                          \
  asm volatile(                                                                      \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %18, 0;\n"                             \
      "wgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE " " WEFT_HALF_SUMS \
      ", %16, %17, adds, 1, 1, 0, 0;\n"                                              \
      "}\n"                                                                          \
      : WEFT_HALF_SUM_OPERANDS(c)                                                    \
      : "l"(a), "l"(b), "r"(static_cast<int>(adds)))
  if constexpr (std::is_same_v<Storage, Half>) {
    WEFT_MULTIPLY("f16");
  } else {
    WEFT_MULTIPLY("bf16");
  }
#undef WEFT_MULTIPLY
}
/// The first of products of 64 rows of b, which takes nothing of c: so the compiler keeps none of what was there.
template <class Storage>
__device__ __forceinline__ void begin_rows(float (&c)[32], std::uint64_t a, std::uint64_t b) {
#define WEFT_MULTIPLY(TYPE)                                                                                          \
  asm volatile(                                                                                                      \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, 0, 0;\n"                                                               \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " WEFT_SUMS ", %32, %33, adds, 1, 1, 0, 0;\n}\n" \
      : WEFT_SUM_RESULTS(c)                                                                                          \
      : "l"(a), "l"(b))
  if constexpr (std::is_same_v<Storage, Half>) {
    WEFT_MULTIPLY("f16");
  } else {
    WEFT_MULTIPLY("bf16");
  }
#undef WEFT_MULTIPLY
}
#undef WEFT_SUMS
#undef WEFT_SUM_OPERANDS
#undef WEFT_HALF_SUMS
#undef WEFT_HALF_SUM_OPERANDS
#undef WEFT_SUM_RESULTS

}  // namespace weft::cuda
