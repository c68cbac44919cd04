// From a shape of the kernel table to the instantiation of gather_edges that has it.
#pragma once

#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/gather/walk.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/with_storage.hpp"

namespace weft::cuda {

/// Launches a gather of so many groups a block, with shared memory for the places of a sample's edges.
template <class Message>
void launch_kernel(void (*kernel)(GatherArgs<Message>), const dim3& grid, int groups, const GatherArgs<Message>& args,
                   CUstream_st* stream) {
  const EdgeSplit& split = args.split;
  if (!split.sample.given()) {
    kernel<<<grid, block_threads, 0, stream>>>(args);
  } else {
    GatherArgs<Message> sampled = args;
    const std::int64_t longest = split.longest_share(groups);
    const std::size_t bytes = shared_for_places(reinterpret_cast<const void*>(kernel), groups * longest);
    sampled.split.share_places = static_cast<int>(longest);
    kernel<<<grid, block_threads, bytes, stream>>>(sampled);
  }
  check_launch(operator_of(Message::kind), split.graph.num_rows, split.graph.num_edges, args.features);
}

template <class S, Reduction Kind, class Message>
void launch_shape(const GatherArgs<Message>& args, CUstream_st* stream) {
  const dim3 grid(static_cast<unsigned>(args.split.blocks(S::groups)),
                  static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
  launch_kernel(gather_edges<Message, S, Kind>, grid, S::groups, args, stream);
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
