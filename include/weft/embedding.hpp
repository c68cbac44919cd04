// For programs that weft runs inside of, such as PyTorch: whose memory it takes, and whose threads.
#pragma once

#include <cstddef>

#include "weft/types.hpp"

struct CUstream_st;  // a CUDA stream, without CUDA's headers

namespace weft {

/// Memory in place of weft's own. Its functions may be called from any thread and throw nothing.
struct Allocator {
  /// Uninitialised, aligned to 64 bytes at least, on a GPU to 256; null where there is none left. On a GPU work that
  /// follows in the stream uses it; on the CPU the stream is null.
  void* (*allocate)(void* self, Device device, std::size_t bytes, CUstream_st* stream) = nullptr;
  /// Work that stands in the stream before this may still use the memory.
  void (*deallocate)(void* self, Device device, void* memory, std::size_t bytes, CUstream_st* stream) = nullptr;
  void* self = nullptr;
};
/// Devices of that kind take memory from there from now on; with no allocator, from weft's own again. Memory goes back
/// to where it came from, so what `self` points to must outlive it. memory_stats counts all of it.
void set_allocator(DeviceKind kind, const Allocator& allocator = {});

/// Threads in place of weft's own, for work on the CPU.
struct Executor {
  /// Calls work(job, seat) once for every seat in [0, seats), one after the other or on several threads, and returns
  /// when all calls have. `work` throws nothing.
  void (*run)(void* self, int seats, void (*work)(void* job, int seat), void* job) = nullptr;
  void* self = nullptr;
};
/// Who runs tasks from now on; with no executor, weft's own threads again. Results are the same bits either way. Not
/// while work is under way.
void set_executor(const Executor& executor = {});

}  // namespace weft
