// For programs that embed weft, such as PyTorch: they can supply its memory and its threads.
#pragma once

#include <cstddef>

#include "weft/types.hpp"

struct CUstream_st;  // a CUDA stream, without CUDA's headers

namespace weft {

/// An allocator that replaces weft's own. Its functions may be called from any thread and must not throw.
struct Allocator {
  /// Returns uninitialised memory, aligned to at least 64 bytes, on a GPU to 256; null if none is left. On a GPU, work
  /// that comes later in the stream uses it; on the CPU the stream is null.
  void* (*allocate)(void* self, Device device, std::size_t bytes, CUstream_st* stream) = nullptr;
  /// Work that is already in the stream may still use the memory.
  void (*deallocate)(void* self, Device device, void* memory, std::size_t bytes, CUstream_st* stream) = nullptr;
  void* self = nullptr;
};
/// Devices of that kind allocate from `allocator` from now on; without one, from weft's own again. Memory is freed by
/// the allocator that it came from, so what `self` points to must outlive it. memory_stats counts all of it.
void set_allocator(DeviceKind kind, const Allocator& allocator = {});

/// Threads that replace weft's own for work on the CPU.
struct Executor {
  /// Calls work(job, seat) once for every seat in [0, seats), sequentially or on several threads, and returns when all
  /// calls have returned. `work` does not throw.
  void (*run)(void* self, int seats, void (*work)(void* job, int seat), void* job) = nullptr;
  void* self = nullptr;
};
/// Runs tasks on `executor` from now on; without one, on weft's own threads again. Results are bitwise the same either
/// way. Do not call it while weft runs.
void set_executor(const Executor& executor = {});

}  // namespace weft
