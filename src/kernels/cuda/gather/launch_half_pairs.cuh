// Sums of halves whose batches are added up in pairs, in the shapes of whole packs.
#pragma once

#include "kernels/cuda/gather/launch.cuh"

namespace weft::cuda {

template <class Message>
void launch_half_pairs(const GatherArgs<Message>& args, const GatherShape& given, CUstream_st* stream) {
  with_shape<8, false>(given, [&](auto vector, auto lanes, auto steps) {
    if constexpr (vector == 8)
      launch_shape<InPairs<Shape<vector, lanes, steps, rows_in_flight(vector, lanes, steps)>>, Reduction::sum>(args,
                                                                                                               stream);
  });
}

}  // namespace weft::cuda
