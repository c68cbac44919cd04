// From a storage type known when a pass runs to one its body is compiled for.
#pragma once

#include <type_traits>

#include "core/storage.hpp"

namespace weft::loops {

/// f.operator()<T>(). Loops without f64 take f32 for it.
template <class Loops, class F>
void with_storage(const Loops&, Dtype dtype, const F& f) {
  with_storage_of(
      std::conditional_t<Loops::has_f64, AllStorages, StoragesWithoutF64>{}, dtype,
      [&]<class T>(TypeTag<T>) { f.template operator()<T>(); }, [&] { f.template operator()<float>(); });
}

}  // namespace weft::loops
