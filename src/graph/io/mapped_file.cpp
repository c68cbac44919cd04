#include "graph/io/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "core/check.hpp"
#include "graph/io/file.hpp"

namespace weft::io {
std::string system_message(int error) { return std::generic_category().message(error); }

bool path_exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const auto file = File::open(path);
  const std::size_t size = file->size();
  void* memory = nullptr;
  if (size > 0) {
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->descriptor(), 0);
    WEFT_CHECK(memory != MAP_FAILED, io, "cannot map {} bytes into memory: {}", size, system_message(errno));
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(memory, size));
}

MappedFile::~MappedFile() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

}  // namespace weft::io
