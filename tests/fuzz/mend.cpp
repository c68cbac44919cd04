#include "mend.hpp"

#include <algorithm>

#include "bundle.hpp"
#include "graph/io/gzip.hpp"
#include "graph/io/weft_layout.hpp"

namespace weft::test {

void mend(std::span<std::byte> bytes) {
  const auto starts_with = [&](std::span<const std::byte> start) {
    return bytes.size() >= start.size() && std::ranges::equal(bytes.first(start.size()), start);
  };
  if (starts_with(std::as_bytes(std::span(io::weft_magic))))
    mend_weft(bytes);
  else if (io::is_gzip(bytes))
    mend_gzip(bytes);
  else if (is_safetensors(bytes))
    mend_safetensors(bytes);
  else if (starts_with(std::as_bytes(std::span(bundle_mark))))
    for_each_file(bytes, [](std::string_view, std::span<std::byte> content) { mend(content); });
  else
    mend_zip(bytes);  // an archive is known by its end
}

}  // namespace weft::test
