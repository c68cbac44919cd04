// What sorts on a device have in common.
#pragma once

#include <bit>
#include <cstdint>

#include "core/device.hpp"

namespace weft::cuda {

/// So many low bits tell keys from 0 to `most` apart.
constexpr int bits_for(std::int64_t most) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most > 0 ? most : 0)));
  return bits > 0 ? bits : 1;
}

template <class T>
T* as(const DeviceBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

}  // namespace weft::cuda
