// Barriers in shared memory that count arrivals, of threads and of their asynchronous copies (sm_90).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace weft::cuda {

/// A phase is over when so many have arrived, and the next begins.
struct Barrier {
  std::uint64_t state;

  __device__ __forceinline__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(&state));
  }
  /// By one thread, before a barrier of the block.
  __device__ __forceinline__ void expect(unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  /// This thread arrives when all copies that it has started are there.
  __device__ __forceinline__ void arrive_with_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address()) : "memory");
  }
  /// Until the phase of this parity is over; the one before the first has parity 1.
  __device__ __forceinline__ void wait(unsigned parity) const {
    asm volatile(
        "{\n"
        "  .reg .pred over;\n"
        "again_%=:\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
        "  @!over bra again_%=;\n"
        "}\n" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
};

}  // namespace weft::cuda
