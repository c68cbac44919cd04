#include <cstdint>
#include <cstring>

#include "graph/io/byte_order.hpp"
#include "graph/io/checksum.hpp"
#include "graph/io/weft_layout.hpp"
#include "mend.hpp"

namespace weft::test {
namespace {

using io::WeftHeader;
using io::WeftSection;

void put(std::span<std::byte> bytes, std::size_t at, std::uint32_t crc) {
  std::memcpy(bytes.data() + at, &crc, sizeof crc);
}

}  // namespace

void mend_weft(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(WeftHeader)) return;
  const auto header = io::load<WeftHeader>(bytes.data());
  const std::size_t table_end = sizeof(WeftHeader) + std::size_t{header.sections} * sizeof(WeftSection);
  // A header that contradicts itself is refused before any checksum is looked at.
  if (header.sections > io::weft_most_sections || header.header_bytes != table_end || table_end > bytes.size()) return;
  for (std::size_t at = sizeof(WeftHeader); at < table_end; at += sizeof(WeftSection)) {
    const auto section = io::load<WeftSection>(bytes.data() + at);
    const bool behind_header = section.offset >= table_end;
    const bool inside = section.offset <= bytes.size() && section.bytes <= bytes.size() - section.offset;
    if (behind_header && inside)
      put(bytes, at + offsetof(WeftSection, crc), io::checksum(bytes.subspan(section.offset, section.bytes)));
  }
  put(bytes, offsetof(WeftHeader, crc), 0);
  put(bytes, offsetof(WeftHeader, crc), io::checksum(bytes.first(table_end)));
}

}  // namespace weft::test
