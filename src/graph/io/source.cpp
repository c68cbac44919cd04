#include "graph/io/source.hpp"

#include "graph/io/gzip.hpp"
#include "graph/io/mapped_file.hpp"

namespace weft::io {

std::string Source::folder() const {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Source map_file(const std::string& path) {
  auto file = MappedFile::open(path);
  return {path, file->bytes(), file};
}

void unpack(Source& source, const Progress& progress) {
  auto content = std::make_shared<Unpacked>(gunzip(source.bytes, progress));
  source.bytes = content->bytes();
  source.keeper = std::move(content);
}

Source open_file(const std::string& path, const Progress& progress) {
  Source source = map_file(path);
  if (is_gzip(source.bytes)) unpack(source, progress);
  return source;
}

}  // namespace weft::io
