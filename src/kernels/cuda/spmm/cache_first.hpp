// ES-SpMM's own kernel, to compare with: a row's sampled edges go to shared memory, then every thread computes one
// element of the output from them.
#pragma once

#include "graph/sample/choice.hpp"
#include "kernels/cuda/messages/messages.hpp"

namespace weft::cuda {

/// Sums, or means, of sampled sources, times one value per edge where there are values. All rows are written.
template <class Storage>
void launch_cache_first(const GatherArgs<Weighted<Storage>>& args, const SampledPlaces& sample, CUstream_st* stream);

}  // namespace weft::cuda
