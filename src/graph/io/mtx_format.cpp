#include "graph/io/mtx_format.hpp"

#include <algorithm>

namespace weft::io {
namespace {

bool sniff_mtx(const Source& source) {
  const std::string_view start = source.text().substr(0, mtx_banner.size());
  return std::ranges::equal(start, mtx_banner, [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  });
}

}  // namespace

const Format& mtx_format() {
  static const Format format{.name = "mtx",
                             .endings = {".mtx", ".mtx.gz"},
                             .description = "Matrix Market",
                             .sniff = &sniff_mtx,
                             .read = &read_mtx,
                             .write = &write_mtx,
                             .unpacks = true};
  return format;
}

}  // namespace weft::io
