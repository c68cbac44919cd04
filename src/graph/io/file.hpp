// A regular file that is read by its descriptor. Unlike a mapping, a file that shrinks meanwhile ends in an Error.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace weft::io {

class File {
 public:
  /// An Error (io) for a missing file, a folder, a device, or one that may not be read.
  static std::shared_ptr<const File> open(const std::string& path);

  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  std::size_t size() const { return size_; }  // when it was opened
  int descriptor() const { return descriptor_; }
  /// Exactly these bytes. An Error (io) where the file has become shorter.
  void read_at(std::size_t offset, std::span<std::byte> out) const;

 private:
  explicit File(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  std::size_t size_ = 0;
};

}  // namespace weft::io
