#include "core/cuda/runtime.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "core/cuda/check.hpp"

namespace weft::cuda {
namespace {

// A pool of weft's own on every device: it keeps what it was given, so that steps after the first do not ask the
// driver, and it does not change the default pool, which belongs to the rest of the program.
struct Pool {
  cudaMemPool_t handle = nullptr;
  std::mutex lock;
  std::map<void*, std::size_t> sizes;
  MemoryStats stats;
};

Pool& pool_of(int index) {
  constexpr int most = 64;
  static Pool pools[most];
  static std::mutex making;
  WEFT_CHECK(index >= 0 && index < most, invalid_argument, "device cuda:{}: expected an index under {}", index, most);
  const std::lock_guard guard(making);
  Pool& pool = pools[index];
  if (pool.handle == nullptr) {
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = index;
    check(cudaMemPoolCreate(&pool.handle, &wanted), "making a memory pool on cuda:{}", index);
    auto keep = std::numeric_limits<std::uint64_t>::max();
    check(cudaMemPoolSetAttribute(pool.handle, cudaMemPoolAttrReleaseThreshold, &keep),
          "setting up the memory pool of cuda:{}", index);
  }
  return pool;
}

}  // namespace

// The error is taken off the runtime, so that whoever calls next is not blamed for it.
void fail_with(cudaError_t status, const std::string& doing) {
  cudaGetLastError();
  fail(status == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device, "{}: {} ({})", doing,
       cudaGetErrorString(status), cudaGetErrorName(status));
}

void* allocate(int index, CUstream_st* stream, std::size_t bytes, std::string_view what) {
  const OnDevice on(index);
  Pool& pool = pool_of(index);
  void* memory = nullptr;
  check(cudaMallocFromPoolAsync(&memory, bytes > 0 ? bytes : 1, pool.handle, stream),
        "out of memory on cuda:{}: {} bytes asked for {}", index, bytes, what);
  const std::lock_guard guard(pool.lock);
  pool.sizes.emplace(memory, bytes);
  ++pool.stats.allocations;
  pool.stats.live_bytes += bytes;
  pool.stats.peak_bytes = std::max(pool.stats.peak_bytes, pool.stats.live_bytes);
  return memory;
}

void deallocate(int index, CUstream_st* stream, void* memory) noexcept {
  try {
    const OnDevice on(index);
    Pool& pool = pool_of(index);
    {
      const std::lock_guard guard(pool.lock);
      const auto found = pool.sizes.find(memory);
      if (found != pool.sizes.end()) {
        pool.stats.live_bytes -= found->second;
        pool.sizes.erase(found);
      }
    }
    if (cudaFreeAsync(memory, stream) != cudaSuccess) cudaGetLastError();
  } catch (...) {  // the device is gone, and its memory with it
  }
}

void copy(int index, void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
  const OnDevice on(index);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying {} bytes to or from cuda:{}", bytes,
        index);
}

void zero(int index, void* memory, std::size_t bytes, CUstream_st* stream) {
  const OnDevice on(index);
  check(cudaMemsetAsync(memory, 0, bytes, stream), "zeroing {} bytes on cuda:{}", bytes, index);
}

void synchronise(int index, CUstream_st* stream) {
  const OnDevice on(index);
  check(cudaStreamSynchronize(stream), "waiting for cuda:{}", index);
}

MemoryStats memory_stats(int index) {
  Pool& pool = pool_of(index);
  const std::lock_guard guard(pool.lock);
  return pool.stats;
}

void reset_memory_peak(int index) {
  Pool& pool = pool_of(index);
  const std::lock_guard guard(pool.lock);
  pool.stats.peak_bytes = pool.stats.live_bytes;
}

}  // namespace weft::cuda
