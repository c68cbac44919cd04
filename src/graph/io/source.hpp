// A file's whole content in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/progress.hpp"

namespace weft::io {

/// Mapped as it is, or unpacked where the file was gzip; for `sniff` also the first part of what is packed.
struct Source {
  std::string path;
  std::span<const std::byte> bytes;    // 64-byte aligned
  std::shared_ptr<const void> keeper;  // keeps `bytes` alive

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  /// As it stands in its folder.
  std::string_view file_name() const { return std::string_view(path).substr(path.find_last_of('/') + 1); }
  std::string folder() const;
};

/// The file as it is.
Source map_file(const std::string& path);
/// The same, unpacked where it is gzip.
Source open_file(const std::string& path, const Progress& progress);
void unpack(Source& source, const Progress& progress);

}  // namespace weft::io
