// NumPy's .npy: a short header in Python's notation, then the array's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

enum class NpyKind : char {
  boolean = 'b',
  signed_integer = 'i',
  unsigned_integer = 'u',
  floating = 'f',
  bytes = 'S',
  text = 'U'
};

struct NpyHeader {
  NpyKind kind = NpyKind::floating;
  std::int64_t item_bytes = 0;
  bool swapped = false;  // the elements' bytes are in the other order than this machine's
  std::string descr;     // as written: "<f4"
  std::vector<std::int64_t> shape;
  bool by_columns = false;      // Fortran's order: of two dimensions, whose columns follow one another
  std::int64_t count = 1;       // elements
  std::int64_t data_bytes = 0;  // count * item_bytes

  bool is_number() const { return kind != NpyKind::bytes && kind != NpyKind::text; }
  bool is_integer() const { return kind == NpyKind::signed_integer || kind == NpyKind::unsigned_integer; }
};

/// Bytes that must be at hand to know how long the header is.
inline constexpr std::size_t npy_prefix_bytes = 12;
/// The header's length, the magic included; an Error for something else than .npy or a length no
/// real header has. Needs `npy_prefix_bytes` bytes.
std::size_t npy_header_bytes(std::string_view prefix);
/// Versions 1 to 3. An Error for arrays of Python objects or records, for Fortran's order in more than two dimensions,
/// and for sizes beyond 2^63.
NpyHeader parse_npy_header(std::string_view header);
/// Version 1, padded so that the data behind it is 64-byte aligned.
std::string make_npy_header(std::string_view descr, const std::vector<std::int64_t>& shape);

}  // namespace weft::io
