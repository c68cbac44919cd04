#include "graph/io/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/check.hpp"

namespace weft::io {
namespace {

// Graphs as text shrink 3 to 10 times; a thousand times (deflate's most) is no graph but a trap.
constexpr std::size_t always_allowed = std::size_t{256} << 20, most_growth = 64;
constexpr int gzip_only = 15 + 16;  // window bits, and zlib's switch for the gzip wrapper

struct Inflater {
  z_stream stream{};
  Inflater() {
    WEFT_CHECK(::inflateInit2(&stream, gzip_only) == Z_OK, out_of_memory, "out of memory: zlib's state for reading");
  }
  ~Inflater() { ::inflateEnd(&stream); }
};

void grow(Buffer<std::byte>& buffer, std::size_t used, std::size_t size) {
  Buffer<std::byte> larger(size, "the unpacked file");
  if (used > 0) std::memcpy(larger.data(), buffer.data(), used);
  buffer = std::move(larger);
}

// Padding that some tools leave behind the last member.
bool only_zeros(const Bytef* at, std::size_t size) {
  return std::all_of(at, at + size, [](Bytef byte) { return byte == 0; });
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} && bytes[2] == std::byte{8};
}

Unpacked gunzip(std::span<const std::byte> bytes, const Progress& progress) {
  constexpr std::size_t step = std::size_t{1} << 24;
  const std::size_t limit = std::max(always_allowed, bytes.size() * most_growth);
  Inflater inflater;
  z_stream& z = inflater.stream;
  const auto* begin = reinterpret_cast<const Bytef*>(bytes.data());
  std::size_t taken = 0, used = 0;
  Buffer<std::byte> content(std::min(limit, std::max<std::size_t>(bytes.size() * 4, 1 << 16)), "the unpacked file");
  bool between_members = false;
  for (;;) {
    if (between_members) {
      if (only_zeros(begin + taken, std::min<std::size_t>(bytes.size() - taken, 1 << 16))) break;
      WEFT_CHECK(is_gzip(bytes.subspan(taken)), invalid_file, "byte {} of {}: expected the end or another gzip member",
                 taken, bytes.size());
      ::inflateReset(&z);
      between_members = false;
    }
    if (used == content.size()) {
      WEFT_CHECK(used < limit, invalid_file,
                 "unpacks to more than {} bytes from {}, which graphs do not: if it is right, unpack it by hand", limit,
                 bytes.size());
      grow(content, used, std::min(limit, used * 2));
    }
    z.next_in = const_cast<Bytef*>(begin + taken);
    z.avail_in = static_cast<uInt>(std::min(step, bytes.size() - taken));
    z.next_out = reinterpret_cast<Bytef*>(content.data() + used);
    z.avail_out = static_cast<uInt>(std::min(step, content.size() - used));
    const uInt had_in = z.avail_in, had_out = z.avail_out;
    const int state = ::inflate(&z, Z_NO_FLUSH);
    taken += had_in - z.avail_in;
    used += had_out - z.avail_out;
    WEFT_CHECK(state != Z_MEM_ERROR, out_of_memory, "out of memory: zlib's window");
    if (state == Z_STREAM_END) {
      between_members = true;
    } else {
      WEFT_CHECK(state == Z_OK || state == Z_BUF_ERROR, invalid_file, "byte {} of {}: the gzip data is damaged ({})",
                 taken, bytes.size(), z.msg != nullptr ? z.msg : "wrong code");
      WEFT_CHECK(taken < bytes.size() || z.avail_out == 0, invalid_file,
                 "the gzip data ends at byte {} in the middle of its content: the file was cut off", taken);
    }
    if (progress) progress("unpacking", static_cast<std::int64_t>(taken), static_cast<std::int64_t>(bytes.size()));
  }
  return {std::move(content), used};
}

std::string gzip_member(std::string_view text) {
  WEFT_CHECK(text.size() < std::numeric_limits<uInt>::max(), internal, "gzip member of {} bytes", text.size());
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
