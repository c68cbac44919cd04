// From a shape of the kernel table to the instantiation of gather_staged that has it.
#pragma once

#include "kernels/cuda/gather/launch.cuh"
#include "kernels/cuda/gather/staged.cuh"

namespace weft::cuda {

template <class Storage, class S>
void launch_tiles(const GatherArgs<Weighted<Storage>>& args, bool round_robin, bool atomic, CUstream_st* stream) {
  const EdgeSplit& split = args.split;
  const dim3 grid(static_cast<unsigned>(split.blocks(S::warps)),
                  static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
  // One group has no one to share a tile with.
  if constexpr (S::warp_groups > 1) {
    if (round_robin) {
      gather_staged<Storage, S, true><<<grid, block_threads, 0, stream>>>(args, atomic);
      return check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
    }
  }
  if constexpr (has_ablations || S::warp_groups == 1) {
    gather_staged<Storage, S, false><<<grid, block_threads, 0, stream>>>(args, atomic);
    check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
  } else {
    refuse_shape(S::value);
  }
}

template <class Message, int Tile>
void launch_staged(const GatherArgs<Message>& args, const GatherShape& shape, bool round_robin, bool atomic,
                   CUstream_st* stream) {
  with_shape<row_for<Message, KernelFamily::staged, Reduction::sum, Tile>>(shape, [&]<class S>(S) {
    launch_tiles<typename Message::Storage, StagedShape<S, Tile>>(args, round_robin, atomic, stream);
  });
}

}  // namespace weft::cuda
