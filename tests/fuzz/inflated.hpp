// What a deflated stream holds, of which a mender needs no more than checksum and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weft::test {

struct Inflated {
  std::uint32_t crc;
  std::size_t size;    // unpacked
  std::size_t packed;  // bytes of the stream itself; more may follow it
  bool whole;          // the stream has its end, and was not cut off
};

/// Of the raw stream that `bytes` begins with; nothing for one that is damaged or unpacks to more than 1 MiB, so that
/// a small input cannot make mending slow.
std::optional<Inflated> inflated(std::span<const std::byte> bytes);

}  // namespace weft::test
