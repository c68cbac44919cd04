// Copies from global to shared memory that a thread starts and waits for later.
#pragma once

namespace weft::cuda {

/// Starts copying Bytes (4, 8 or 16) from global to shared memory, of which only the first `given` are read: zeros
/// stand for the others.
template <int Bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, int given) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(given) : "memory");
  } else {
    static_assert(Bytes == 4 || Bytes == 8);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(Bytes), "r"(given)
                 : "memory");
  }
}

/// Starts copying 16 bytes to an address in shared memory, if `wanted`; zeros where they are not `there`. L2 asks for
/// their whole line of 128 bytes: the other half is copied soon after.
__device__ __forceinline__ void copy_async_of_line(unsigned to, const void* from, bool there, bool wanted = true) {
  asm volatile(
      "{\n"
      "  .reg .pred wanted;\n"
      "  setp.ne.u32 wanted, %3, 0;\n"
      "  @wanted cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n"
      "}\n" ::"r"(to),
      "l"(from), "r"(there ? 16 : 0), "r"(static_cast<unsigned>(wanted))
      : "memory");
}

/// Asks for the line at an address that will be read soon.
__device__ __forceinline__ void prefetch_to_l1(const void* from) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}

/// Ends a group: the copies started since the last one.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `Later` of the groups committed last are still under way.
template <int Later>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
}

}  // namespace weft::cuda
