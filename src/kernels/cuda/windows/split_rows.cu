// An f32 as three bf16 of eight bits each: products with a power of two and with 0 stay exact on tensor cores.
#include <cuda_bf16.h>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::cuda {
namespace {

constexpr int split_threads = 256;
constexpr int pack = 8;  // features of a thread

/// The leading eight bits, towards 0: what is left is exact.
__device__ __forceinline__ float leading(float value) { return __uint_as_float(__float_as_uint(value) & 0xffff0000u); }
__device__ __forceinline__ unsigned pair_of(float low, float high) {
  return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x7632);
}

__global__ void __launch_bounds__(split_threads) split_packs(const SplitArgs args, int packs) {
  const std::int64_t at = std::int64_t{blockIdx.x} * split_threads + threadIdx.x;
  const std::int64_t row = at / packs;
  if (row >= args.rows) return;
  const int feature = static_cast<int>(at % packs) * pack;
  const float scale = args.scale != nullptr ? __ldg(args.scale + row) : 1;
  float left[pack];
#pragma unroll
  for (int i = 0; i < pack; i += 4) {
    const bool there = feature + i < args.features;
    const float4 four =
        there ? __ldg(reinterpret_cast<const float4*>(args.x + row * args.pitch + feature + i)) : float4{};
    left[i] = four.x * scale, left[i + 1] = four.y * scale, left[i + 2] = four.z * scale, left[i + 3] = four.w * scale;
  }
  BFloat16* const to = args.pieces + row * split_pitch(args.features) +
                       feature / tile_features * split_pieces * tile_features + feature % tile_features;
#pragma unroll
  for (int p = split_pieces - 1; p >= 0; --p) {
    unsigned words[pack / 2];
#pragma unroll
    for (int i = 0; i < pack; i += 2) words[i / 2] = pair_of(left[i], left[i + 1]);
    *reinterpret_cast<uint4*>(to + p * tile_features) = {words[0], words[1], words[2], words[3]};
#pragma unroll
    for (int i = 0; i < pack; ++i) left[i] -= leading(left[i]);
  }
}

}  // namespace

void split_rows(const SplitArgs& args, CUstream_st* stream) {
  const int packs = static_cast<int>(split_pitch(args.features) / split_pieces / pack);
  const std::int64_t blocks = (args.rows * packs + split_threads - 1) / split_threads;
  if (blocks == 0) return;
  split_packs<<<static_cast<unsigned>(blocks), split_threads, 0, stream>>>(args, packs);
  check_launch("splitting rows for tensor cores", args.rows, 0, args.features);
}

}  // namespace weft::cuda
