// From a shape of the kernel table to the instantiation of gather_narrow that has it.
#pragma once

#include "kernels/cuda/gather/launch.cuh"
#include "kernels/cuda/gather/narrow.cuh"

namespace weft::cuda {

template <class Message>
void launch_narrow(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream) {
  with_shape<row_for<Message, KernelFamily::narrow>>(shape, [&]<class S>(S) {
    constexpr int warps = block_threads / narrow_lanes;
    launch_kernel(gather_narrow<Message, S>, dim3(static_cast<unsigned>(args.split.blocks(warps))), warps, args,
                  stream);
  });
}

}  // namespace weft::cuda
