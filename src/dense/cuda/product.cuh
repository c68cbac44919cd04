// What dense products on tensor cores share: which of them there are, and the sizes of their pieces.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "core/cuda/copy_async.cuh"
#include "core/device.hpp"
#include "core/loops/value.hpp"
#include "kernels/cuda/primitives/mma.cuh"

namespace weft::dense::cuda {

using namespace loops;  // elements and packs of them
using weft::cuda::commit_copies, weft::cuda::copy_async_of_line, weft::cuda::wait_for_copies;
using weft::cuda::Fragment, weft::cuda::multiply, weft::cuda::multiply_all, weft::cuda::pair_of;

inline constexpr int lanes = 32;
inline constexpr int max_width = 256;          // of k and n
inline constexpr int max_shared = 227 * 1024;  // bytes a block can have on Hopper

/// Elements of 4 and of 16 bytes.
template <class T>
inline constexpr int word_size = static_cast<int>(4 / sizeof(T));

/// Sums as T, halves two at a time: past the range of f16 the largest value there is, where that `saturates`.
template <class T, int Count>
__device__ __forceinline__ Pack<T, Count> rounded(const float (&sums)[Count], bool saturates) {
  Pack<T, Count> pack;
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < Count; ++i) pack.values[i] = sums[i];
  } else {
    float inside[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) inside[i] = sums[i];
    if (saturates)
#pragma unroll
      for (int i = 0; i < Count; ++i) inside[i] = within_range<T>(sums[i]);
#pragma unroll
    for (int i = 0; i < Count; i += 2)
      reinterpret_cast<unsigned&>(pack.values[i]) = pair_of<T>(inside[i], inside[i + 1]);
  }
  return pack;
}

constexpr int pieces(std::int64_t count, int size) { return static_cast<int>((count + size - 1) / size); }

/// Whether these kernels have such rows: whole 16 bytes, of k and n elements, and memory for them beside each other.
inline bool is_narrow(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, Device device) {
  if (dtype != Dtype::f32 && dtype != Dtype::f16 && dtype != Dtype::bf16) return false;
  const int pack = dtype == Dtype::f32 ? 4 : 8;
  return n > 0 && k > 0 && n <= max_width && k <= max_width && n % pack == 0 && k % pack == 0 && m <= 1 << 30 &&
         cuda_device(device.index).compute_capability == 90;
}
inline bool is_aligned(const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; }

}  // namespace weft::dense::cuda
