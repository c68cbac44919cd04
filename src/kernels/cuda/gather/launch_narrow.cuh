// From the alignment of rows to the instantiation of gather_narrow for it.
#pragma once

#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/gather/narrow.cuh"
#include "kernels/cuda/launch_check.hpp"

namespace weft::cuda {

template <class Message>
void launch_narrow(const GatherArgs<Message>& args, int vector, CUstream_st* stream) {
  const auto launch = [&]<int Vector, int Steps>() {
    using S = Shape<Vector, 1, Steps, narrow_slabs>;
    const EdgeSplit& split = args.split;
    constexpr std::int64_t warps = block_threads / narrow_lanes;
    const std::int64_t blocks = split.blocks(warps);
    gather_narrow<Message, S><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(args);
    check_launch("spmm of few features", split.graph.num_rows, split.graph.num_edges, args.features);
  };
  if (args.features == 1) return launch.template operator()<1, 1>();
  if constexpr (sizeof(typename Message::Storage) <=
                4) {  // f64 is for gradient checks: one kernel serves every other width
    if (vector == args.features && vector == 4) return launch.template operator()<4, 1>();
    if (vector == args.features) return launch.template operator()<2, 1>();
    if (args.features == 3) return launch.template operator()<1, 3>();
  }
  launch.template operator()<1, most_narrow_features>();
}

}  // namespace weft::cuda
