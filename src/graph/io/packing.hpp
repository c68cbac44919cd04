// How a file is packed, by its first bytes and by the ending of its name.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace weft::io {

enum class Packing { none, gzip, bzip2, xz, zstd };

struct PackingName {
  Packing packing;
  std::string_view name, ending;
};
inline constexpr std::array<PackingName, 4> packings = {{{Packing::gzip, "gzip", ".gz"},
                                                         {Packing::bzip2, "bzip2", ".bz2"},
                                                         {Packing::xz, "xz", ".xz"},
                                                         {Packing::zstd, "zstd", ".zst"}}};

/// By content; the first 16 bytes are enough.
Packing packing_of(std::span<const std::byte> bytes);
inline bool is_packed(std::span<const std::byte> bytes) { return packing_of(bytes) != Packing::none; }
std::string_view name(Packing packing);
/// "edges.csv" of "edges.csv.bz2"; other names as they are.
std::string_view without_packing(std::string_view file_name);

}  // namespace weft::io
