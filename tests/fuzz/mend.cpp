#include "mend.hpp"

#include <algorithm>

#include "bundle.hpp"
#include "graph/io/packing.hpp"
#include "graph/io/weft_layout.hpp"

namespace weft::test {

void mend(std::span<std::byte> bytes) {
  const auto starts_with = [&](std::span<const std::byte> start) {
    return bytes.size() >= start.size() && std::ranges::equal(bytes.first(start.size()), start);
  };
  if (starts_with(std::as_bytes(std::span(io::weft_magic)))) return mend_weft(bytes);
  switch (io::packing_of(bytes)) {
    case io::Packing::gzip: return mend_gzip(bytes);
    case io::Packing::bzip2: return mend_bzip2(bytes);
    case io::Packing::xz: return mend_xz(bytes);
    case io::Packing::zstd: return mend_zstd(bytes);
    case io::Packing::none: break;
  }
  if (is_safetensors(bytes)) return mend_safetensors(bytes);
  if (!starts_with(std::as_bytes(std::span(bundle_mark)))) return mend_zip(bytes);  // an archive is known by its end
  for_each_file(bytes, [](std::string_view, std::span<std::byte> content) { mend(content); });
}

}  // namespace weft::test
