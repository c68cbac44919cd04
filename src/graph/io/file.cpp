#include "graph/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/check.hpp"
#include "graph/io/mapped_file.hpp"

namespace weft::io {

std::shared_ptr<const File> File::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe nobody writes to would otherwise wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  WEFT_CHECK(descriptor >= 0, io, "cannot open the file: {}", system_message(errno));
  std::shared_ptr<File> file(new File(descriptor));
  struct stat status {};
  WEFT_CHECK(::fstat(descriptor, &status) == 0, io, "cannot examine the file: {}", system_message(errno));
  WEFT_CHECK(!S_ISDIR(status.st_mode), io, "it is a folder: expected the path of a file");
  WEFT_CHECK(S_ISREG(status.st_mode), io, "it is not a regular file: copy its content to one first");
  file->size_ = static_cast<std::size_t>(status.st_size);
  return file;
}

File::~File() { ::close(descriptor_); }

void File::read_at(std::size_t offset, std::span<std::byte> out) const {
  constexpr std::size_t most_at_once = std::size_t{1} << 30;  // Linux reads less than 2 GiB a call
  while (!out.empty()) {
    const ssize_t count =
        ::pread(descriptor_, out.data(), std::min(out.size(), most_at_once), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    WEFT_CHECK(count >= 0, io, "cannot read byte {} of the file: {}", offset, system_message(errno));
    WEFT_CHECK(count > 0, io,
               "the file had {} bytes when it was opened and now ends at byte {}: it was truncated while weft read it; "
               "try again once it is written",
               size_, offset);
    offset += static_cast<std::size_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace weft::io
