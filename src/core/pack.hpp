// Neighbouring elements of one storage type that are moved together.
#pragma once

#include <cstdint>

namespace weft {

#ifdef __CUDACC__
/// What a load of so many bytes moves; of more, several words.
template <int Bytes>
struct WordOf {
  using type = uint4;
};
template <>
struct WordOf<2> {
  using type = unsigned short;
};
template <>
struct WordOf<4> {
  using type = unsigned;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
#endif

/// Elements that are moved together unless another number is asked for: 16 bytes, and at least four.
template <class Storage>
inline constexpr int pack_size = sizeof(Storage) <= 4 ? static_cast<int>(16 / sizeof(Storage)) : 4;

template <class Storage, int Count = pack_size<Storage>>
struct alignas(Count * sizeof(Storage) < 16 ? Count * sizeof(Storage) : 16) Pack {
  Storage values[Count];

#ifdef __CUDACC__
  using Word = typename WordOf<static_cast<int>(sizeof(Storage)) * Count>::type;
  static_assert(sizeof(Storage) * Count % sizeof(Word) == 0, "whole words only");
  static constexpr int words = static_cast<int>(sizeof(Storage)) * Count / static_cast<int>(sizeof(Word));

  /// Memory no kernel of this launch writes: it may come through the read-only path.
  static __device__ __forceinline__ Pack load(const Storage* from) {
    return gather(from, [](const Word* at) { return __ldg(at); });
  }
  /// The same, of what is read once and better leaves the caches to others.
  static __device__ __forceinline__ Pack load_once(const Storage* from) {
    return gather(from, [](const Word* at) { return __ldcs(at); });
  }
  /// Memory that a kernel which may still run beside this one has written, and this one has waited for.
  static __device__ __forceinline__ Pack load_written(const Storage* from) {
    return gather(from, [](const Word* at) { return __ldcg(at); });
  }
  static __device__ __forceinline__ Pack all(Storage value) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < Count; ++i) pack.values[i] = value;
    return pack;
  }
  __device__ __forceinline__ void store(Storage* to) const {
#pragma unroll
    for (int i = 0; i < words; ++i) reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(this)[i];
  }

 private:
  template <class Load>
  static __device__ __forceinline__ Pack gather(const Storage* from, const Load& load) {
    Word word[words];
#pragma unroll
    for (int i = 0; i < words; ++i) word[i] = load(reinterpret_cast<const Word*>(from) + i);
    return *reinterpret_cast<const Pack*>(word);
  }
#endif
};

#ifdef __CUDACC__
/// One element of memory that no kernel of this launch writes.
template <class Storage>
__device__ __forceinline__ Storage load_element(const Storage* from) {
  return Pack<Storage, 1>::load(from).values[0];
}

/// `Count` neighbours in shared memory, four at a time, aligned as such.
template <int Count, class T>
__device__ __forceinline__ void read_fours(const T* from, T (&to)[Count]) {
  static_assert(Count % 4 == 0, "whole fours only");
#pragma unroll
  for (int i = 0; i < Count; i += 4) {
    const auto four = *reinterpret_cast<const Pack<T, 4>*>(from + i);
#pragma unroll
    for (int k = 0; k < 4; ++k) to[i + k] = four.values[k];
  }
}
#endif

}  // namespace weft
