#include "graph/io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/check.hpp"

namespace weft::io {
namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

std::string system_message(int error) { return std::generic_category().message(error); }

bool path_exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe nobody writes to would otherwise wait for ever.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  WEFT_CHECK(file.value >= 0, io, "cannot open the file: {}", system_message(errno));
  struct stat status {};
  WEFT_CHECK(::fstat(file.value, &status) == 0, io, "cannot examine the file: {}", system_message(errno));
  WEFT_CHECK(!S_ISDIR(status.st_mode), io, "it is a folder: expected the path of a graph file");
  WEFT_CHECK(S_ISREG(status.st_mode), io, "it is not a regular file: copy its content to one first");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = nullptr;
  if (size > 0) {
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    WEFT_CHECK(memory != MAP_FAILED, io, "cannot map {} bytes into memory: {}", size, system_message(errno));
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(memory, size));
}

MappedFile::~MappedFile() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

}  // namespace weft::io
