// From a GatherShape to the instantiation of gather_staged that has it.
#pragma once

#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/gather/staged.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/with_storage.hpp"

namespace weft::cuda {

/// Where the storage type has such a shape. Halves have whole packs only, and half the rows in flight: their sums take
/// twice the registers.
template <int Tile, int Vector, int Lanes, int Steps, class Storage>
void launch_tiles(const GatherArgs<Weighted<Storage>>& args, bool round_robin, bool atomic, CUstream_st* stream) {
  if constexpr (sizeof(Storage) == 4 || Vector * sizeof(Storage) == 16) {
    using S = StagedShape<Shape<Vector, Lanes, Steps, (sizeof(Storage) == 4 ? 8 : 4) / Steps>, Tile>;
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
    }
  }
}

template <class Message, int Tile>
void launch_staged(const GatherArgs<Message>& args, const GatherShape& given, bool round_robin, bool atomic,
                   CUstream_st* stream) {
  with_shape<16 / static_cast<int>(sizeof(typename Message::Storage)), false>(
      given, [&](auto vector, auto lanes, auto steps) {
        launch_tiles<Tile, vector, lanes, steps>(args, round_robin, atomic, stream);
      });
}

}  // namespace weft::cuda
