#include <bzlib.h>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/io/packing.hpp"
#include "mend.hpp"
#include "unpacked.hpp"

namespace weft::test {
namespace {

// A stream is "BZh" and a digit, then blocks that begin at any bit with a mark and the CRC-32 of their content, then
// another mark and what the CRCs of all blocks add up to, and zeros to the end of the byte.
constexpr std::uint64_t block_mark = 0x314159265359, end_mark = 0x177245385090;
constexpr std::size_t start_bits = 32, mark_bits = 48, crc_bits = 32;

/// So many bits from the bit `at` on, the first the highest.
std::uint64_t bits_at(std::span<const std::byte> bytes, std::size_t at, std::size_t count) {
  std::uint64_t bits = 0;
  for (std::size_t i = at; i < at + count; ++i)
    bits = bits << 1 | (std::to_integer<std::uint64_t>(bytes[i / 8]) >> (7 - i % 8) & 1);
  return bits;
}

void put_bits(std::span<std::byte> bytes, std::size_t at, std::uint64_t bits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte mask{static_cast<unsigned char>(0x80 >> (at + i) % 8)};
    std::byte& byte = bytes[(at + i) / 8];
    byte = (bits >> (count - 1 - i) & 1) != 0 ? byte | mask : byte & ~mask;
  }
}

/// Where the next mark begins, from the bit `at` on.
std::optional<std::size_t> next_mark(std::span<const std::byte> bytes, std::size_t at) {
  if (bytes.size() * 8 < at + mark_bits) return std::nullopt;
  constexpr std::uint64_t all = (std::uint64_t{1} << mark_bits) - 1;
  for (std::uint64_t window = bits_at(bytes, at, mark_bits);; ++at) {
    if (window == block_mark || window == end_mark) return at;
    if (at + mark_bits == bytes.size() * 8) return std::nullopt;
    window = (window << 1 | bits_at(bytes, at + mark_bits, 1)) & all;
  }
}

/// bzip2's: the highest bit first.
std::uint32_t crc_of(std::span<const std::byte> bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      std::uint32_t crc = i << 24;
      for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc >> 31) != 0 ? 0x04c11db7u : 0u);
      all[i] = crc;
    }
    return all;
  }();
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) crc = crc << 8 ^ table[crc >> 24 ^ std::to_integer<std::uint32_t>(byte)];
  return ~crc;
}

/// The content of the block between two bits, whatever its CRC; nothing where it is damaged, or large. The library
/// gives all of a block before it compares its CRC.
std::optional<std::vector<std::byte>> unpacked(std::span<const std::byte> stream, std::size_t begin, std::size_t end) {
  const std::size_t size = start_bits + (end - begin) + mark_bits + crc_bits;
  std::vector<std::byte> alone((size + 7) / 8);
  put_bits(alone, 0, bits_at(stream, 0, start_bits), start_bits);
  for (std::size_t i = 0; begin + i < end; i += 32) {
    const std::size_t count = std::min<std::size_t>(32, end - begin - i);
    put_bits(alone, start_bits + i, bits_at(stream, begin + i, count), count);
  }
  put_bits(alone, size - mark_bits - crc_bits, end_mark, mark_bits);
  bz_stream unpacking{};
  if (::BZ2_bzDecompressInit(&unpacking, 0, 0) != BZ_OK) return std::nullopt;
  std::vector<std::byte> content(most_mended + 1);
  unpacking.next_in = reinterpret_cast<char*>(alone.data());
  unpacking.avail_in = static_cast<unsigned>(alone.size());
  unpacking.next_out = reinterpret_cast<char*>(content.data());
  unpacking.avail_out = static_cast<unsigned>(content.size());
  ::BZ2_bzDecompress(&unpacking);
  content.resize(content.size() - unpacking.avail_out);
  ::BZ2_bzDecompressEnd(&unpacking);
  if (content.empty() || content.size() > most_mended) return std::nullopt;
  return content;
}

/// Bytes of a stream that was mended; 0 for none.
std::size_t mend_bzip2_stream(std::span<std::byte> bytes) {
  if (io::packing_of(bytes) != io::Packing::bzip2) return 0;
  std::uint32_t sum = 0;
  for (std::optional<std::size_t> at = start_bits; at;) {
    const std::size_t crc_at = *at + mark_bits, behind = crc_at + crc_bits;
    if (behind > bytes.size() * 8) return 0;
    const std::uint64_t mark = bits_at(bytes, *at, mark_bits);
    if (mark == end_mark) {
      put_bits(bytes, crc_at, sum, crc_bits);
      return (behind + 7) / 8;
    }
    const auto next = next_mark(bytes, behind);
    if (mark != block_mark || !next) return 0;
    const auto content = unpacked(bytes, *at, *next);
    if (!content) return 0;
    const std::uint32_t crc = crc_of(*content);
    put_bits(bytes, crc_at, crc, crc_bits);
    sum = std::rotl(sum, 1) ^ crc;
    at = next;
  }
  return 0;
}

}  // namespace

void mend_bzip2(std::span<std::byte> bytes) {
  while (const std::size_t mended = mend_bzip2_stream(bytes)) bytes = bytes.subspan(mended);
}

}  // namespace weft::test
