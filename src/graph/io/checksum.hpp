// CRC-32 (as in zip and gzip) over large arrays, all cores at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace weft::io {

/// `tick(bytes)` is told on the calling thread how many bytes are done.
std::uint32_t checksum(std::span<const std::byte> bytes, const std::function<void(std::int64_t)>& tick = {});

}  // namespace weft::io
