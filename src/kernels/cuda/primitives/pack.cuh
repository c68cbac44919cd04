// Count neighbouring elements of one storage type, moved by one load or store of up to 16 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace weft::cuda {

template <int Bytes>
struct WordOf;
template <>
struct WordOf<4> {
  using type = unsigned;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};

template <class Storage, int Count>
struct Pack {
  using Word = typename WordOf<sizeof(Storage) * Count>::type;
  Storage values[Count];

  /// Memory no kernel of this launch writes: it may come through the read-only path.
  static __device__ __forceinline__ Pack load(const Storage* from) {
    const Word word = __ldg(reinterpret_cast<const Word*>(from));
    return *reinterpret_cast<const Pack*>(&word);
  }
  /// The same, of what is read once and better leaves the caches to others.
  static __device__ __forceinline__ Pack load_once(const Storage* from) {
    const Word word = __ldcs(reinterpret_cast<const Word*>(from));
    return *reinterpret_cast<const Pack*>(&word);
  }
  /// Memory that a kernel which may still run beside this one has written, and this one has waited for.
  static __device__ __forceinline__ Pack load_written(const Storage* from) {
    const Word word = __ldcg(reinterpret_cast<const Word*>(from));
    return *reinterpret_cast<const Pack*>(&word);
  }
  static __device__ __forceinline__ Pack all(Storage value) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < Count; ++i) pack.values[i] = value;
    return pack;
  }
  __device__ __forceinline__ void store(Storage* to) const {
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(this);
  }
};

}  // namespace weft::cuda
