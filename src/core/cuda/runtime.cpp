#include "core/cuda/runtime.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "core/cuda/check.hpp"
#include "core/embedding.hpp"

namespace weft::cuda {
namespace {

// A pool of weft's own on every device: it keeps what it was given, so that steps after the first do not ask the
// driver, and it does not change the default pool, which belongs to the rest of the program.
struct Block {
  std::size_t bytes = 0;
  const Allocator* from = nullptr;  // null: the pool
};
struct Pool {
  cudaMemPool_t handle = nullptr;
  std::mutex lock;
  std::map<void*, Block> blocks;
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
  const std::size_t asked = bytes > 0 ? bytes : 1;
  const Allocator* const from = allocator_of(DeviceKind::cuda);
  if (from != nullptr) {
    memory = from->allocate(from->self, {DeviceKind::cuda, index}, asked, stream);
    WEFT_CHECK(memory != nullptr, out_of_memory, "out of memory on cuda:{}: {} bytes asked for {}", index, bytes, what);
  } else {
    check(cudaMallocFromPoolAsync(&memory, asked, pool.handle, stream),
          "out of memory on cuda:{}: {} bytes asked for {}", index, bytes, what);
  }
  const std::lock_guard guard(pool.lock);
  pool.blocks.insert_or_assign(memory, Block{bytes, from});
  ++pool.stats.allocations;
  pool.stats.live_bytes += bytes;
  pool.stats.peak_bytes = std::max(pool.stats.peak_bytes, pool.stats.live_bytes);
  return memory;
}

void deallocate(int index, CUstream_st* stream, void* memory) noexcept {
  try {
    const OnDevice on(index);
    Pool& pool = pool_of(index);
    Block block;
    {
      const std::lock_guard guard(pool.lock);
      const auto found = pool.blocks.find(memory);
      if (found != pool.blocks.end()) {
        block = found->second;
        pool.stats.live_bytes -= block.bytes;
        pool.blocks.erase(found);
      }
    }
    if (block.from != nullptr)
      block.from->deallocate(block.from->self, {DeviceKind::cuda, index}, memory, std::max<std::size_t>(block.bytes, 1),
                             stream);
    else if (cudaFreeAsync(memory, stream) != cudaSuccess)
      cudaGetLastError();
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
