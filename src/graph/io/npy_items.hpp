// The elements of a .npy array, converted block by block while they are read.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/npy.hpp"
#include "weft/progress.hpp"

namespace weft::io {

inline constexpr std::int64_t npy_block_items = 1 << 16;

template <class F>
void with_npy_type(const NpyHeader& header, F&& f) {
  switch (header.kind) {
    case NpyKind::boolean: return f(TypeTag<std::uint8_t>{});
    case NpyKind::signed_integer:
      switch (header.item_bytes) {
        case 1: return f(TypeTag<std::int8_t>{});
        case 2: return f(TypeTag<std::int16_t>{});
        case 4: return f(TypeTag<std::int32_t>{});
        default: return f(TypeTag<std::int64_t>{});
      }
    case NpyKind::unsigned_integer:
      switch (header.item_bytes) {
        case 1: return f(TypeTag<std::uint8_t>{});
        case 2: return f(TypeTag<std::uint16_t>{});
        case 4: return f(TypeTag<std::uint32_t>{});
        default: return f(TypeTag<std::uint64_t>{});
      }
    case NpyKind::floating:
      switch (header.item_bytes) {
        case 2: return f(TypeTag<Half>{});
        case 4: return f(TypeTag<float>{});
        default: return f(TypeTag<double>{});
      }
    default: fail(ErrorCode::invalid_file, "the array's type is '{}': expected numbers", header.descr);
  }
}

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>)
    return std::in_range<To>(value);
  else
    return true;
}

/// Bytes in memory as a stream, of which no more are asked for than there are.
struct MemoryItems {
  std::span<const std::byte> rest;

  void read(std::span<std::byte> out) {
    std::memcpy(out.data(), rest.data(), out.size());
    rest = rest.subspan(out.size());
  }
};

/// f(place, value) of every element in the order of the file; its place counts row by row, whatever that order is.
/// `stream.read(span)` gives the next bytes, or an Error.
template <class Stream, class F>
void each_npy_item(const NpyHeader& header, Stream& stream, const Progress& progress, const F& f) {
  const std::int64_t rows = header.by_columns ? header.shape[0] : 1, columns = header.by_columns ? header.shape[1] : 1;
  with_npy_type(header, [&](auto tag) {
    using From = typename decltype(tag)::type;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(header.count, npy_block_items)) * sizeof(From));
    std::int64_t row = 0, column = 0;  // of the next element, by columns
    for (std::int64_t done = 0; done < header.count;) {
      const std::int64_t items = std::min(npy_block_items, header.count - done);
      stream.read(std::span(block).first(static_cast<std::size_t>(items) * sizeof(From)));
      for (std::int64_t i = 0; i < items; ++i) {
        const std::byte* at = block.data() + static_cast<std::size_t>(i) * sizeof(From);
        const From value = header.swapped ? load_swapped<From>(at) : load<From>(at);
        if (!header.by_columns) {
          f(done + i, value);
          continue;
        }
        f(row * columns + column, value);
        if (++row < rows) continue;
        row = 0;
        ++column;
      }
      done += items;
      if (progress) progress("reading", done, header.count);
    }
  });
}

/// All elements as To, row by row. One that does not fit is named.
template <class To, class Stream>
void read_npy_items(const NpyHeader& header, Stream& stream, To* out, const Progress& progress) {
  each_npy_item(header, stream, progress, [&](std::int64_t place, auto value) {
    if constexpr (std::is_integral_v<decltype(value)>)
      WEFT_CHECK(fits<To>(value), invalid_file, "element {} is {}: expected a number of at most {} bits", place, value,
                 std::numeric_limits<To>::digits);
    out[place] = convert<To>(value);
  });
}

}  // namespace weft::io
