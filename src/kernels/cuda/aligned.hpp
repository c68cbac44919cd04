// How many elements one load or store may move.
#pragma once

#include <cstdint>

namespace weft::cuda {

/// As far as 16 bytes, this pointer and this pitch allow; a power of two.
template <class Storage>
int aligned_elements(const Storage* data, std::int64_t pitch) {
  int elements = 16 / static_cast<int>(sizeof(Storage));
  while (elements > 1 &&
         (reinterpret_cast<std::uintptr_t>(data) % (sizeof(Storage) * elements) != 0 || pitch % elements != 0))
    elements /= 2;
  return elements;
}

}  // namespace weft::cuda
