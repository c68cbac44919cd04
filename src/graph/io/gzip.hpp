// gzip files and their pieces. A file may be several gzip members one after the other, which is what
// writing on all cores gives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/memory.hpp"
#include "weft/io.hpp"

namespace weft::io {

bool is_gzip(std::span<const std::byte> bytes);

/// The content of all members, a piece at a time. Errors (invalid_file) are for damaged data, and for data that grows
/// far beyond what text does.
class GzipReader {
 public:
  explicit GzipReader(std::span<const std::byte> packed);
  GzipReader(GzipReader&&) noexcept;
  GzipReader& operator=(GzipReader&&) noexcept;
  ~GzipReader();

  /// Fills `into`; fewer bytes are the last ones.
  std::size_t read(std::span<std::byte> into);
  bool done() const;
  std::size_t taken() const;  // of the packed bytes
  std::size_t limit() const;  // the content is at most that long

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Unpacked {
  Buffer<std::byte> memory;
  std::size_t size;  // of it, what is filled
  std::span<const std::byte> bytes() const { return {memory.data(), size}; }
};
/// All of it.
Unpacked gunzip(std::span<const std::byte> bytes, const Progress& progress);
/// One complete member.
std::string gzip_member(std::string_view text);

}  // namespace weft::io
