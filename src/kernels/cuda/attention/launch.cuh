// From a shape of the kernel table and the way heads lie in it to the instantiations of gather_edges for attention and
// its backward.
#pragma once

#include "kernels/cuda/attention/launch.hpp"
#include "kernels/cuda/gather/launch.cuh"

namespace weft::cuda {

template <class Message>
void launch_by_heads(const GatherArgs<Message>& args, const GatherShape& shape, const HeadMapping& heads,
                     CUstream_st* stream) {
  constexpr int row = row_for<Message, KernelFamily::by_heads>;
  with_shape<row>(shape, [&]<class S>(S) {
    with_heads<row, S>(heads, [&]<class Headed>(Headed) { launch_shape<Headed, Reduction::sum>(args, stream); });
  });
}

}  // namespace weft::cuda
