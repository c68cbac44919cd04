#include "graph/io/codec.hpp"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "core/check.hpp"

namespace weft::io {
namespace {

// Libraries count in 32 bits, or in more than that; 16 MiB a step fits all.
constexpr std::size_t most_a_step = std::size_t{1} << 24;
// What a file may ask for as its window: a few bytes must not ask for gigabytes. xz -9 needs 65 MiB, zstd --ultra -22
// the 128 MiB that zstd -d takes without an option.
constexpr std::uint64_t most_xz_memory = std::uint64_t{128} << 20;

template <class Pointer>
Pointer bytes_at(std::span<const std::byte> bytes) {
  return reinterpret_cast<Pointer>(const_cast<std::byte*>(bytes.data()));
}

void check_memory(bool has, std::string_view library) {
  WEFT_CHECK(has, out_of_memory, "out of memory: {}'s state for reading", library);
}

class Gzip final : public Codec {
 public:
  Gzip() {
    constexpr int gzip_only = 15 + 16;  // window bits, and zlib's switch for the gzip wrapper
    check_memory(::inflateInit2(&stream_, gzip_only) == Z_OK, "zlib");
  }
  ~Gzip() override { ::inflateEnd(&stream_); }
  void restart() override { ::inflateReset(&stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    const auto had_in = static_cast<uInt>(std::min(in.size(), most_a_step));
    const auto had_out = static_cast<uInt>(std::min(out.size(), most_a_step));
    stream_.next_in = bytes_at<Bytef*>(in);
    stream_.avail_in = had_in;
    stream_.next_out = bytes_at<Bytef*>(out);
    stream_.avail_out = had_out;
    const int state = ::inflate(&stream_, Z_NO_FLUSH);
    check_memory(state != Z_MEM_ERROR, "zlib");
    Step step{had_in - stream_.avail_in, had_out - stream_.avail_out, state == Z_STREAM_END};
    if (state != Z_OK && state != Z_BUF_ERROR && state != Z_STREAM_END)
      step.fault = stream_.msg != nullptr ? stream_.msg : "wrong code";
    return step;
  }

 private:
  z_stream stream_{};
};

class Bzip2 final : public Codec {
 public:
  Bzip2() { start(); }
  ~Bzip2() override { ::BZ2_bzDecompressEnd(&stream_); }
  void restart() override {
    ::BZ2_bzDecompressEnd(&stream_);
    stream_ = {};
    start();
  }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    const auto had_in = static_cast<unsigned>(std::min(in.size(), most_a_step));
    const auto had_out = static_cast<unsigned>(std::min(out.size(), most_a_step));
    stream_.next_in = bytes_at<char*>(in);
    stream_.avail_in = had_in;
    stream_.next_out = bytes_at<char*>(out);
    stream_.avail_out = had_out;
    const int state = ::BZ2_bzDecompress(&stream_);
    check_memory(state != BZ_MEM_ERROR, "bzip2");
    Step step{had_in - stream_.avail_in, had_out - stream_.avail_out, state == BZ_STREAM_END};
    if (state == BZ_DATA_ERROR)
      step.fault = "a checksum or code is wrong";
    else if (state == BZ_DATA_ERROR_MAGIC)
      step.fault = "its mark is wrong";
    else if (state != BZ_OK && state != BZ_STREAM_END)
      step.fault = fmt::format("bzip2's state {}", state);
    return step;
  }

 private:
  void start() { check_memory(::BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK, "bzip2"); }
  bz_stream stream_{};
};

class Xz final : public Codec {
 public:
  Xz() { restart(); }
  ~Xz() override { ::lzma_end(&stream_); }
  void restart() override { check_memory(::lzma_stream_decoder(&stream_, most_xz_memory, 0) == LZMA_OK, "xz"); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    const std::size_t had_in = std::min(in.size(), most_a_step), had_out = std::min(out.size(), most_a_step);
    stream_.next_in = bytes_at<const std::uint8_t*>(in);
    stream_.avail_in = had_in;
    stream_.next_out = bytes_at<std::uint8_t*>(out);
    stream_.avail_out = had_out;
    const lzma_ret state = ::lzma_code(&stream_, LZMA_RUN);
    check_memory(state != LZMA_MEM_ERROR, "xz");
    Step step{had_in - stream_.avail_in, had_out - stream_.avail_out, state == LZMA_STREAM_END};
    if (state == LZMA_MEMLIMIT_ERROR)
      step.fault = fmt::format("it needs {} MiB to unpack, and weft takes {}: pack it again with xz -9 or less",
                               (::lzma_memusage(&stream_) >> 20) + 1, most_xz_memory >> 20);
    else if (state == LZMA_DATA_ERROR)
      step.fault = "a checksum or code is wrong";
    else if (state == LZMA_FORMAT_ERROR)
      step.fault = "its mark is wrong";
    else if (state == LZMA_OPTIONS_ERROR)
      step.fault = "it uses a filter that this xz does not have";
    else if (state != LZMA_OK && state != LZMA_STREAM_END && state != LZMA_BUF_ERROR)
      step.fault = fmt::format("xz's state {}", static_cast<int>(state));
    return step;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Zstd final : public Codec {
 public:
  Zstd() : stream_(::ZSTD_createDStream()) { check_memory(stream_ != nullptr, "zstd"); }
  ~Zstd() override { ::ZSTD_freeDStream(stream_); }
  void restart() override { ::ZSTD_initDStream(stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t state = ::ZSTD_decompressStream(stream_, &to, &from);
    Step step{from.pos, to.pos, state == 0};
    if (::ZSTD_isError(state)) step.fault = ::ZSTD_getErrorName(state);
    return step;
  }

 private:
  ZSTD_DStream* stream_;
};

}  // namespace

std::unique_ptr<Codec> make_codec(Packing packing) {
  switch (packing) {
    case Packing::gzip: return std::make_unique<Gzip>();
    case Packing::bzip2: return std::make_unique<Bzip2>();
    case Packing::xz: return std::make_unique<Xz>();
    case Packing::zstd: return std::make_unique<Zstd>();
    case Packing::none: break;
  }
  fail(ErrorCode::internal, "no codec for what is not packed");
}

}  // namespace weft::io
