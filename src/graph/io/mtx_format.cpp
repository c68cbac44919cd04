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
  static const Format format{"mtx", {".mtx", ".mtx.gz"}, "Matrix Market", &sniff_mtx, &read_mtx, &write_mtx};
  return format;
}

}  // namespace weft::io
