// Numbers inside files. weft runs on little-endian machines only, and so are its own files; foreign
// ones may be either.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "graph files are mapped as they are");

/// A value at any address.
template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// The same, its bytes in reverse.
template <class T>
T load_swapped(const void* at) {
  unsigned char bytes[sizeof(T)];
  const auto* from = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = from[sizeof(T) - 1 - i];
  return load<T>(bytes);
}

}  // namespace weft::io
