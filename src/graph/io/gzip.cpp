#include "graph/io/gzip.hpp"

#include <zlib.h>

#include <limits>

#include "core/check.hpp"

namespace weft::io {
bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} && bytes[2] == std::byte{8};
}

std::string gzip_member(std::string_view text) {
  WEFT_CHECK(text.size() < std::numeric_limits<uInt>::max(), internal, "gzip member of {} bytes", text.size());
  constexpr int gzip_only = 15 + 16;  // window bits, and zlib's switch for the gzip wrapper
  z_stream z{};
  WEFT_CHECK(::deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_only, 8, Z_DEFAULT_STRATEGY) == Z_OK,
             out_of_memory, "out of memory: zlib's state for writing");
  std::string packed(::deflateBound(&z, static_cast<uLong>(text.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  const int state = ::deflate(&z, Z_FINISH);
  packed.resize(packed.size() - z.avail_out);
  ::deflateEnd(&z);
  WEFT_CHECK(state == Z_STREAM_END, internal, "zlib did not finish a gzip member: state {}", state);
  return packed;
}

}  // namespace weft::io
