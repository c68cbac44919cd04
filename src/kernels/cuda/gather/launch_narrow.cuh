// From a shape of the kernel table to the instantiation of gather_narrow that has it.
#pragma once

#include "kernels/cuda/gather/launch.cuh"
#include "kernels/cuda/gather/narrow.cuh"

namespace weft::cuda {

template <class Message>
void launch_narrow(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream) {
  with_shape<row_for<Message, KernelFamily::narrow>>(shape, [&]<class S>(S) {
    const EdgeSplit& split = args.split;
    constexpr std::int64_t warps = block_threads / narrow_lanes;
    const std::int64_t blocks = split.blocks(warps);
    gather_narrow<Message, S><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(args);
    check_launch("spmm of few features", split.graph.num_rows, split.graph.num_edges, args.features);
  });
}

}  // namespace weft::cuda
