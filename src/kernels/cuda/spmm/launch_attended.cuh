// From a GatherShape and the way heads lie in it to the instantiation of reduce_edges for attention.
#pragma once

#include "kernels/cuda/spmm/launch_tasks.cuh"

namespace weft::cuda {

template <class Storage>
void launch_attended(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  constexpr int most = 16 / sizeof(Storage);
  with_shape<most, (sizeof(Storage) > 4)>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<Storage, Message::attended, vector, lanes, steps>>;
    const auto launch = [&]<int Held>() {
      launch_shape<Storage, Message::attended, Reduction::sum, WithHeads<S, Held>>(args, stream);
    };
    if (args.attended.heads == 1) return launch.template operator()<1>();
    // Lanes share weights where as many of them, a power of two, cover each head, and few heads stand in a step.
    constexpr int shared = 4;
    if constexpr (sizeof(Storage) <= 4 && vector >= 4 && S::each == 1 && lanes >= 8 && S::loads % shared == 0) {
      const int of_head = args.width / vector, head_lanes = of_head < lanes ? of_head : static_cast<int>(lanes);
      if ((of_head & (of_head - 1)) == 0 && head_lanes * shared >= lanes) {
        args.attended.head_lanes = head_lanes;
        return launch.template operator()<shared>();
      }
    }
    launch.template operator()<0>();
  });
}

}  // namespace weft::cuda
