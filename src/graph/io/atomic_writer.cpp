#include "graph/io/atomic_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "graph/io/mapped_file.hpp"

namespace weft::io {
namespace {

/// A file without a name, which goes away with its descriptor.
int unnamed_file() {
  std::error_code no_folder;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(no_folder);
  WEFT_CHECK(!no_folder, io, "there is no folder for temporary files ({}): name one in TMPDIR", no_folder.message());
  std::string name = (folder / "weft-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  WEFT_CHECK(file >= 0, io, "cannot create a file like '{}': {}", name, system_message(errno));
  ::unlink(name.c_str());
  return file;
}

void write_whole(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    WEFT_CHECK(written > 0, io, "cannot write to it: {}", system_message(written == 0 ? ENOSPC : errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// The whole content of one file to where another stands.
void copy(int from, int to) {
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (off_t at = 0;;) {
    const ssize_t read = ::pread(from, piece.data(), piece.size(), at);
    if (read < 0 && errno == EINTR) continue;
    WEFT_CHECK(read >= 0, io, "cannot read what was to be written: {}", system_message(errno));
    if (read == 0) return;
    write_whole(to, std::span(piece).first(static_cast<std::size_t>(read)));
    at += read;
  }
}

}  // namespace

AtomicWriter::AtomicWriter(const std::string& path) : path_(path), target_(output_target(path)) {
  if (target_.in_place) {
    file_ = unnamed_file();
    return;
  }
  const std::size_t slash = target_.path.find_last_of('/');
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.path.substr(0, slash);
  std::string name = slash == std::string::npos ? target_.path : target_.path.substr(slash + 1);
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
  if (target_.exists) static_cast<void>(::fchmod(file_, target_.mode));
}

AtomicWriter::~AtomicWriter() {
  if (file_ < 0) return;
  ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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

void AtomicWriter::commit_in_place() {
  if (target_.descriptor >= 0) {
    // What the program has printed so far comes first.
    if (target_.descriptor == STDOUT_FILENO) std::fflush(stdout);
    if (target_.descriptor == STDERR_FILENO) std::fflush(stderr);
    copy(file_, target_.descriptor);
  } else {
    const int to = ::open(target_.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    WEFT_CHECK(to >= 0, io, "cannot open it: {}", system_message(errno));
    const std::unique_ptr<const int, void (*)(const int*)> closed(&to, [](const int* file) { ::close(*file); });
    copy(file_, to);
  }
  ::close(std::exchange(file_, -1));
}

void AtomicWriter::commit() {
  if (target_.in_place) return commit_in_place();
  WEFT_CHECK(::fsync(file_) == 0, io, "cannot write to the disk: {}; nothing was changed", system_message(errno));
  const int closed = ::close(file_), close_error = errno;
  file_ = -1;
  const auto give_up = [&](int error) {
    ::unlink(temporary_.c_str());
    fail(ErrorCode::io, "cannot finish the file: {}; nothing was changed", system_message(error));
  };
  if (closed != 0 && close_error != EINTR) give_up(close_error);
  if (::rename(temporary_.c_str(), target_.path.c_str()) != 0) give_up(errno);
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
