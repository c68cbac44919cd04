#include <zstd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "graph/io/byte_order.hpp"
#include "graph/io/packing.hpp"
#include "mend.hpp"
#include "unpacked.hpp"

namespace weft::test {
namespace {

// RFC 8878: the byte behind a frame's mark says whether a checksum stands behind its last block: the lower half of the
// content's XXH64.
constexpr std::size_t descriptor = 4, checksum_bytes = 4;
constexpr std::byte has_checksum{4};

/// xxHash's 64 bits with the seed 0, which libzstd has but does not offer.
std::uint64_t xxh64(std::span<const std::byte> bytes) {
  constexpr std::uint64_t p1 = 0x9e3779b185ebca87, p2 = 0xc2b2ae3d27d4eb4f, p3 = 0x165667b19e3779f9,
                          p4 = 0x85ebca77c2b2ae63, p5 = 0x27d4eb2f165667c5;
  const auto round = [](std::uint64_t sum, std::uint64_t word) { return std::rotl(sum + word * p2, 31) * p1; };
  std::size_t at = 0;
  const auto left = [&] { return bytes.size() - at; };
  std::uint64_t hash = p5;
  if (left() >= 32) {
    std::array<std::uint64_t, 4> lanes{p1 + p2, p2, 0, 0 - p1};
    while (left() >= 32)
      for (std::uint64_t& lane : lanes) {
        lane = round(lane, io::load<std::uint64_t>(bytes.data() + at));
        at += 8;
      }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * p1 + p4;
  }
  hash += bytes.size();
  for (; left() >= 8; at += 8)
    hash = std::rotl(hash ^ round(0, io::load<std::uint64_t>(bytes.data() + at)), 27) * p1 + p4;
  if (left() >= 4) {
    hash = std::rotl(hash ^ io::load<std::uint32_t>(bytes.data() + at) * p1, 23) * p2 + p3;
    at += 4;
  }
  for (; left() > 0; ++at) hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(bytes[at]) * p5, 11) * p1;
  hash = (hash ^ hash >> 33) * p2;
  hash = (hash ^ hash >> 29) * p3;
  return hash ^ hash >> 32;
}

/// The content of a frame without a checksum; nothing where it is damaged, or large.
std::optional<std::vector<std::byte>> unpacked(std::span<const std::byte> frame) {
  ZSTD_DStream* const stream = ::ZSTD_createDStream();
  if (stream == nullptr) return std::nullopt;
  ::ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, most_window_log);
  std::vector<std::byte> content(most_mended + 1);
  ZSTD_inBuffer from{frame.data(), frame.size(), 0};
  ZSTD_outBuffer to{content.data(), content.size(), 0};
  std::size_t state = 1;
  for (std::size_t before = 1; state != 0 && !::ZSTD_isError(state) && before != from.pos + to.pos;) {
    before = from.pos + to.pos;
    state = ::ZSTD_decompressStream(stream, &to, &from);
  }
  ::ZSTD_freeDStream(stream);
  if (state != 0 || to.pos > most_mended) return std::nullopt;
  content.resize(to.pos);
  return content;
}

void mend_frame(std::span<std::byte> frame) {
  const bool skipped = frame[0] != std::byte{0x28};  // a frame that holds none of the content
  if (skipped || frame.size() <= descriptor + checksum_bytes || (frame[descriptor] & has_checksum) == std::byte{0})
    return;
  std::vector<std::byte> plain(frame.begin(), frame.end() - checksum_bytes);
  plain[descriptor] &= ~has_checksum;
  const auto content = unpacked(plain);
  if (!content) return;
  const auto right = static_cast<std::uint32_t>(xxh64(*content));
  std::memcpy(frame.last(checksum_bytes).data(), &right, sizeof right);
}

}  // namespace

void mend_zstd(std::span<std::byte> bytes) {
  while (io::packing_of(bytes) == io::Packing::zstd) {
    const std::size_t size = ::ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (::ZSTD_isError(size) || size == 0 || size > bytes.size()) return;
    mend_frame(bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

}  // namespace weft::test
