// One thread for every item of a range: what passes over plain arrays are made of.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/cuda/status.hpp"

namespace weft::cuda {

inline constexpr int each_threads = 256;

/// Blocks for `count` items; a kernel strides where there are more items than a grid can have.
inline unsigned blocks_for(std::int64_t count, std::int64_t most = (std::int64_t{1} << 31) - 1) {
  const std::int64_t blocks = (count + each_threads - 1) / each_threads;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}
__device__ __forceinline__ std::int64_t first_item() { return blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; }
__device__ __forceinline__ std::int64_t item_stride() { return gridDim.x * std::int64_t{blockDim.x}; }

template <class Body>
__global__ void __launch_bounds__(each_threads) each_item(std::int64_t count, Body body) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) body(i);
}

/// body(i) for every i of [0, count), in the stream's order. A body is plain values with a __device__ call operator.
template <class Body>
void each(std::int64_t count, CUstream_st* stream, const char* doing, const Body& body) {
  if (count == 0) return;
  each_item<<<blocks_for(count), each_threads, 0, stream>>>(count, body);
  check_status(cudaGetLastError(), doing);
}

}  // namespace weft::cuda
