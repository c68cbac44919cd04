#include "graph/io/atomic_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/check.hpp"
#include "graph/io/mapped_file.hpp"

namespace weft::io {
namespace {

// A symbolic link stays one: the file it points to is what is replaced.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

}  // namespace

AtomicWriter::AtomicWriter(const std::string& path) : path_(path), target_(behind_links(path)) {
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  WEFT_CHECK(!exists || !S_ISDIR(old.st_mode), io, "it is a folder: expected the path of a file to write");
  WEFT_CHECK(!exists || S_ISREG(old.st_mode), io, "it is not a regular file: expected the path of a file to write");

  const std::size_t slash = target_.find_last_of('/');
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
  std::string name = slash == std::string::npos ? target_ : target_.substr(slash + 1);
  WEFT_CHECK(name.size() <= NAME_MAX, io, "the file's name has {} bytes: expected at most {}", name.size(), NAME_MAX);
  name.resize(std::min<std::size_t>(name.size(), 200));  // leaves room for what is put around it
  const std::string stem = fmt::format("{}/.{}.tmp-{}", folder_, name, ::getpid());
  temporary_ = stem;
  for (int attempt = 1; file_ < 0; ++attempt) {
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0) break;
    WEFT_CHECK(errno == EEXIST && attempt < 100, io, "cannot create a file in the folder '{}': {}", folder_,
               system_message(errno));
    temporary_ = fmt::format("{}-{}", stem, attempt);  // another thread writes the same file
  }
  if (exists) static_cast<void>(::fchmod(file_, old.st_mode & 07777));
}

AtomicWriter::~AtomicWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void AtomicWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    const ssize_t written = ::pwrite(file_, bytes.data(), piece, position_);
    if (written < 0 && errno == EINTR) continue;
    WEFT_CHECK(written > 0, io, "cannot write byte {}: {}; nothing was changed", position_,
               system_message(written == 0 ? ENOSPC : errno));
    position_ += written;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicWriter::pad_to(std::int64_t alignment) {
  static constexpr std::byte zeros[4096] = {};
  const std::int64_t missing = (alignment - position_ % alignment) % alignment;
  WEFT_CHECK(missing <= static_cast<std::int64_t>(sizeof zeros), internal, "padding of {} bytes", missing);
  write(std::span(zeros, static_cast<std::size_t>(missing)));
}

void AtomicWriter::commit() {
  WEFT_CHECK(::fsync(file_) == 0, io, "cannot write to the disk: {}; nothing was changed", system_message(errno));
  const int closed = ::close(file_), close_error = errno;
  file_ = -1;
  const auto give_up = [&](int error) {
    ::unlink(temporary_.c_str());
    fail(ErrorCode::io, "cannot finish the file: {}; nothing was changed", system_message(error));
  };
  if (closed != 0 && close_error != EINTR) give_up(close_error);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) give_up(errno);
  sync_folder();
}

// Makes the rename survive a power cut. Some file systems refuse; the file itself is safe by then.
void AtomicWriter::sync_folder() const noexcept {
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  static_cast<void>(::fsync(folder));
  ::close(folder);
}

}  // namespace weft::io
