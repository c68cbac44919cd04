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

struct GzipReader::State {
  std::span<const std::byte> packed;
  std::size_t limit, taken = 0, given = 0;
  bool between_members = false, done = false;
  z_stream stream{};

  explicit State(std::span<const std::byte> bytes)
      : packed(bytes), limit(std::max(always_allowed, bytes.size() * most_growth)) {
    WEFT_CHECK(::inflateInit2(&stream, gzip_only) == Z_OK, out_of_memory, "out of memory: zlib's state for reading");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ::inflateEnd(&stream); }

  const Bytef* at() const { return reinterpret_cast<const Bytef*>(packed.data()) + taken; }

  /// To the next member, or the end.
  void leave_member() {
    between_members = false;
    if (only_zeros(at(), std::min<std::size_t>(packed.size() - taken, 1 << 16))) {
      done = true;
      return;
    }
    WEFT_CHECK(is_gzip(packed.subspan(taken)), invalid_file, "byte {} of {}: expected the end or another gzip member",
               taken, packed.size());
    ::inflateReset(&stream);
  }

  /// Part of what `into` has room for.
  std::size_t inflate_some(std::span<std::byte> into) {
    constexpr std::size_t step = std::size_t{1} << 24;
    stream.next_in = const_cast<Bytef*>(at());
    stream.avail_in = static_cast<uInt>(std::min(step, packed.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(into.data());
    stream.avail_out = static_cast<uInt>(std::min(step, into.size()));
    const uInt had_in = stream.avail_in, had_out = stream.avail_out;
    const int state = ::inflate(&stream, Z_NO_FLUSH);
    taken += had_in - stream.avail_in;
    WEFT_CHECK(state != Z_MEM_ERROR, out_of_memory, "out of memory: zlib's window");
    if (state == Z_STREAM_END) {
      between_members = true;
    } else {
      WEFT_CHECK(state == Z_OK || state == Z_BUF_ERROR, invalid_file, "byte {} of {}: the gzip data is damaged ({})",
                 taken, packed.size(), stream.msg != nullptr ? stream.msg : "wrong code");
      WEFT_CHECK(taken < packed.size() || stream.avail_out == 0, invalid_file,
                 "the gzip data ends at byte {} in the middle of its content: the file was cut off", taken);
    }
    return had_out - stream.avail_out;
  }
};

GzipReader::GzipReader(std::span<const std::byte> packed) : state_(std::make_unique<State>(packed)) {}
GzipReader::GzipReader(GzipReader&&) noexcept = default;
GzipReader& GzipReader::operator=(GzipReader&&) noexcept = default;
GzipReader::~GzipReader() = default;

bool GzipReader::done() const { return state_->done; }
std::size_t GzipReader::taken() const { return state_->taken; }
std::size_t GzipReader::limit() const { return state_->limit; }

std::size_t GzipReader::read(std::span<std::byte> into) {
  State& s = *state_;
  std::size_t filled = 0;
  for (;;) {
    if (s.between_members) s.leave_member();
    if (s.done || filled == into.size()) return filled;
    const std::size_t some = s.inflate_some(into.subspan(filled));
    filled += some;
    s.given += some;
    WEFT_CHECK(s.given <= s.limit, invalid_file,
               "unpacks to more than {} bytes from {}, which graphs do not: if it is right, unpack it by hand", s.limit,
               s.packed.size());
  }
}

Unpacked gunzip(std::span<const std::byte> bytes, const Progress& progress) {
  constexpr std::size_t piece = std::size_t{1} << 24;
  GzipReader reader(bytes);
  Buffer<std::byte> content(std::min(reader.limit(), std::max<std::size_t>(bytes.size() * 4, 1 << 16)),
                            "the unpacked file");
  for (std::size_t used = 0;;) {
    const std::size_t room = std::min(piece, content.size() - used);
    used += reader.read({content.data() + used, room});
    if (progress)
      progress("unpacking", static_cast<std::int64_t>(reader.taken()), static_cast<std::int64_t>(bytes.size()));
    if (reader.done()) return {std::move(content), used};
    // One byte more than there may be shows that there are too many.
    if (used == content.size()) grow(content, used, std::min(reader.limit() + 1, used * 2));
  }
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
