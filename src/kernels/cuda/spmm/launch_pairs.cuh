// Sums of halves whose batches are added up in pairs, in the shapes of whole packs.
#pragma once

#include "kernels/cuda/spmm/launch_tasks.cuh"

namespace weft::cuda {

template <class Storage, Message Sent, int Vector, int Lanes, int Steps>
void launch_pairs_shape(const SpmmKernelArgs<Storage>& args, CUstream_st* stream) {
  if constexpr (Vector == 8)
    launch_shape<Storage, Sent, Reduction::sum,
                 InPairs<Shape<Vector, Lanes, Steps, rows_in_flight(Vector, Lanes, Steps)>>>(args, stream);
}

template <class Storage, Message Sent>
void launch_pairs(const SpmmKernelArgs<Storage>& args, const GatherShape& given, CUstream_st* stream) {
  with_shape<8, false>(given, [&](auto vector, auto lanes, auto steps) {
    launch_pairs_shape<Storage, Sent, vector, lanes, steps>(args, stream);
  });
}

}  // namespace weft::cuda
