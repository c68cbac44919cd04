// From a storage type known when a pass runs to one its body is compiled for.
#pragma once

#include <type_traits>

#include "core/storage.hpp"

namespace weft::loops {

[[noreturn]] void refuse_storage(Dtype dtype);

/// f.operator()<T>(); an Error where these loops are not compiled for that type.
template <class Loops, class F>
void with_storage(const Loops&, Dtype dtype, const F& f) {
  with_storage_of(
      std::conditional_t<Loops::has_f64, AllStorages, StoragesWithoutF64>{}, dtype,
      [&]<class T>(TypeTag<T>) { f.template operator()<T>(); }, [&] { refuse_storage(dtype); });
}

}  // namespace weft::loops
