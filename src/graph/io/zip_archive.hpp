// zip archives, through libzip: read from memory or out of their file, written through an AtomicWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/io/atomic_writer.hpp"
#include "graph/io/source.hpp"
#include "weft/io.hpp"

struct zip;
struct zip_file;
struct zip_source;

namespace weft::io {

/// One member, read from its beginning to its end.
class ZipMember {
 public:
  ZipMember(zip_file* file, std::string name, std::int64_t size) : file_(file), name_(std::move(name)), size_(size) {}
  ZipMember(ZipMember&& other) noexcept;
  ZipMember& operator=(ZipMember&&) = delete;
  ~ZipMember();

  const std::string& name() const { return name_; }
  /// Unpacked bytes the archive promises; not more than its packed bytes can hold.
  std::int64_t size() const { return size_; }
  /// Exactly this many bytes, or an Error.
  void read(std::span<std::byte> out);
  /// An Error unless this is the end and the member's checksum holds.
  void finish();

 private:
  zip_file* file_;
  std::string name_;
  std::int64_t size_;
};

class ZipReader {
 public:
  /// What keeps the source's bytes must stay as long as the reader. An Error for an archive with two members of one
  /// name: programs differ in which of them they read.
  explicit ZipReader(const Source& source);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  std::int64_t bytes() const { return archive_bytes_; }
  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  ZipMember open(const std::string& name) const;

 private:
  zip* archive_ = nullptr;
  std::int64_t archive_bytes_;
};

/// Members are stored as they are: numpy reads them so, and index arrays pack badly.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicWriter& out);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  /// A member of two parts; `body` must stay until `finish`.
  void add(const std::string& name, std::string head, std::span<const std::byte> body);
  void finish(const Progress& progress);

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
  std::vector<std::unique_ptr<std::string>> heads_;
  std::int64_t bytes_ = 0;
  zip* archive_ = nullptr;
};

}  // namespace weft::io
