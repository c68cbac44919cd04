// Arrays that hold values of a storage type, or what those are summed in.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/storage.hpp"

namespace weft::cuda {

#ifdef __CUDACC__
/// What is written so is not read again soon.
template <class Storage>
__device__ __forceinline__ void store_streaming(Storage* to, Storage value) {
  if constexpr (StorageTraits<Storage>::is_half) {
    __stcs(reinterpret_cast<unsigned short*>(to), static_cast<unsigned short>(value.bits));
  } else {
    __stcs(to, value);
  }
}
/// An accumulator into an array that is of the storage type, or wide.
template <class Storage>
__device__ __forceinline__ void store_once(Storage* array, bool wide, std::int64_t i, AccumulatorOf<Storage> value) {
  if constexpr (!std::is_same_v<Storage, AccumulatorOf<Storage>>)
    if (wide) return __stcs(reinterpret_cast<AccumulatorOf<Storage>*>(array) + i, value);
  store_streaming(array + i, narrow<Storage>(value));
}
#endif

/// Values beside features of type Storage: of the same type, or `wide`, which is that of the accumulator. Which one is
/// known when a kernel runs, and the same for all threads.
template <class Storage>
struct MaybeWide {
  using Acc = AccumulatorOf<Storage>;
  static constexpr bool can_differ = StorageTraits<Storage>::narrower_than_accumulator;
  const void* data = nullptr;
  bool wide = false;

  /// A value as it came from memory: to widen it is to wait for it.
  using Loaded = std::conditional_t<can_differ, std::uint32_t, Storage>;

  bool given() const { return data != nullptr; }
  const Storage* narrow() const { return static_cast<const Storage*>(data); }

#ifdef __CUDACC__
  __device__ __forceinline__ Loaded load(std::int64_t i) const {
    if constexpr (can_differ) {
      return wide ? __ldg(static_cast<const std::uint32_t*>(data) + i)
                  : __ldg(static_cast<const unsigned short*>(data) + i);
    } else {
      return __ldg(static_cast<const Storage*>(data) + i);
    }
  }
  __device__ __forceinline__ Acc value(Loaded loaded) const {
    if constexpr (can_differ) {
      Storage stored;
      stored.bits = static_cast<std::uint16_t>(loaded);
      return wide ? __uint_as_float(loaded) : widen(stored);
    } else {
      return loaded;
    }
  }
  __device__ __forceinline__ Acc operator[](std::int64_t i) const { return value(load(i)); }
#endif
};

/// Whether an argument of the public interface of that type is wide.
template <class Storage>
bool is_wide(Dtype dtype) {
  return MaybeWide<Storage>::can_differ && dtype == Dtype::f32;
}
template <class Storage>
MaybeWide<Storage> maybe_wide(const void* data, Dtype dtype) {
  return {data, is_wide<Storage>(dtype)};
}

}  // namespace weft::cuda
