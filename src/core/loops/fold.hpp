// Sums over the rows of an array, column by column. A strip is `Width` columns side by side; it begins at a multiple of
// its width, and so does every row's part of it. What it loads of a row it takes later, so that the next row's can be
// under way.
#pragma once

#include <cstddef>

#include "core/loops/value.hpp"

namespace weft::loops {

/// Sums over rows are made of sums over chunks of rows, added up in order: as many at most as an H200 has blocks under
/// way at once.
constexpr std::int64_t chunks_of(std::int64_t rows) {
  constexpr std::int64_t most = 512;
  const std::int64_t wanted = rows / 64;
  return wanted < 1 ? 1 : wanted > most ? most : wanted;
}
/// Bytes of the scratch a pass with `sums` sums a column takes.
constexpr std::size_t fold_bytes(std::int64_t rows, std::int64_t columns, int sums) {
  return static_cast<std::size_t>(chunks_of(rows) * columns * sums) * sizeof(double);
}

/// What every strip has.
template <class Args, int Sums, int Width>
struct StripOf {
  static constexpr int sums = Sums, width = Width;
  const Args& args;
  std::int64_t column;  // the first
  double sum[Sums][Width] = {};

  WEFT_ANYWHERE StripOf(const Args& of, std::int64_t first) : args(of), column(first) {}
};
/// A row of two arrays.
template <class T, int Width>
struct TwoPacks {
  Pack<T, Width> xs, grads;
  WEFT_ANYWHERE TwoPacks(const void* x, const void* grad, std::int64_t i)
      : xs(pack_at<T, Width>(x, i)), grads(pack_at<T, Width>(grad, i)) {}
};

}  // namespace weft::loops
