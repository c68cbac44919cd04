// Texts packed in every way weft unpacks.
#pragma once

#include <bzlib.h>
#include <lzma.h>
#include <zstd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "graph/io/gzip.hpp"
#include "graph/io/packing.hpp"

namespace weft::test {

inline void check_packed(bool done) {
  if (!done) throw std::runtime_error("a library did not pack the text");
}

/// One member, stream or frame.
inline std::string packed(io::Packing packing, std::string_view text) {
  std::string out(text.size() + text.size() / 50 + 1000, '\0');
  switch (packing) {
    case io::Packing::gzip: return io::gzip_member(text);
    case io::Packing::bzip2: {
      auto size = static_cast<unsigned>(out.size());
      check_packed(::BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()),
                                              static_cast<unsigned>(text.size()), 1, 0, 0) == BZ_OK);
      out.resize(size);
      return out;
    }
    case io::Packing::xz: {
      std::size_t size = 0;
      check_packed(::lzma_easy_buffer_encode(
                       0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                       reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
      out.resize(size);
      return out;
    }
    case io::Packing::zstd: {
      ZSTD_CCtx* const context = ::ZSTD_createCCtx();
      ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
      const std::size_t size = ::ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
      ::ZSTD_freeCCtx(context);
      check_packed(::ZSTD_isError(size) == 0);
      out.resize(size);
      return out;
    }
    case io::Packing::none: break;
  }
  return std::string(text);
}

}  // namespace weft::test
