// A file's bytes, mapped read-only. The pages come from the file when they are touched, so opening
// costs the same for any size. Where the file shrinks while it is mapped, touching what is gone is a SIGBUS: only .weft
// files, whose arrays are used in place, are mapped; everything else is read (file.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace weft::io {

class MappedFile {
 public:
  /// An Error (io) for a missing file, a folder, a device, or one that may not be read.
  static std::shared_ptr<const MappedFile> open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Empty for an empty file.
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(memory_), size_}; }

 private:
  MappedFile(void* memory, std::size_t size) : memory_(memory), size_(size) {}

  void* memory_;
  std::size_t size_;
};

bool path_exists(const std::string& path);
/// errno in words: "No such file or directory".
std::string system_message(int error);

}  // namespace weft::io
