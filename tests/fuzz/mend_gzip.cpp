#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "graph/io/byte_order.hpp"
#include "graph/io/checksum.hpp"
#include "graph/io/gzip.hpp"
#include "inflated.hpp"
#include "mend.hpp"

namespace weft::test {
namespace {

// RFC 1952: a header of ten bytes, whose fourth says which fields follow it; a trailer of two numbers.
enum Fields : unsigned { header_crc = 2, extra = 4, name = 8, comment = 16 };
constexpr std::size_t fixed_header = 10;

/// Where the header's fields end, but for its checksum; nothing where they run past the end.
std::optional<std::size_t> end_of_fields(std::span<const std::byte> member, unsigned fields) {
  std::size_t at = fixed_header;
  if ((fields & extra) != 0) {
    if (member.size() < at + 2) return std::nullopt;
    at += 2 + std::size_t{io::load<std::uint16_t>(member.data() + at)};
  }
  for (const unsigned text : {name, comment})
    if ((fields & text) != 0) {
      while (at < member.size() && member[at] != std::byte{0}) ++at;
      ++at;
    }
  if (at > member.size()) return std::nullopt;
  return at;
}

/// Bytes of a member that was mended; 0 for none.
std::size_t mend_member(std::span<std::byte> member) {
  if (!io::is_gzip(member) || member.size() < fixed_header) return 0;
  const auto fields = std::to_integer<unsigned>(member[3]);
  const auto fields_end = end_of_fields(member, fields);
  if (!fields_end) return 0;
  std::size_t at = *fields_end;
  if ((fields & header_crc) != 0) {
    if (member.size() < at + 2) return 0;
    const auto crc = static_cast<std::uint16_t>(io::checksum(member.first(at)));  // the lower half of a CRC-32
    std::memcpy(member.data() + at, &crc, sizeof crc);
    at += sizeof crc;
  }
  const auto content = inflated(member.subspan(at));
  if (!content || !content->whole) return 0;
  at += content->packed;
  const std::uint32_t right[2] = {content->crc, static_cast<std::uint32_t>(content->size)};
  const std::size_t there = std::min(sizeof right, member.size() - at);  // half a trailer is looked at as well
  std::memcpy(member.data() + at, right, there);
  return there == sizeof right ? at + there : 0;
}

}  // namespace

void mend_gzip(std::span<std::byte> bytes) {
  while (const std::size_t mended = mend_member(bytes)) bytes = bytes.subspan(mended);
}

}  // namespace weft::test
