// From a GatherShape to the instantiation of reduce_staged that has it.
#pragma once

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/spmm/shared_stage.cuh"
#include "kernels/cuda/spmm/spmm_launch.hpp"

namespace weft::cuda {

template <int Tile>
void launch_staged(const SpmmKernelArgs<float>& args, const GatherShape& given, bool round_robin, bool atomic,
                   CUstream_st* stream) {
  with_shape<4, false>(given, [&](auto vector, auto lanes, auto steps) {
    using S = StagedShape<Shape<vector, lanes, steps, 8 / steps>, Tile>;
    const EdgeSplit& split = args.split;
    const dim3 grid(static_cast<unsigned>(split.blocks(S::warps)),
                    static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
    // One group has no one to share a tile with.
    if constexpr (S::warp_groups > 1) {
      if (round_robin) {
        reduce_staged<S, true><<<grid, block_threads, 0, stream>>>(args, atomic);
        return check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
      }
    }
    reduce_staged<S, false><<<grid, block_threads, 0, stream>>>(args, atomic);
    check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
  });
}

}  // namespace weft::cuda
