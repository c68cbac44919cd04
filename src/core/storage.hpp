// Storage types: what elements of tensors are stored in, on the host and on a GPU alike. An element is widened to its
// accumulator's type before anything is computed, and what was computed is narrowed by one rounding to nearest even.
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <utility>

#include "core/accumulator.hpp"
#include "core/anywhere.hpp"
#include "weft/types.hpp"

namespace weft {

template <class... Types>
struct Storages {
  template <class Type>
  using With = Storages<Types..., Type>;
};
/// The storage types that CUDA's everyday builds have, and every one there is.
using StoragesWithoutF64 = Storages<float, Half, BFloat16>;
using AllStorages = StoragesWithoutF64::With<double>;

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<Storage>{}) for the one of `Types` that `dtype` names, or otherwise() where none does.
template <class F, class Otherwise>
decltype(auto) with_storage_of(Storages<>, Dtype, F&&, Otherwise&& otherwise) {
  return otherwise();
}
template <class First, class... Rest, class F, class Otherwise>
decltype(auto) with_storage_of(Storages<First, Rest...>, Dtype dtype, F&& f, Otherwise&& otherwise) {
  if (dtype == dtype_of<First>) return f(TypeTag<First>{});
  return with_storage_of(Storages<Rest...>{}, dtype, std::forward<F>(f), std::forward<Otherwise>(otherwise));
}

/// What the rest of weft needs to know of a storage type.
template <class Storage>
struct StorageTraits {
  using Acc = AccumulatorOf<Storage>;
  static constexpr Dtype dtype = dtype_of<Storage>;
  static constexpr int bytes = static_cast<int>(sizeof(Storage));
  static constexpr bool is_half = bytes == 2;     // f16 or bf16
  static constexpr bool is_double = bytes == 8;   // for gradient checks: CUDA has few kernels
  static constexpr int widest_load = 16 / bytes;  // elements that one load of a GPU can move
  static constexpr bool narrower_than_accumulator = bytes < static_cast<int>(sizeof(Acc));

  static WEFT_ANYWHERE inline Acc widen(Storage value) { return static_cast<Acc>(value); }
  static WEFT_ANYWHERE inline Storage narrow(Acc value) { return static_cast<Storage>(value); }
};

#ifdef __CUDA_ARCH__
template <>
WEFT_ANYWHERE inline float StorageTraits<Half>::widen(Half value) {
  return __half2float(__ushort_as_half(value.bits));
}
template <>
WEFT_ANYWHERE inline Half StorageTraits<Half>::narrow(float value) {
  Half narrowed;
  narrowed.bits = __half_as_ushort(__float2half_rn(value));
  return narrowed;
}
// The upper half of a float: the compiler's own conversion takes registers it then has to spill.
template <>
WEFT_ANYWHERE inline float StorageTraits<BFloat16>::widen(BFloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
template <>
WEFT_ANYWHERE inline BFloat16 StorageTraits<BFloat16>::narrow(float value) {
  BFloat16 narrowed;
  narrowed.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  return narrowed;
}
#endif

template <class Storage>
WEFT_ANYWHERE inline AccumulatorOf<Storage> widen(Storage value) {
  return StorageTraits<Storage>::widen(value);
}
template <class Storage>
WEFT_ANYWHERE inline Storage narrow(AccumulatorOf<Storage> value) {
  return StorageTraits<Storage>::narrow(value);
}

}  // namespace weft
