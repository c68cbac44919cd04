// gzip files and their pieces. A file may be several gzip members one after the other, which is what
// writing on all cores gives.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/memory.hpp"
#include "weft/io.hpp"

namespace weft::io {

bool is_gzip(std::span<const std::byte> bytes);
struct Unpacked {
  Buffer<std::byte> memory;
  std::size_t size;  // of it, what is filled
  std::span<const std::byte> bytes() const { return {memory.data(), size}; }
};
/// The content of all members. An Error (invalid_file) for damaged data, and for data that grows far
/// beyond what text does.
Unpacked gunzip(std::span<const std::byte> bytes, const Progress& progress);
/// One complete member.
std::string gzip_member(std::string_view text);

}  // namespace weft::io
