// From a shape of the kernel table to the instantiation of gather_edges that has it.
#pragma once

#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/gather/walk.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/with_storage.hpp"

namespace weft::cuda {

template <class S, Reduction Kind, class Message>
void launch_shape(const GatherArgs<Message>& args, CUstream_st* stream) {
  const EdgeSplit& split = args.split;
  const dim3 grid(static_cast<unsigned>(split.blocks(S::groups)),
                  static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
  gather_edges<Message, S, Kind><<<grid, block_threads, 0, stream>>>(args);
  check_launch(operator_of(Message::kind), split.graph.num_rows, split.graph.num_edges, args.features);
}

/// The table's row of a message's kernels.
template <class Message, KernelFamily Family, Reduction Kind = Reduction::sum, int Tile = 0>
inline constexpr int row_for = row_index(Family, Message::kind, Kind, dtype_of<typename Message::Storage>, Tile);

template <class Message, Reduction Kind>
void launch_gather(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream) {
  with_shape<row_for<Message, KernelFamily::gather, Kind>>(shape,
                                                           [&]<class S>(S) { launch_shape<S, Kind>(args, stream); });
}

template <class Message>
void launch_other_shape(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream) {
  with_shape<row_for<Message, KernelFamily::other_shapes>>(
      shape, [&]<class S>(S) { launch_shape<S, Reduction::sum>(args, stream); });
}

template <class Message>
void launch_half_pairs(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream) {
  with_shape<row_for<Message, KernelFamily::half_pairs>>(
      shape, [&]<class S>(S) { launch_shape<InPairs<S>, Reduction::sum>(args, stream); });
}

}  // namespace weft::cuda
