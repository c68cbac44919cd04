#include "graph/io/output_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>

#include "core/check.hpp"
#include "graph/io/mapped_file.hpp"

namespace weft::io {
namespace {

constexpr int most_links = 40;  // as the kernel follows

struct PathParts {
  std::string folder, name;
};

PathParts parts_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash == 0 ? 1 : slash), path.substr(slash + 1)};
}

/// The process whose table of open files the folder is.
std::optional<pid_t> owner_of_descriptors(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr), &std::free);
  const std::string name = real != nullptr ? real.get() : "", start = "/proc/";
  if (!name.starts_with(start) || !name.ends_with("/fd")) return std::nullopt;
  pid_t owner = 0;
  const auto [end, error] = std::from_chars(name.data() + start.size(), name.data() + name.size(), owner);
  if (error != std::errc{} || *end != '/') return std::nullopt;
  return owner;
}

/// What a symbolic link says; nothing where it is none.
std::optional<std::string> link_at(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size < 0) return std::nullopt;
  WEFT_CHECK(static_cast<std::size_t>(size) < sizeof target, io, "the symbolic link '{}' is too long", path);
  return std::string(target, static_cast<std::size_t>(size));
}

OutputTarget descriptor_target(const std::string& path, int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  WEFT_CHECK(flags >= 0 && (flags & O_ACCMODE) != O_RDONLY, io,
             "the descriptor {} is not open for writing: expected one that is, or the path of a file", descriptor);
  return {path, true, descriptor};
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  std::string at = path;
  for (int links = 0;; ++links) {
    WEFT_CHECK(links <= most_links, io, "its symbolic links lead in a circle: {}", system_message(ELOOP));
    const PathParts parts = parts_of(at);
    // Where such a link leads depends on the process: what it says is not the place to write to.
    if (const auto owner = owner_of_descriptors(parts.folder)) {
      int descriptor = -1;
      const char* const end = parts.name.data() + parts.name.size();
      const bool number = std::from_chars(parts.name.data(), end, descriptor).ptr == end && descriptor >= 0;
      if (number && *owner == ::getpid()) return descriptor_target(at, descriptor);
      return {at, true};
    }
    const auto link = link_at(at);
    if (!link) break;
    at = link->starts_with('/') ? *link : parts.folder + "/" + *link;
  }
  OutputTarget target{at};
  struct stat status {};
  target.exists = ::stat(at.c_str(), &status) == 0;
  if (!target.exists) return target;
  target.mode = status.st_mode & 07777;
  target.in_place = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
  WEFT_CHECK(!S_ISDIR(status.st_mode), io, "it is a folder: expected the path of a file to write");
  WEFT_CHECK(target.in_place || S_ISREG(status.st_mode), io,
             "it is a disk or a socket: expected the path of a file, a pipe or a terminal to write");
  return target;
}

}  // namespace weft::io
