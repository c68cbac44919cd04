// How many elements one load or store may move.
#pragma once

#include <cstdint>

#include "core/storage.hpp"
#include "kernels/signatures.hpp"

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

/// Whether all rows begin at multiples of 16 bytes.
inline bool begins_at_16_bytes(const Operand& rows) {
  const auto pitch = static_cast<std::size_t>(rows.row_stride) * size_of(rows.dtype);
  return reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0 && pitch % 16 == 0;
}
/// Whether some row does not begin at a whole pair of elements.
inline bool begins_at_odd_elements(const Result& rows) {
  const std::size_t pair = 2 * size_of(rows.dtype);
  return reinterpret_cast<std::uintptr_t>(rows.data) % pair != 0 || rows.row_stride % 2 != 0;
}

}  // namespace weft::cuda
