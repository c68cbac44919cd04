// Whole arrays of bytes on the device: what they hold, as one number, and making them hold nothing sensible.
#include <cuda_runtime.h>

#include "bench/cuda/measure.hpp"
#include "core/cuda/status.hpp"
#include "core/device.hpp"

namespace weft::tool {
namespace {

using weft::cuda::check_status;
using Sum = unsigned long long;  // what atomicAdd takes

// splitmix64's output function, over a word and its place.
__device__ Sum mixed(std::uint64_t word, std::uint64_t place) {
  std::uint64_t z = word * 0x9e3779b97f4a7c15u + (place + 1) * 0xd1342543de82ef95u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// A sum modulo 2^64 does not depend on the order of its terms: the atomics give the same number every time.
__global__ void add_words(const unsigned char* data, std::int64_t bytes, Sum* total) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(data);
  const std::int64_t count = bytes / 4, step = std::int64_t{gridDim.x} * blockDim.x;
  Sum sum = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count; i += step)
    sum += mixed(words[i], static_cast<std::uint64_t>(i));
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (std::int64_t i = count * 4; i < bytes; ++i) sum += mixed(data[i], static_cast<std::uint64_t>(i));
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

}  // namespace

std::uint64_t cuda_fingerprint(const Context& context, const void* data, std::size_t bytes) {
  const weft::cuda::OnDevice on(context.device().index);
  const Device device = context.device();
  const DeviceBuffer total(device, context.stream(), sizeof(Sum), "a fingerprint");
  zero_bytes(device, total.data(), sizeof(Sum), context.stream());
  add_words<<<1024, 256, 0, context.stream()>>>(static_cast<const unsigned char*>(data),
                                                static_cast<std::int64_t>(bytes), reinterpret_cast<Sum*>(total.data()));
  check_status(cudaGetLastError(), "taking a fingerprint");
  Sum sum = 0;
  copy_bytes({}, &sum, device, total.data(), sizeof sum, context.stream());
  return sum;
}

void cuda_poison(int index, CUstream_st* stream, void* data, std::size_t bytes) {
  if (bytes == 0) return;
  const weft::cuda::OnDevice on(index);
  check_status(cudaMemsetAsync(data, 0xff, bytes, stream), "filling an output with NaN");
}

}  // namespace weft::tool
