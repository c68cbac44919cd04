// Beside source.cpp, and not in it: what reads plain files, as operators do, is linked without a library of
// compression.
#include "graph/io/source.hpp"
#include "graph/io/unpacker.hpp"

namespace weft::io {

void load(Source& source, const Progress& progress) {
  if (!source.file && !is_packed(source.bytes)) return;
  auto content = std::make_shared<Unpacked>(unpack_all(source, progress));
  source.bytes = content->bytes();
  source.keeper = std::move(content);
  source.file = nullptr;
}

void unpack(Source& source, const Progress& progress) {
  if (is_packed(source.bytes)) load(source, progress);
}

}  // namespace weft::io
