// The bytes of a .weft file; docs/weft-format.md is the specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/io/format.hpp"
#include "weft/types.hpp"

namespace weft::io {

// A byte above 127, a line end of each kind and an end-of-file mark: a transfer that treats the file
// as text breaks the magic instead of the arrays.
inline constexpr std::array<unsigned char, 8> weft_magic = {0x89, 'W', 'E', 'F', 'T', '\r', '\n', 0x1a};
inline constexpr std::uint32_t weft_version = 1;
inline constexpr std::uint32_t weft_byte_order = 0x01020304, weft_byte_order_swapped = 0x04030201;
inline constexpr std::int64_t weft_alignment = 64;
inline constexpr std::uint32_t weft_most_sections = 1024;
// Position + 1 is a type's code in the file; Dtype's own order may change, this must not.
inline constexpr std::array weft_dtypes = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64};
inline constexpr std::uint32_t weft_text = 7;  // a section's type: UTF-8

struct WeftHeader {
  std::array<unsigned char, 8> magic;
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t header_bytes;  // this header and the section table
  std::uint32_t sections;
  std::int64_t rows, cols, edges;
  std::uint64_t flags;  // what a reader must understand; none so far
  std::uint32_t reserved;
  std::uint32_t crc;  // of header_bytes bytes, this field taken as 0
};
static_assert(sizeof(WeftHeader) == 64);

struct WeftSection {
  static constexpr std::uint32_t required = 1;  // a reader that does not know the section must refuse the file

  std::array<char, 16> name;  // padded with zeros
  std::uint64_t offset, bytes;
  std::int64_t heads, width;  // an element is [heads, width]; 1, 1 for a scalar
  std::uint32_t type;         // 1: f32, 2: f16, 3: bf16, 4: f64, 5: i32, 6: i64, 7: text
  std::uint32_t rank;         // 1: [n], 2: [n, width], 3: [n, heads, width]
  std::uint32_t crc;          // of the section's bytes
  std::uint32_t flags;

  std::string_view title() const {
    const std::string_view whole(name.data(), name.size());
    return whole.substr(0, whole.find('\0'));
  }
};
static_assert(sizeof(WeftSection) == 64);

void write_weft(AtomicWriter& out, const Contents& contents, const Progress& progress);

}  // namespace weft::io
