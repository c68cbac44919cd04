// A file's content: all of it in memory, or its beginning and the open file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "graph/io/file.hpp"
#include "weft/progress.hpp"

namespace weft::io {

struct Source {
  std::string path;
  /// The whole content, 64-byte aligned; where there is a `file`, no more than its beginning, and only for `sniff`.
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keeper = nullptr;  // keeps `bytes` alive
  std::shared_ptr<const File> file = nullptr;    // the content, where it is not all in `bytes`

  std::size_t size() const { return file ? file->size() : bytes.size(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  /// As it stands in its folder.
  std::string_view file_name() const { return std::string_view(path).substr(path.find_last_of('/') + 1); }
  std::string folder() const;
};

/// The beginning of the file, as it is, and the file itself. An Error for what only stands for a file.
Source open_file(const std::string& path);
/// The whole content in memory: what is packed is unpacked.
void load(Source& source, const Progress& progress);
/// The same, but for what is not packed and stays in its file.
void unpack(Source& source, const Progress& progress);
/// The file as it is, mapped: for arrays that are used in place.
Source map_file(const std::string& path);
/// The whole file in memory, as it is.
Source load_file(const std::string& path);

}  // namespace weft::io
