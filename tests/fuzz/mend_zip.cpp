#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "graph/io/byte_order.hpp"
#include "graph/io/checksum.hpp"
#include "inflated.hpp"
#include "mend.hpp"

namespace weft::test {
namespace {

// PKWARE's APPNOTE: an archive ends with a record that says where the central directory is, whose entries say where
// their members are. Each of the three has a part of fixed size, in which the fields stand at these bytes.
struct End {
  static constexpr std::string_view mark = "PK\5\6";
  static constexpr std::size_t bytes = 22, entries = 10, directory = 16;
};
struct Entry {
  static constexpr std::string_view mark = "PK\1\2";
  static constexpr std::size_t bytes = 46, flags = 8, method = 10, crc = 16, packed = 20, name = 28, extra = 30,
                               comment = 32, member = 42;
};
struct Member {
  static constexpr std::string_view mark = "PK\3\4";
  static constexpr std::size_t bytes = 30, crc = 14, name = 26, extra = 28;
};
constexpr unsigned crc_behind_the_member = 8;  // among an entry's flags
enum Method : std::uint16_t { stored = 0, deflated = 8 };

/// The part of fixed size, and all behind it; empty where there is none.
template <class Part>
std::span<std::byte> part_at(std::span<std::byte> bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < Part::bytes) return {};
  if (std::memcmp(bytes.data() + at, Part::mark.data(), Part::mark.size()) != 0) return {};
  return bytes.subspan(at);
}

std::size_t u16(std::span<const std::byte> part, std::size_t at) { return io::load<std::uint16_t>(part.data() + at); }
std::size_t u32(std::span<const std::byte> part, std::size_t at) { return io::load<std::uint32_t>(part.data() + at); }

std::optional<std::uint32_t> crc_of(std::span<const std::byte> packed, std::size_t method) {
  if (method == stored) return io::checksum(packed);
  if (method != deflated) return std::nullopt;
  const auto content = inflated(packed);  // cut off or not: libzip compares the checksum of either
  if (!content) return std::nullopt;
  return content->crc;
}

void mend_member(std::span<std::byte> archive, std::span<std::byte> entry) {
  const std::span<std::byte> member = part_at<Member>(archive, u32(entry, Entry::member));
  if (member.empty()) return;
  const std::size_t begin = Member::bytes + u16(member, Member::name) + u16(member, Member::extra);
  const std::size_t size = u32(entry, Entry::packed);
  if (begin > member.size() || size > member.size() - begin) return;
  const auto crc = crc_of(member.subspan(begin, size), u16(entry, Entry::method));
  if (!crc) return;
  std::memcpy(entry.data() + Entry::crc, &*crc, sizeof *crc);
  const bool in_front = (u16(entry, Entry::flags) & crc_behind_the_member) == 0;
  if (in_front) std::memcpy(member.data() + Member::crc, &*crc, sizeof *crc);
}

}  // namespace

void mend_zip(std::span<std::byte> archive) {
  const std::string_view text(reinterpret_cast<const char*>(archive.data()), archive.size());
  const std::size_t last = text.rfind(End::mark);
  if (last == text.npos) return;
  const std::span<std::byte> end = part_at<End>(archive, last);
  if (end.empty()) return;
  std::size_t at = u32(end, End::directory);
  for (std::size_t left = u16(end, End::entries); left > 0; --left) {
    const std::span<std::byte> entry = part_at<Entry>(archive, at);
    if (entry.empty()) return;
    mend_member(archive, entry);
    at += Entry::bytes + u16(entry, Entry::name) + u16(entry, Entry::extra) + u16(entry, Entry::comment);
  }
}

}  // namespace weft::test
