// Loads that stay where they are written. What reads memory that nothing writes the compiler would rather load where it
// is used, behind a barrier, and there it is waited for.
#pragma once

#include "graph/windows/row_windows.hpp"

namespace weft::cuda {

/// An edge of a tile, if it is `wanted`.
__device__ __forceinline__ void ask_for_edge(TileEdge& edge, const TileEdge* from, bool wanted) {
  asm volatile(
      "{\n"
      ".reg .pred wanted;\n"
      "setp.ne.u32 wanted, %3, 0;\n"
      "@wanted ld.global.nc.v2.u32 {%0, %1}, [%2];\n"
      "}\n"
      : "+r"(edge.id), "+r"(edge.spot)
      : "l"(from), "r"(static_cast<unsigned>(wanted)));
}
/// 16 bits, likewise.
__device__ __forceinline__ void ask_for_half(std::uint32_t& word, const void* from, bool wanted) {
  asm volatile(
      "{\n"
      ".reg .pred wanted;\n"
      "setp.ne.u32 wanted, %2, 0;\n"
      "@wanted ld.global.nc.u16 %0, [%1];\n"
      "}\n"
      : "+r"(word)
      : "l"(from), "r"(static_cast<unsigned>(wanted)));
}
/// Where a group of edges begins, and where the `groups`-th one after it does.
__device__ __forceinline__ uint2 ask_for_range(const std::uint32_t* starts, int groups) {
  uint2 range;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(range.x) : "l"(starts));
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(range.y) : "l"(starts + groups));
  return range;
}

}  // namespace weft::cuda
