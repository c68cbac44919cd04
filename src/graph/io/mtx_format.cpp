#include "graph/io/mtx_format.hpp"

#include "core/names.hpp"

namespace weft::io {
namespace {

bool sniff_mtx(const Source& source) {
  return lower_case(source.text().substr(0, mtx_banner.size())) == lower_case(mtx_banner);
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
