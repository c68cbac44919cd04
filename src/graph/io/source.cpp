#include "graph/io/source.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "graph/io/mapped_file.hpp"

namespace weft::io {
namespace {

constexpr std::size_t head_bytes = std::size_t{1} << 16;

Source in_memory(const std::string& path, const std::shared_ptr<const File>& file, std::size_t bytes) {
  auto memory = std::make_shared<Buffer<std::byte>>(bytes, "a file's content");
  file->read_at(0, {memory->data(), bytes});
  return {path, {memory->data(), bytes}, memory};
}

void check_is_no_pointer(const Source& source) {
  WEFT_CHECK(!source.text().starts_with("version https://git-lfs.github.com/spec/"), invalid_file,
             "it is a pointer of Git LFS, {} bytes that stand for the file itself: fetch the file with git lfs pull",
             source.size());
}

}  // namespace

std::string Source::folder() const {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Source open_file(const std::string& path) {
  auto file = File::open(path);
  Source source = in_memory(path, file, std::min(file->size(), head_bytes));
  check_is_no_pointer(source);
  source.file = std::move(file);
  return source;
}

Source map_file(const std::string& path) {
  auto file = MappedFile::open(path);
  return {path, file->bytes(), file};
}

Source load_file(const std::string& path) {
  const auto file = File::open(path);
  return in_memory(path, file, file->size());
}

}  // namespace weft::io
