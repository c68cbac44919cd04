#include <lzma.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "graph/io/packing.hpp"
#include "mend.hpp"
#include "unpacked.hpp"

namespace weft::test {
namespace {

const std::uint8_t* bytes_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// The CRC-32 of all but the last four bytes, into these.
void put_crc_behind(std::span<std::byte> bytes) {
  const std::uint32_t crc = ::lzma_crc32(bytes_of(bytes), bytes.size() - 4, 0);
  std::memcpy(bytes.last(4).data(), &crc, sizeof crc);
}

std::size_t round_up_to_4(std::size_t size) { return (size + 3) / 4 * 4; }

/// The checksum of a block's content, by the kind that the stream names; those that liblzma does not offer stay.
void put_check(std::span<std::byte> check, lzma_check kind, std::span<const std::byte> content) {
  if (kind == LZMA_CHECK_CRC32) {
    const std::uint32_t crc = ::lzma_crc32(bytes_of(content), content.size(), 0);
    std::memcpy(check.data(), &crc, sizeof crc);
  } else if (kind == LZMA_CHECK_CRC64) {
    const std::uint64_t crc = ::lzma_crc64(bytes_of(content), content.size(), 0);
    std::memcpy(check.data(), &crc, sizeof crc);
  }
}

/// Filters of a block's header, whose options liblzma has allocated.
struct Filters {
  lzma_filter list[LZMA_FILTERS_MAX + 1] = {{LZMA_VLI_UNKNOWN, nullptr}};
  ~Filters() {
    for (std::size_t i = 0; i < LZMA_FILTERS_MAX && list[i].id != LZMA_VLI_UNKNOWN; ++i) std::free(list[i].options);
  }
};

/// Bytes of a block that was mended, its header included; nothing where it is damaged.
std::optional<std::size_t> mend_block(std::span<std::byte> bytes, lzma_check kind) {
  const std::size_t header = (std::to_integer<std::size_t>(bytes[0]) + 1) * 4;
  if (header > bytes.size()) return std::nullopt;
  put_crc_behind(bytes.first(header));
  Filters filters;
  lzma_block block{};
  block.version = 1;
  block.header_size = static_cast<std::uint32_t>(header);
  block.check = kind;
  block.filters = filters.list;
  if (::lzma_block_header_decode(&block, nullptr, bytes_of(bytes)) != LZMA_OK) return std::nullopt;
  block.ignore_check = true;
  const std::uint64_t memory = ::lzma_raw_decoder_memusage(filters.list);
  if (memory > (std::uint64_t{2} << most_window_log)) return std::nullopt;  // UINT64_MAX for no such filter
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_block_decoder(&stream, &block) != LZMA_OK) return std::nullopt;
  std::vector<std::byte> content(most_mended + 1);
  stream.next_in = bytes_of(bytes) + header;
  stream.avail_in = bytes.size() - header;
  stream.next_out = reinterpret_cast<std::uint8_t*>(content.data());
  stream.avail_out = content.size();
  const lzma_ret state = ::lzma_code(&stream, LZMA_RUN);
  const std::size_t end = bytes.size() - stream.avail_in;
  content.resize(content.size() - stream.avail_out);
  ::lzma_end(&stream);
  if (state != LZMA_STREAM_END || content.size() > most_mended) return std::nullopt;
  const std::size_t check = ::lzma_check_size(kind);
  put_check(bytes.subspan(end - check, check), kind, content);
  return end;
}

/// Bytes of the index: its number of records, two sizes each, zeros up to a multiple of four, and a CRC-32.
std::optional<std::size_t> mend_index(std::span<std::byte> bytes) {
  std::size_t at = 1;
  const auto number = [&]() -> std::optional<lzma_vli> {
    lzma_vli value = 0;
    std::size_t place = 0;
    while (at < bytes.size()) {
      const lzma_ret state = ::lzma_vli_decode(&value, &place, bytes_of(bytes), &at, bytes.size());
      if (state == LZMA_STREAM_END) return value;
      if (state != LZMA_OK) return std::nullopt;
    }
    return std::nullopt;
  };
  const auto records = number();
  if (!records || *records > bytes.size()) return std::nullopt;
  for (lzma_vli i = 0; i < 2 * *records; ++i)
    if (!number()) return std::nullopt;
  const std::size_t end = round_up_to_4(at) + 4;
  if (end > bytes.size()) return std::nullopt;
  put_crc_behind(bytes.first(end));
  return end;
}

/// Bytes of a stream that was mended; 0 for none.
std::size_t mend_xz_stream(std::span<std::byte> bytes) {
  if (io::packing_of(bytes) != io::Packing::xz || bytes.size() < LZMA_STREAM_HEADER_SIZE) return 0;
  put_crc_behind(bytes.subspan(6, 6));  // of the two bytes of flags behind the mark
  lzma_stream_flags flags;
  if (::lzma_stream_header_decode(&flags, bytes_of(bytes)) != LZMA_OK) return 0;
  std::size_t at = LZMA_STREAM_HEADER_SIZE;
  while (at < bytes.size() && bytes[at] != std::byte{0}) {
    const auto block = mend_block(bytes.subspan(at), flags.check);
    if (!block) return 0;
    at += *block;
  }
  if (at == bytes.size()) return 0;
  const auto index = mend_index(bytes.subspan(at));
  if (!index) return 0;
  at += *index;
  if (bytes.size() - at < LZMA_STREAM_HEADER_SIZE) return 0;
  const auto footer = bytes.subspan(at, LZMA_STREAM_HEADER_SIZE);  // a CRC-32 of the six bytes behind it
  const std::uint32_t crc = ::lzma_crc32(bytes_of(footer) + 4, 6, 0);
  std::memcpy(footer.data(), &crc, sizeof crc);
  return at + LZMA_STREAM_HEADER_SIZE;
}

}  // namespace

void mend_xz(std::span<std::byte> bytes) {
  while (const std::size_t mended = mend_xz_stream(bytes)) bytes = bytes.subspan(mended);
}

}  // namespace weft::test
