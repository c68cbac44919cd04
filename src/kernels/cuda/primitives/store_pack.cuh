// From accumulators to an output that is of the storage type, or wide.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/maybe_wide.hpp"

namespace weft::cuda {

/// `Count` values, rounded once, to where `at` finds their place in the array, which it is given with its true type.
template <int Count, class Storage, class Acc, class At>
__device__ __forceinline__ void store_pack(Storage* array, bool wide, const Acc (&value)[Count], const At& at) {
  const auto store = [&](auto* out) {
    using To = std::remove_pointer_t<decltype(out)>;
    Pack<To, Count> pack;
#pragma unroll
    for (int i = 0; i < Count; ++i) pack.values[i] = narrow<To>(value[i]);
    pack.store(at(out));
  };
  if constexpr (!std::is_same_v<Storage, Acc>)
    if (wide) return store(reinterpret_cast<Acc*>(array));
  store(array);
}

}  // namespace weft::cuda
