// From a dtype to the storage type that kernels are compiled for.
#pragma once

#include <type_traits>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/maybe_wide.hpp"
#include "plan/built_kernels.hpp"

namespace weft::cuda {

/// Calls f(Storage{}) for a floating dtype; an Error where this build has no kernels for it.
template <class F>
void with_storage(Dtype dtype, const F& f) {
  with_storage_of(
      std::conditional_t<has_cuda_f64, AllStorages, StoragesWithoutF64>{}, dtype,
      [&]<class Storage>(TypeTag<Storage>) { f(Storage{}); }, [] { refuse_f64(); });
}

}  // namespace weft::cuda
