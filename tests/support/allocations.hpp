// Counts every operator new of a program that has allocations.cpp among its sources, and lets one fail.
#pragma once

#include <cstddef>

namespace weft::test {

/// Under ThreadSanitizer a run starts threads of its own, and starting one allocates (src/core/parallel.cpp).
#if defined(__SANITIZE_THREAD__)
inline constexpr bool starting_threads_allocates = true;
#else
inline constexpr bool starting_threads_allocates = false;
#endif

std::size_t operator_new_calls();
/// The n-th operator new from now throws (1 = the next); 0 switches it off.
void fail_operator_new(std::size_t nth);

}  // namespace weft::test
