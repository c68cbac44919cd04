// A thread's share of an array that is read and written element by element.
#pragma once

#include "core/loops/value.hpp"

namespace weft::loops {

/// Elements a thread of a GPU takes: with fewer too few bytes are under way.
template <class T>
inline constexpr int stretch = 2 * pack_size<T>;
template <class T>
constexpr std::int64_t stretches(std::int64_t count) {
  return (count + stretch<T> - 1) / stretch<T>;
}

/// The k-th stretch of `Count` elements of an array that begins at a multiple of 16, in registers; what is past its end
/// is left out.
template <class T, int Count = stretch<T>>
struct Stretch {
  static constexpr int pack = pack_size<T>, count_packs = Count / pack;
  Pack<T> packs[count_packs];

  WEFT_ANYWHERE T& operator[](int i) { return packs[i / pack].values[i % pack]; }
  WEFT_ANYWHERE void load(const void* from, std::int64_t count, std::int64_t k) {
    if ((k + 1) * Count <= count) {
      WEFT_UNROLLED
      for (int p = 0; p < count_packs; ++p) packs[p] = static_cast<const Pack<T>*>(from)[count_packs * k + p];
    } else {
      WEFT_UNROLLED
      for (int i = 0; i < Count; ++i)
        if (k * Count + i < count) (*this)[i] = static_cast<const T*>(from)[k * Count + i];
    }
  }
  WEFT_ANYWHERE void store(void* to, std::int64_t count, std::int64_t k) {
    if ((k + 1) * Count <= count) {
      WEFT_UNROLLED
      for (int p = 0; p < count_packs; ++p) static_cast<Pack<T>*>(to)[count_packs * k + p] = packs[p];
    } else {
      WEFT_UNROLLED
      for (int i = 0; i < Count; ++i)
        if (k * Count + i < count) static_cast<T*>(to)[k * Count + i] = (*this)[i];
    }
  }
};

/// Every element of the k-th stretch of x becomes f(element, place in the stretch), in order, in out.
template <class T, class F>
WEFT_ANYWHERE inline void map_stretch(const void* x, void* out, std::int64_t count, std::int64_t k, bool saturates,
                                      const F& f) {
  Stretch<T> values{};
  values.load(x, count, k);
  WEFT_UNROLLED
  for (int i = 0; i < stretch<T>; ++i) {
    const AccumulatorOf<T> value = f(widen(values[i]), i);
    values[i] = saturates ? narrow_within<T>(value) : narrow<T>(value);
  }
  values.store(out, count, k);
}

/// Row and column of one element after the other.
struct Walk {
  std::int64_t row, column, width;
  WEFT_ANYWHERE Walk(std::int64_t first, std::int64_t of_row)
      : row(quotient(first, of_row)), column(first - row * of_row), width(of_row) {}
  WEFT_ANYWHERE void next() {
    if (++column < width) return;
    column = 0;
    ++row;
  }
};

}  // namespace weft::loops
