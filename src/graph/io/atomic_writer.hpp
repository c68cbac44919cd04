// Writes a file all at once or not at all: everything goes to `.NAME.tmp-PID` in the same folder, which
// takes the name's place once it is whole and on the disk. Until then the old file stays as it was. What is no file of
// its own (a terminal, a pipe, /dev/stdout, whatever that leads to) is not replaced: all is written to it at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/io/output_target.hpp"

namespace weft::io {

class AtomicWriter {
 public:
  /// An Error (io) where the folder cannot be written to or the path is a folder, a disk or a socket. Symbolic links
  /// stay; where they lead to no file yet, that file is made.
  explicit AtomicWriter(const std::string& path);
  /// Removes the temporary file unless `commit` came first.
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;

  const std::string& path() const { return path_; }
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Where the next write goes.
  std::int64_t tell() const { return position_; }
  void seek(std::int64_t position) { position_ = position; }
  /// Zero bytes up to the next multiple of `alignment`.
  void pad_to(std::int64_t alignment);
  /// Flushes to the disk and renames. Nothing may be written afterwards.
  void commit();

 private:
  void commit_in_place();
  void sync_folder() const noexcept;

  std::string path_;
  OutputTarget target_;
  std::string folder_, temporary_;
  int file_ = -1;
  std::int64_t position_ = 0;
};

}  // namespace weft::io
