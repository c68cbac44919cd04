// The address of a row, by one multiply-add: pitches are counted in bytes and fit 32 bits (kernels/cuda/pitch.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft::cuda {

/// Row `row` of the array at `first`, whose rows are `pitch` bytes apart.
template <class Storage>
__device__ __forceinline__ Storage* row_at(Storage* first, std::uint32_t row, std::uint32_t pitch) {
  using Byte = std::conditional_t<std::is_const_v<Storage>, const char, char>;
  return reinterpret_cast<Storage*>(reinterpret_cast<Byte*>(first) + static_cast<std::uint64_t>(row) * pitch);
}

}  // namespace weft::cuda
