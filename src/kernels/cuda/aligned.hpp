// How many elements one load or store may move.
#pragma once

#include <cstdint>

#include "core/storage.hpp"

namespace weft::cuda {

/// As far as 16 bytes, this pointer and this pitch allow; a power of two.
template <class Storage>
int aligned_elements(const Storage* data, std::int64_t pitch) {
  int elements = StorageTraits<Storage>::widest_load;
  while (elements > 1 &&
         (reinterpret_cast<std::uintptr_t>(data) % (sizeof(Storage) * elements) != 0 || pitch % elements != 0))
    elements /= 2;
  return elements;
}

/// The same for an output that may hold accumulators instead: of those any number of 16-byte words goes with a pack.
template <class Storage>
int aligned_elements(const Storage* out, bool wide, std::int64_t pitch) {
  if (!wide) return aligned_elements(out, pitch);
  using Acc = AccumulatorOf<Storage>;
  const int whole = 16 / static_cast<int>(sizeof(Acc));
  const int elements = aligned_elements(reinterpret_cast<const Acc*>(out), pitch);
  return elements == whole ? StorageTraits<Storage>::widest_load : elements;
}

}  // namespace weft::cuda
