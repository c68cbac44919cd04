// From a GatherShape and the way heads lie in it to the instantiations of reduce_edges for attention and its gradients.
#pragma once

#include "kernels/cuda/spmm/launch_tasks.cuh"

namespace weft::cuda {

template <class Storage, Message Sent>
void launch_by_heads(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  constexpr int most = 16 / sizeof(Storage);
  with_shape<most, (sizeof(Storage) > 4)>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<Storage, Sent, vector, lanes, steps>>;
    const auto launch = [&]<int Held>() {
      launch_shape<Storage, Sent, Reduction::sum, WithHeads<S, Held>>(args, stream);
    };
    if (args.attended.heads == 1) return launch.template operator()<1>();
    // Lanes share weights where as many of them, a power of two, cover each head, and few heads stand in a step.
    constexpr int shared = 4;
    const int of_head = args.width / vector;
    args.attended.head_lanes = of_head < lanes ? of_head : static_cast<int>(lanes);
    if constexpr (sizeof(Storage) <= 4 && vector >= 4 && S::each == 1 && lanes >= 8 && S::loads % shared == 0)
      if ((of_head & (of_head - 1)) == 0 && args.attended.head_lanes * shared >= lanes)
        return launch.template operator()<shared>();
    launch.template operator()<0>();
  });
}

template <class Storage>
void launch_attended(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  launch_by_heads<Storage, Message::attended>(args, given, stream);
}
template <class Storage>
void launch_returned(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  launch_by_heads<Storage, Message::returned>(args, given, stream);
}

}  // namespace weft::cuda
