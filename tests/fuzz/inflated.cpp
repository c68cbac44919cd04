#include "inflated.hpp"

#include <zlib.h>

#include <array>

#include "unpacked.hpp"

namespace weft::test {

std::optional<Inflated> inflated(std::span<const std::byte> bytes) {
  constexpr int raw = -15;  // window bits; negative ones say that there is neither header nor trailer
  z_stream z{};
  if (::inflateInit2(&z, raw) != Z_OK) return std::nullopt;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  uLong crc = ::crc32(0, nullptr, 0);
  std::array<Bytef, 1 << 14> piece;
  int state = Z_OK;
  while (state == Z_OK && z.total_out <= most_mended) {
    z.next_out = piece.data();
    z.avail_out = static_cast<uInt>(piece.size());
    state = ::inflate(&z, Z_NO_FLUSH);  // Z_BUF_ERROR at the end of a stream that was cut off
    crc = ::crc32(crc, piece.data(), static_cast<uInt>(piece.size()) - z.avail_out);
  }
  const Inflated result{static_cast<std::uint32_t>(crc), z.total_out, bytes.size() - z.avail_in, state == Z_STREAM_END};
  ::inflateEnd(&z);
  const bool damaged = state != Z_STREAM_END && state != Z_BUF_ERROR;
  if (damaged || result.size > most_mended) return std::nullopt;
  return result;
}

}  // namespace weft::test
